//! Sealed prompts: text, manifest, source map, and what differs between two.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use callsheet::inputs::Globs;
use callsheet::seal::Explained;
use callsheet_store::{PromptFilter, SealedPrompt, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, Pagination, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(prompts))
        .routes(routes!(prompt))
        .routes(routes!(text))
        .routes(routes!(manifest))
        .routes(routes!(source_map))
        .routes(routes!(cache))
        .routes(routes!(diff))
        .routes(routes!(why))
        .routes(routes!(search))
}

/// A sealed prompt, as lists show it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct PromptRow {
    /// Its id.
    id: String,
    /// When it was sealed, in milliseconds since 1970.
    sealed_at: i64,
    /// The recipe.
    recipe: String,
    /// The version of the engine that composed it.
    engine: String,
    /// The fingerprint of the exact bytes.
    fingerprint: String,
    /// How many bytes these are.
    bytes: i64,
    /// How many tokens, where they were counted.
    tokens: Option<i64>,
}

impl From<&SealedPrompt> for PromptRow {
    fn from(prompt: &SealedPrompt) -> Self {
        Self {
            id: prompt.id.to_string(),
            sealed_at: prompt.sealed_at,
            recipe: prompt.recipe.clone(),
            engine: prompt.engine.clone(),
            fingerprint: prompt.fingerprint.to_string(),
            bytes: prompt.bytes,
            tokens: prompt.tokens,
        }
    }
}

/// A sealed prompt with its text and sections.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PromptDetail {
    #[serde(flatten)]
    prompt: PromptRow,
    /// The exact text.
    text: String,
    /// Its sections, in their order, with their places in the text.
    sections: Value,
    /// What was asked for and is not in it, with the reasons.
    omissions: Value,
}

/// Which prompts are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// How many, 20 unless you say so, at most 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// How many to leave out first.
    #[param(minimum = 0)]
    offset: Option<usize>,
    /// Those of this recipe only.
    recipe: Option<String>,
    /// Those sealed at this time or later, in milliseconds since 1970.
    since: Option<i64>,
    /// Those sealed before this time, in milliseconds since 1970.
    until: Option<i64>,
    /// Those that a file went into; a path or a glob.
    file: Option<String>,
    /// Those that a template went into, by its name or its file.
    template: Option<String>,
}

/// Lists the sealed prompts, the newest first
#[utoipa::path(get, path = "/api/prompts", tag = "prompts", params(Wanted),
    responses(
        (status = 200, description = "A page of prompts", body = Many<PromptRow>),
    ))]
async fn prompts(
    State(server): State<Server>,
    Query(wanted): Query<Wanted>,
) -> ManyAnswer<PromptRow> {
    let page = PageQuery {
        limit: wanted.limit,
        offset: wanted.offset,
    };
    let (limit, offset) = page.bounds()?;
    let filter = filter(&server, &wanted).await?;
    let (store, project) = (&server.site.store, &server.site.project);
    // All of them, for their number: rows without texts.
    let found = store.prompts(project, filter, usize::MAX >> 1).await?;
    let total = found.len();
    let rows = found.iter().skip(offset).take(limit);
    let rows: Vec<PromptRow> = rows.map(Into::into).collect();
    let has_more = offset.saturating_add(rows.len()) < total;
    Ok(Json(Many {
        data: rows,
        pagination: Pagination { total, has_more },
    }))
}

async fn filter(server: &Server, wanted: &Wanted) -> Result<PromptFilter, ApiError> {
    let mut filter = PromptFilter {
        recipe: wanted.recipe.clone(),
        since: wanted.since,
        until: wanted.until,
        ..PromptFilter::default()
    };
    if wanted.file.is_some() || wanted.template.is_some() {
        let files = Globs::new(wanted.file.iter())?;
        let mut sources = server.site.store.sources(&server.site.project).await?;
        sources.retain(|source| match source.split_once(':') {
            Some(("file", path)) => wanted.file.is_some() && files.matches(path),
            Some(("template", path)) => {
                let wanted = wanted.template.as_deref();
                wanted.is_some_and(|wanted| is_template(path, wanted))
            }
            _ => false,
        });
        filter.sources = Some(sources);
    }
    Ok(filter)
}

