//! Composing: what would an agent be told? Nothing is kept unless it is sealed.

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use callsheet::inputs::Root;
use callsheet::recipe::{self, Found, built_in_sample};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, created, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::server::Server;

/// How many bytes an input may have.
const MOST: usize = 16 << 20;

/// The sample of a recipe, in its folder.
const SAMPLE: &str = "sample.yaml";

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    let compose = OpenApiRouter::new()
        .routes(routes!(compose))
        .routes(routes!(seal));
    OpenApiRouter::new()
        .merge(compose.layer(DefaultBodyLimit::max(MOST)))
        .routes(routes!(recipes))
        .routes(routes!(schema))
        .routes(routes!(sample))
}

/// What a prompt may cost, and what happens to secrets in it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Limits {
    /// The most bytes; optional sections give way, with a record.
    #[param(minimum = 1)]
    byte_budget: Option<u64>,
    /// The most tokens; optional sections give way, with a record.
    #[param(minimum = 1)]
    token_budget: Option<u64>,
    /// The vocabulary that tokens are counted with.
    #[param(inline)]
    encoding: Option<Encoding>,
    /// Whether secrets become pseudonyms.
    redact: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    O200k,
    Cl100k,
}

/// The input as YAML or JSON text, with the comments of whoever writes it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The text.
    yaml: String,
}

/// Composes a prompt, and keeps nothing
///
/// The body is the input: an object with the fields of the recipe, or `{"yaml": "…"}` with its text.
#[utoipa::path(post, path = "/api/compose/{recipe}", tag = "compose", request_body = Value,
    params(("recipe" = String, Path, description = "The name of a recipe; write `%2F` for the `/` in it"), Limits),
    responses(
        (status = 200, description = "The document of the prompt: its text, sections, tokens and source map", body = Data<Value>),
        (status = 400, description = "What is wrong with the input; `details` has the field and the line where they are known", body = ErrorBody),
        (status = 404, description = "No such recipe", body = ErrorBody),
    ))]
async fn compose(
    State(server): State<Server>,
    Path(recipe): Path<String>,
    Query(limits): Query<Limits>,
    body: Bytes,
) -> Answer<Value> {
    found(&server, &recipe).await?;
    let input = input(&body)?;
    let composed = asked(&server, &recipe, &limits, (&input, false)).await?;
    Ok(data(composed))
}

/// Asks for a prompt, which is kept if that is wanted.
async fn asked(
    server: &Server,
    recipe: &str,
    limits: &Limits,
    (input, is_kept): (&[u8], bool),
) -> Result<Value, ApiError> {
    let mut args = vec!["compose".to_owned()];
    args.extend(is_kept.then(|| "--seal".to_owned()));
    let budgets = [("byte", limits.byte_budget), ("token", limits.token_budget)];
    for (unit, budget) in budgets {
        args.extend(budget.map(|number| format!("--{unit}-budget={number}")));
    }
    args.extend(limits.encoding.map(|encoding| {
        let name = json!(encoding);
        format!("--encoding={}", name.as_str().unwrap_or_default())
    }));
    args.extend(
        limits
            .redact
            .filter(|is| *is)
            .map(|_| "--redact".to_owned()),
    );
    args.extend(["--input", "-", "--", recipe].map(str::to_owned));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let composed = server.program.ask(&args, Some(input)).await;
    composed.map_err(placed)
}

/// A prompt that is to be kept: a recipe, and its input as an object or as text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPrompt {
    /// The name of the recipe.
    recipe: String,
    /// The input: an object with the fields of the recipe.
    #[schema(value_type = Option<Object>)]
    input: Option<Value>,
    /// The input as YAML or JSON text, instead.
    yaml: Option<String>,
}

/// Composes a prompt and seals it: it is kept, with everything that explains it and makes it again
#[utoipa::path(post, path = "/api/prompts", tag = "compose", request_body = NewPrompt, params(Limits),
    responses(
        (status = 201, description = "The document of the prompt, with its `id`", body = Data<Value>),
        (status = 400, description = "What is wrong with the input; `details` has the field and the line where they are known", body = ErrorBody),
        (status = 404, description = "No such recipe", body = ErrorBody),
    ))]
async fn seal(
    State(server): State<Server>,
    Query(limits): Query<Limits>,
    Json(new): Json<NewPrompt>,
) -> Result<Response, ApiError> {
    found(&server, &new.recipe).await?;
    let input = match (new.input, new.yaml) {
        (Some(input), None) => input.to_string(),
        (None, Some(yaml)) => yaml,
        _ => return Err(ApiError::validation("say `input` or `yaml`, one of them")),
    };
    let sealed = asked(&server, &new.recipe, &limits, (input.as_bytes(), true)).await?;
    Ok(created(sealed))
}

/// Returns the text of an input: the whole body, or the text in it.
fn input(body: &[u8]) -> Result<Vec<u8>, ApiError> {
    if let Ok(Written { yaml }) = serde_json::from_slice(body) {
        return Ok(yaml.into_bytes());
    }
    match std::str::from_utf8(body) {
        Ok(_) => Ok(body.to_vec()),
        Err(_) => Err(ApiError::validation("the input is not UTF-8 text")),
    }
}

