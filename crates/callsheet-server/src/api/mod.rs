//! The HTTP interface: JSON over the same things that commands show.
//!
//! Handlers parse, ask and answer. What changes something runs the program; see `program.rs`.

pub(crate) mod batches;
mod checks;
mod compose;
mod dependencies;
mod documents;
mod files;
mod logs;
mod orchestrator;
mod profiles;
mod projects;
mod prompts;
mod run_prompts;
mod runners;
mod runs;
mod settings;
mod sprint_files;
mod starts;
mod stories;
mod tasks;

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

use crate::error::ApiError;
use crate::server::Server;

/// The head of the document that describes the interface; routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Callsheet",
        description = "Prompts, runs, tasks and sprints of a project. Every request needs a token.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(crate::error::ErrorBody))
)]
struct Head;

/// Returns the head of the document that describes the interface.
pub(crate) fn document() -> Document {
    let mut document = Head::openapi();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", scheme);
    document.security = Some(vec![SecurityRequirement::new(
        "token",
        Vec::<String>::new(),
    )]);
    document
}

/// Returns the whole document, with the errors that every endpoint can answer with: no token, a token that may only read, and
/// a request that cannot be read.
pub(crate) fn completed(document: &Document) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (method, operation) in operations {
        let takes = |part: &str| operation.get(part).is_some();
        let mut errors = vec![("401", "No token")];
        if takes("parameters") || takes("requestBody") {
            errors.push(("400", "Something in the request is wrong"));
        }
        if !matches!(method.as_str(), "get" | "head") {
            errors.push(("403", "The token may only read"));
        }
        let Some(responses) = operation["responses"].as_object_mut() else {
            continue;
        };
        for (status, description) in errors {
            responses.entry(status).or_insert_with(|| {
                let schema = json!({"$ref": "#/components/schemas/ErrorBody"});
                json!({
                    "description": description,
                    "content": {"application/json": {"schema": schema}},
                })
            });
        }
    }
    document
}

/// Returns all routes of the interface.
pub(crate) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .merge(batches::routes())
        .merge(checks::routes())
        .merge(compose::routes())
        .merge(dependencies::routes())
        .merge(files::routes())
        .merge(sprint_files::routes())
        .merge(logs::routes())
        .merge(orchestrator::routes())
        .merge(profiles::routes())
        .merge(projects::routes())
        .merge(prompts::routes())
        .merge(run_prompts::routes())
        .merge(runners::routes())
        .merge(runs::routes())
        .merge(settings::routes())
        .merge(starts::routes())
        .merge(stories::routes())
        .merge(tasks::routes())
}

/// Answers a request whose method does not go with its path.
pub(crate) async fn wrong_method() -> Response {
    let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
    let mut response = ApiError::validation("this path does not take this method").into_response();
    *response.status_mut() = status;
    response
}
