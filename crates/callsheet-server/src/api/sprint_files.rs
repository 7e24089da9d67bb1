//! The files of a sprint that clients of the board read as they are.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use callsheet::inputs::Root;
use utoipa::IntoResponses;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, ErrorBody};
use crate::server::Server;
use crate::view::sprint::no_board;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(board))
        .routes(routes!(log))
        .routes(routes!(log_table))
        .routes(routes!(log_sample))
        .routes(routes!(runner_table))
}

/// A file as it is; browsers neither keep it nor guess what it is.
type File = ([(HeaderName, &'static str); 2], Vec<u8>);

/// Reads a file beside the story files.
async fn beside(server: &Server, name: &'static str) -> Result<File, ApiError> {
    let settings = server.settings()?;
    let read = server.blocking(move |site| {
        let directory = settings.layout(&site.root).implementation_artifacts;
        let bytes = Root::open(&site.root)?.read(&format!("{directory}/{name}"));
        bytes.map_err(|_| ApiError::not_found("file", name))
    });
    Ok(file(read.await?))
}

fn file(bytes: Vec<u8>) -> File {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, bytes)
}

/// Hands over the file of the board
#[utoipa::path(get, path = "/sprint-status.yaml", tag = "sprint",
    responses(
        (status = 200, description = "The file", content_type = "text/plain", body = String),
        (status = 404, description = "The project has no board", body = ErrorBody),
    ))]
async fn board(State(server): State<Server>) -> Result<File, ApiError> {
    let settings = server.settings()?;
    let read = server.blocking(move |site| {
        let found = settings.board(&site.root).map_err(no_board)?;
        let bytes = Root::open(&site.root)?.read(found.path());
        bytes.map_err(|_| ApiError::not_found("file", found.path()))
    });
    Ok(file(read.await?))
}

/// What comes of asking for a file beside the story files.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes what is answered")]
enum Beside {
    /// The file
    #[response(status = 200, content_type = "text/plain")]
    There(String),
    /// There is none
    #[response(status = 404)]
    Missing(ErrorBody),
}

/// Hands over the log that agents keep
#[utoipa::path(get, path = "/orchestrator.md", tag = "sprint", responses(Beside))]
async fn log(State(server): State<Server>) -> Result<File, ApiError> {
    beside(&server, "orchestrator.md").await
}

/// Hands over the log that agents keep, as a table
#[utoipa::path(get, path = "/orchestrator.csv", tag = "sprint", responses(Beside))]
async fn log_table(State(server): State<Server>) -> Result<File, ApiError> {
    beside(&server, "orchestrator.csv").await
}

/// Hands over the sample of a log
#[utoipa::path(
    get,
    path = "/orchestrator-sample.md",
    tag = "sprint",
    responses(Beside)
)]
async fn log_sample(State(server): State<Server>) -> Result<File, ApiError> {
    beside(&server, "orchestrator-sample.md").await
}

/// Hands over the table of a sprint
#[utoipa::path(get, path = "/sprint-runner.csv", tag = "sprint", responses(Beside))]
async fn runner_table(State(server): State<Server>) -> Result<File, ApiError> {
    beside(&server, "sprint-runner.csv").await
}
