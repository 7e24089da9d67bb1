//! Prompts: what was sealed, and one of them byte by byte.

mod content;
mod inspector;
mod parts;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use axum::routing::get;
use callsheet_store::{PromptFilter, SealedPrompt};
use serde::{Deserialize, Serialize};

use crate::access::May;
use crate::error::ApiError;
use crate::server::Server;
use crate::view::attempt::{Attempt, attempts};

/// How many prompts a page has.
const PAGE: usize = 50;

/// The longest word in a filter.
const LONGEST: usize = 500;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
        .route("/prompts", get(list))
        .merge(inspector::routes())
}

/// Which prompts are wanted.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Wanted {
    recipe: Option<String>,
    source: Option<String>,
    since: Option<String>,
    before: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    prompts: Vec<Row>,
    wanted: Wanted,
    recipes: Vec<String>,
    more: Option<String>,
    filtered: bool,
}

/// A prompt in the list, with the run that got it.
#[derive(Serialize)]
struct Row {
    prompt: SealedPrompt,
    run: Option<Attempt>,
    runs: usize,
}

async fn list(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Response {
    let content = listed(&server, wanted).await;
    server.answer("prompts.html", ("prompts", "Prompts"), may, content)
}

/// Returns the parameters of a page, or says what is wrong with them.
pub(super) fn query<T>(wanted: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    match wanted {
        Ok(Query(wanted)) => Ok(wanted),
        Err(error) => Err(ApiError::validation(error.body_text())),
    }
}

/// Returns the text of a field of a form; an empty one is none.
pub(super) fn given(text: Option<&String>) -> Result<Option<String>, ApiError> {
    let Some(text) = text.map(|text| text.trim()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if text.len() > LONGEST || text.contains('\0') {
        return Err(ApiError::validation(
            "a filter is a short text without the character NUL",
        ));
    }
    Ok(Some(text.to_owned()))
}

async fn listed(
    server: &Server,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Listed, ApiError> {
    let wanted = query(wanted)?;
    let (store, project) = (&server.site.store, &server.site.project);
    let source = given(wanted.source.as_ref())?;
    let since = match given(wanted.since.as_ref())? {
        Some(day) => Some(midnight(&day)?),
        None => None,
    };
    let filter = PromptFilter {
        recipe: given(wanted.recipe.as_ref())?,
        since,
        sources: source.map(|source| sources(&source)),
        before: match given(wanted.before.as_ref())? {
            Some(id) => Some(store.prompt(project, &id).await?.id),
            None => None,
        },
        ..PromptFilter::default()
    };
    let filtered = filter.recipe.is_some() || filter.since.is_some() || filter.sources.is_some();
    let mut found = store.prompts(project, filter, PAGE + 1).await?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let last = found
        .last()
        .filter(|_| more)
        .map(|prompt| prompt.id.to_string());
    let mut prompts = Vec::with_capacity(found.len());
    for prompt in found {
        let runs = store.runs_of_prompt(project, prompt.id).await?;
        let newest = attempts(server, runs.last().map_or(&[], std::slice::from_ref)).await?;
        prompts.push(Row {
            prompt,
            run: newest.into_iter().next().map(|(run, _)| run),
            runs: runs.len(),
        });
    }
    let recipes = server.blocking(|site| Ok(recipes(&site.root))).await?;
    Ok(Listed {
        prompts,
        recipes,
        more: last,
        filtered,
        wanted,
    })
}

/// Returns the names that a source can have in the store.
fn sources(named: &str) -> Vec<String> {
    let of = |kind: &str| format!("{kind}:{named}");
    vec![named.to_owned(), of("file"), of("template"), of("input")]
}

/// Returns the beginning of a day, in milliseconds since 1970.
fn midnight(day: &str) -> Result<i64, ApiError> {
    let wrong = |_| {
        ApiError::validation(format!(
            "`{day}` is not a day; use one such as `2026-11-14`"
        ))
    };
    let day: jiff::civil::Date = day.parse().map_err(wrong)?;
    let at = day.to_zoned(jiff::tz::TimeZone::UTC).map_err(wrong)?;
    Ok(at.timestamp().as_millisecond())
}

/// Returns the names of all recipes.
pub(super) fn recipes(root: &std::path::Path) -> Vec<String> {
    let root = callsheet::Root::open(root).ok();
    let unknown = callsheet::recipe::known("?", root.as_ref());
    // Whoever asks for a name that nothing has is told all names.
    let names = unknown.err().map(|error| error.allowed().to_vec());
    names.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        assert_eq!(midnight("1970-01-02"), Ok(86_400_000));
        assert!(midnight("yesterday").is_err());
    }
}
