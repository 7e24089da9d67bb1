//! What has to be done before a task.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use callsheet_store::Id;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::TaskDocument;
use super::tasks::document;
use crate::answer::{Data, created};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path};
use crate::server::Server;
use crate::view::task;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(add_dependency))
        .routes(routes!(remove_dependency))
}

/// What has to be done first.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Dependency {
    /// The id of the other task.
    depends_on_task_id: String,
}

/// Makes a task wait for another one
#[utoipa::path(post, path = "/api/tasks/{id}/dependencies", tag = "tasks",
    params(("id" = String, Path, description = "The id of a task")),
    request_body = Dependency,
    responses(
        (status = 201, description = "The task as it is now", body = Data<TaskDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
        (status = 409, description = "It waits for it already, or that would close a cycle", body = ErrorBody),
    ))]
async fn add_dependency(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(dependency): Json<Dependency>,
) -> Result<Response, ApiError> {
    let found = task::find_own(&server, &id).await?;
    let on = task::find_own(&server, &dependency.depends_on_task_id).await?;
    set_dependency(&server, found.id, on.id, false).await?;
    let shown = document(&server, server.site.project.clone(), found.id).await?;
    Ok(created(shown.0.data))
}

/// Makes a task no longer wait for another one
#[utoipa::path(delete, path = "/api/tasks/{id}/dependencies/{dep}", tag = "tasks",
    params(("id" = String, Path, description = "The id of a task"), ("dep" = String, Path, description = "The id of the other task")),
    responses(
        (status = 204, description = "It no longer waits for it"),
        (status = 404, description = "No such task, or it does not wait for the other one", body = ErrorBody),
        (status = 409, description = "The task is of a project that is not served", body = ErrorBody),
    ))]
async fn remove_dependency(
    State(server): State<Server>,
    Path((id, dep)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let found = task::find_own(&server, &id).await?;
    let on: Option<Id> = dep.parse().ok();
    let on = on.filter(|on| found.depends.contains(on));
    let on = on.ok_or_else(|| ApiError::not_found("dependency", &dep))?;
    set_dependency(&server, found.id, on, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a task wait for another one, or no longer.
pub(super) async fn set_dependency(
    server: &Server,
    id: Id,
    on: Id,
    remove: bool,
) -> Result<(), ApiError> {
    let on = format!("--on={on}");
    let mut args = vec!["task", "depend", id.as_str(), &on];
    args.extend(remove.then_some("--remove"));
    let asked = server.program.ask(&args, None).await;
    // Both ids were looked up: what is wrong now is what they would make.
    asked.map(|_| ()).map_err(ApiError::into_conflict)
}
