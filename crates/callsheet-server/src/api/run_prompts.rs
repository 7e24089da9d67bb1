//! The prompts of runs: what each agent was told.

use axum::extract::State;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::prompts::{
    Exact, Other, PromptDetail, compared, detail, exact, manifest_of, map_of, of_run, plan, sealed,
};
use crate::answer::{Answer, Data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(run_prompt))
        .routes(routes!(run_text))
        .routes(routes!(run_manifest))
        .routes(routes!(run_source_map))
        .routes(routes!(run_cache))
        .routes(routes!(run_diff))
}

/// Shows the prompt of a run with its text and sections
#[utoipa::path(get, path = "/api/runs/{id}/prompt", tag = "prompts",
    params(("id" = String, Path, description = "The id of a run, or the beginning of it")),
    responses(
        (status = 200, description = "The prompt", body = Data<PromptDetail>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_prompt(State(server): State<Server>, Path(id): Path<String>) -> Answer<PromptDetail> {
    detail(&server, &of_run(&server, &id).await?).await
}

/// Hands over the exact bytes of the prompt of a run
#[utoipa::path(get, path = "/api/runs/{id}/prompt/text", tag = "prompts",
    params(("id" = String, Path, description = "The id of a run, or the beginning of it")),
    responses(
        (status = 200, description = "The bytes", content_type = "text/plain", body = String),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_text(State(server): State<Server>, Path(id): Path<String>) -> Result<Exact, ApiError> {
    exact(&server, &of_run(&server, &id).await?).await
}

/// Shows the record of how the prompt of a run was composed
#[utoipa::path(get, path = "/api/runs/{id}/manifest", tag = "prompts",
    params(("id" = String, Path, description = "The id of a run, or the beginning of it")),
    responses(
        (status = 200, description = "The manifest", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_manifest(State(server): State<Server>, Path(id): Path<String>) -> Answer<Value> {
    manifest_of(&server, &of_run(&server, &id).await?).await
}

/// Shows where every byte of the prompt of a run comes from
#[utoipa::path(get, path = "/api/runs/{id}/source-map", tag = "prompts",
    params(("id" = String, Path, description = "The id of a run, or the beginning of it")),
    responses(
        (status = 200, description = "The source map", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_source_map(State(server): State<Server>, Path(id): Path<String>) -> Answer<Value> {
    map_of(&server, &of_run(&server, &id).await?).await
}

/// Tells what a provider's cache keeps of the prompt of a run
#[utoipa::path(get, path = "/api/runs/{id}/cache", tag = "prompts",
    params(("id" = String, Path, description = "The id of a run, or the beginning of it"), Other),
    responses(
        (status = 200, description = "The plan", body = Data<Value>),
        (status = 400, description = "The id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_cache(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(other): Query<Other>,
) -> Answer<Value> {
    plan(&server, &of_run(&server, &id).await?, &other).await
}

/// Compares the prompts of two runs: by section, then by line
#[utoipa::path(get, path = "/api/runs/{id}/diff/{other}", tag = "prompts",
    params(
        ("id" = String, Path, description = "The id of a run, or the beginning of it"),
        ("other" = String, Path, description = "The id of another run, or of a prompt"),
    ),
    responses(
        (status = 200, description = "What differs", body = Data<Value>),
        (status = 400, description = "An id could mean several", body = ErrorBody),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn run_diff(
    State(server): State<Server>,
    Path((id, other)): Path<(String, String)>,
) -> Answer<Value> {
    let one = of_run(&server, &id).await?;
    let other = match of_run(&server, &other).await {
        Err(error) if error.is_missing() => sealed(&server, &other).await?,
        found => found?,
    };
    compared(&server, &one, &other).await
}