/// Adds to an error where in the input it is: the field in front, or the line.
fn placed(error: ApiError) -> ApiError {
    let (field, line) = place_of(error.message());
    if field.is_none() && line.is_none() {
        return error;
    }
    let details = json!({"field": field, "line": line, "hints": error.hints()});
    error.details(details)
}

/// Returns the field and the line that a message names: `` `identity.name`: … ``, `stdin:3: …`.
fn place_of(message: &str) -> (Option<&str>, Option<u64>) {
    if let Some(rest) = message.strip_prefix("stdin:") {
        let line = rest.split(':').next();
        return (None, line.and_then(|line| line.parse().ok()));
    }
    let quoted = |text: &'static str| {
        let rest = message.strip_prefix(text)?.strip_prefix('`')?;
        rest.split_once('`')
    };
    let named = ["missing field ", "unknown field "];
    if let Some((field, _)) = named.into_iter().find_map(quoted) {
        return (Some(field), None);
    }
    match quoted("") {
        Some((field, rest)) if rest.starts_with(": ") => (Some(field), None),
        _ => (None, None),
    }
}

/// A recipe.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
struct RecipeRow {
    /// Its name.
    name: String,
    /// Where it is from: `built in`, or its folder.
    home: String,
    /// What it is for.
    description: String,
}

/// Lists the recipes: built in, and the project's own
#[utoipa::path(get, path = "/api/recipes", tag = "compose", params(PageQuery),
    responses(
        (status = 200, description = "The recipes", body = Many<RecipeRow>),
    ))]
async fn recipes(
    State(server): State<Server>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<RecipeRow> {
    page.bounds()?;
    let document = server.program.ask(&["recipe", "list"], None).await?;
    let rows: Result<Vec<RecipeRow>, _> = serde_json::from_value(document["recipes"].clone());
    let rows = rows.map_err(|error| ApiError::internal(format!("the list of recipes: {error}")))?;
    Ok(axum::Json(page.of(rows)?))
}

/// Shows the JSON Schema of what a recipe takes
#[utoipa::path(get, path = "/api/recipes/{name}/schema", tag = "compose",
    params(("name" = String, Path, description = "The name of a recipe; write `%2F` for the `/` in it")),
    responses(
        (status = 200, description = "The JSON Schema of its input", body = Data<Value>),
        (status = 400, description = "The recipe cannot be read", body = ErrorBody),
        (status = 404, description = "No such recipe", body = ErrorBody),
    ))]
async fn schema(State(server): State<Server>, Path(name): Path<String>) -> Answer<Value> {
    let found = found(&server, &name).await?;
    Ok(data(found.recipe().schema.document().clone()))
}

/// An input to begin with.
#[derive(Debug, Serialize, ToSchema)]
struct Sample {
    /// The name of its file.
    file: &'static str,
    /// What is in it.
    text: String,
}

/// Shows an input for a recipe, to begin with
#[utoipa::path(get, path = "/api/recipes/{name}/sample", tag = "compose",
    params(("name" = String, Path, description = "The name of a recipe; write `%2F` for the `/` in it")),
    responses(
        (status = 200, description = "The sample", body = Data<Sample>),
        (status = 400, description = "The recipe cannot be read", body = ErrorBody),
        (status = 404, description = "No such recipe, or it has no sample", body = ErrorBody),
    ))]
async fn sample(State(server): State<Server>, Path(name): Path<String>) -> Answer<Sample> {
    let own = match found(&server, &name).await? {
        Found::BuiltIn(_) => built_in_sample(&name).map(str::to_owned),
        Found::Own(recipe) => {
            let path = format!("{}/{SAMPLE}", recipe.home);
            let read = server.blocking(move |site| {
                let bytes = Root::open(&site.root)?.read(&path).ok();
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            });
            read.await?
        }
    };
    let text = own.ok_or_else(|| ApiError::not_found("sample of the recipe", &name))?;
    Ok(data(Sample { file: SAMPLE, text }))
}

/// Finds a recipe.
async fn found(server: &Server, name: &str) -> Result<Found, ApiError> {
    let missing = ApiError::not_found("recipe", name);
    if !recipe::is_name(name) {
        return Err(missing);
    }
    let name = name.to_owned();
    let found = server.blocking(move |site| {
        let root = Root::open(&site.root)?;
        recipe::find(&name, Some(&root)).map_err(|error| {
            if recipe::known(&name, Some(&root)).is_err() {
                return missing;
            }
            error.into()
        })
    });
    found.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_place() {
        let expected = [
            (
                "`identity.name`: expected string",
                (Some("identity.name"), None),
            ),
            ("unknown field `nope`", (Some("nope"), None)),
            ("missing field `mode`", (Some("mode"), None)),
            ("stdin:3: malformed YAML", (None, Some(3))),
            ("stdin: an input is an object", (None, None)),
            ("`a` is not a thing", (None, None)),
        ];
        for (message, place) in expected {
            assert_eq!(place_of(message), place, "{message}");
        }
    }

    #[test]
    fn an_input_is_the_body_or_the_text_in_it() {
        assert_eq!(input(b"{\"yaml\": \"a: 1\\n\"}").unwrap(), b"a: 1\n");
        assert_eq!(input(b"{\"yaml\": 1}").unwrap(), b"{\"yaml\": 1}");
        assert_eq!(input(b"a: 1").unwrap(), b"a: 1");
        assert!(input(b"\xff").is_err());
    }
}