/// Tells whether a template is called so: by its path, its file, or its file without the ending.
fn is_template(path: &str, wanted: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    [path, file, file.strip_suffix(".md").unwrap_or(file)].contains(&wanted)
}

/// Finds a prompt by its id, or the beginning of it.
pub(super) async fn sealed(server: &Server, id: &str) -> Result<SealedPrompt, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    Ok(store.prompt(project, id).await?)
}

/// Finds the prompt of a run.
pub(super) async fn of_run(server: &Server, id: &str) -> Result<SealedPrompt, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let run = store.run(project, id).await?;
    Ok(store.prompt(project, run.prompt.as_str()).await?)
}

/// Returns a prompt with what explains it.
async fn explained(server: &Server, prompt: &SealedPrompt) -> Result<Explained, ApiError> {
    let seal = server.site.store.sealed(prompt).await?;
    server.blocking(move |_| Ok(seal.explained()?)).await
}

pub(super) async fn detail(server: &Server, prompt: &SealedPrompt) -> Answer<PromptDetail> {
    let Explained { text, manifest, .. } = explained(server, prompt).await?;
    Ok(data(PromptDetail {
        prompt: prompt.into(),
        text,
        sections: json!(manifest.sections),
        omissions: json!(manifest.omissions),
    }))
}

/// The exact bytes of a prompt.
pub(super) type Exact = ([(HeaderName, &'static str); 1], String);

pub(super) async fn exact(server: &Server, prompt: &SealedPrompt) -> Result<Exact, ApiError> {
    let Explained { text, .. } = explained(server, prompt).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text))
}

pub(super) async fn manifest_of(server: &Server, prompt: &SealedPrompt) -> Answer<Value> {
    let Explained { manifest, .. } = explained(server, prompt).await?;
    Ok(data(json!(manifest)))
}

pub(super) async fn map_of(server: &Server, prompt: &SealedPrompt) -> Answer<Value> {
    let Explained { source_map, .. } = explained(server, prompt).await?;
    Ok(data(json!(source_map)))
}

/// What a prompt is compared with.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Other {
    /// A prompt that comes before or after it, or the run of one.
    other: Option<String>,
}

pub(super) async fn plan(server: &Server, prompt: &SealedPrompt, other: &Other) -> Answer<Value> {
    let other = match &other.other {
        Some(other) => Some(any(server, other).await?.id.to_string()),
        None => None,
    };
    let one = prompt.id.to_string();
    let args = ["cache", "--", &one].into_iter().chain(other.as_deref());
    let args: Vec<&str> = args.collect();
    Ok(data(server.program.ask(&args, None).await?))
}

pub(super) async fn compared(
    server: &Server,
    one: &SealedPrompt,
    other: &SealedPrompt,
) -> Answer<Value> {
    let (one, other) = (one.id.to_string(), other.id.to_string());
    let args = ["diff", "--", &one, &other];
    Ok(data(server.program.ask(&args, None).await?))
}

/// Finds the prompt that an id means: one of a prompt, else one of a run.
async fn any(server: &Server, id: &str) -> Result<SealedPrompt, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    match store.prompt(project, id).await {
        Err(StoreError::Unknown { candidates, .. }) if candidates.is_empty() => {
            of_run(server, id).await
        }
        found => Ok(found?),
    }
}

/// Shows a sealed prompt with its text and sections
#[utoipa::path(get, path = "/api/prompts/{id}", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it")),
    responses(
        (status = 200, description = "The prompt", body = Data<PromptDetail>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn prompt(State(server): State<Server>, Path(id): Path<String>) -> Answer<PromptDetail> {
    detail(&server, &sealed(&server, &id).await?).await
}

/// Hands over the exact bytes of a prompt
#[utoipa::path(get, path = "/api/prompts/{id}/text", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it")),
    responses(
        (status = 200, description = "The bytes", content_type = "text/plain", body = String),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn text(State(server): State<Server>, Path(id): Path<String>) -> Result<Exact, ApiError> {
    exact(&server, &sealed(&server, &id).await?).await
}

/// Shows the record of how a prompt was composed
#[utoipa::path(get, path = "/api/prompts/{id}/manifest", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it")),
    responses(
        (status = 200, description = "The manifest", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn manifest(State(server): State<Server>, Path(id): Path<String>) -> Answer<Value> {
    manifest_of(&server, &sealed(&server, &id).await?).await
}

/// Shows where every byte of a prompt comes from
#[utoipa::path(get, path = "/api/prompts/{id}/source-map", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it")),
    responses(
        (status = 200, description = "The source map", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn source_map(State(server): State<Server>, Path(id): Path<String>) -> Answer<Value> {
    map_of(&server, &sealed(&server, &id).await?).await
}

/// Tells what a provider's cache keeps of a prompt
#[utoipa::path(get, path = "/api/prompts/{id}/cache", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it"), Other),
    responses(
        (status = 200, description = "The plan", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn cache(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(other): Query<Other>,
) -> Answer<Value> {
    plan(&server, &sealed(&server, &id).await?, &other).await
}

/// Compares two prompts: by section, then by line
#[utoipa::path(get, path = "/api/prompts/{id}/diff/{other}", tag = "prompts",
    params(
        ("id" = String, Path, description = "The id of a prompt, or the beginning of it"),
        ("other" = String, Path, description = "The id of another prompt, or of a run"),
    ),
    responses(
        (status = 200, description = "What differs", body = Data<Value>),
        (status = 400, description = "An id could mean several", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn diff(
    State(server): State<Server>,
    Path((id, other)): Path<(String, String)>,
) -> Answer<Value> {
    let one = sealed(&server, &id).await?;
    compared(&server, &one, &any(&server, &other).await?).await
}

/// What is looked for in a prompt.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// A byte, counted from 0.
    #[param(minimum = 0)]
    at: Option<u64>,
    /// A text; every place where it stands is told.
    text: Option<String>,
}

/// Tells which layer, file and line a byte or a text of a prompt comes from
#[utoipa::path(get, path = "/api/prompts/{id}/why", tag = "prompts",
    params(("id" = String, Path, description = "The id of a prompt, or the beginning of it"), Asked),
    responses(
        (status = 200, description = "The places; none where the text is not in the prompt", body = Data<Value>),
        (status = 400, description = "The request is wrong, or the prompt has no such byte", body = ErrorBody),
        (status = 404, description = "No such prompt", body = ErrorBody),
    ))]
async fn why(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> Answer<Value> {
    let what = match (asked.at, &asked.text) {
        (Some(at), None) => format!("--at={at}"),
        (None, Some(text)) if !text.is_empty() => format!("--text={text}"),
        _ => {
            let sentence = "give either `at`, a byte, or `text`";
            return Err(ApiError::validation(sentence));
        }
    };
    let id = sealed(&server, &id).await?.id.to_string();
    let args = ["why", &what, "--", &id];
    Ok(data(server.program.ask(&args, None).await?))
}

/// What is searched for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Words {
    /// The words; all of them have to be there, and the end of each may be left out.
    q: String,
    /// How many, 20 unless you say so, at most 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Searches sealed prompts and logs by words, the best first
#[utoipa::path(get, path = "/api/search", tag = "prompts", params(Words),
    responses(
        (status = 200, description = "What was found, and whether there is more", body = Data<Value>),
    ))]
async fn search(State(server): State<Server>, Query(words): Query<Words>) -> Answer<Value> {
    let page = PageQuery {
        limit: words.limit,
        offset: None,
    };
    let (limit, _) = page.bounds()?;
    if words.q.trim().is_empty() {
        return Err(ApiError::validation("`q` has no words"));
    }
    let limit = format!("--limit={limit}");
    let args = ["search", &limit, "--", &words.q];
    Ok(data(server.program.ask(&args, None).await?))
}
