//! Projects: the one that is served, and the others of its store, which can be read.

use axum::extract::State;
use callsheet_run::RunError;
use callsheet_run::tasks;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::server::Server;
use crate::view::project::{Monitor, ProjectDocument};

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_projects, create_project))
        .routes(routes!(show_project, change_project, remove_project))
        .routes(routes!(monitor_project))
}

/// A project that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProject {
    /// Its name.
    name: String,
    /// Its directory.
    #[expect(dead_code, reason = "only its type counts")]
    repo_path: Option<String>,
    /// The branch that new tasks start from.
    #[expect(dead_code, reason = "only its type counts")]
    base_branch: Option<String>,
}

/// What is to be changed about a project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ProjectChange {
    /// Its name, which never changes.
    name: Option<String>,
    /// The branch that new tasks start from, which its settings say.
    base_branch: Option<String>,
}

/// Lists the projects of the store, the one that is served first
#[utoipa::path(get, path = "/api/projects", tag = "projects", params(PageQuery),
    responses(
        (status = 200, description = "A page of projects", body = Many<ProjectDocument>),
    ))]
async fn list_projects(
    State(server): State<Server>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<ProjectDocument> {
    let all = server.projects().await?;
    let Many { data, pagination } = page.of(all)?;
    let data = server.describe(data).await?;
    Ok(axum::Json(Many { data, pagination }))
}

/// Says how a project is made: by `callsheet init` in its directory, and not by a server of another one
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 409, description = "There is a project of this name", body = ErrorBody),
        (status = 412, description = "A project is made in its directory", body = ErrorBody),
    ))]
async fn create_project(
    State(server): State<Server>,
    Json(new): Json<NewProject>,
) -> Answer<ProjectDocument> {
    if new.name.trim().is_empty() {
        return Err(ApiError::validation("a project needs a `name`"));
    }
    if server.find_project(&new.name).await.is_ok() {
        let why = format!("there is a project `{}` already", new.name);
        return Err(ApiError::conflict(why));
    }
    Err(ApiError::precondition(format!(
        "this server serves project `{}` only; run `callsheet init` and `callsheet serve` in the directory of another one",
        server.project_id()
    )))
}

/// Shows a project
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "The id of a project")),
    responses(
        (status = 200, description = "The project", body = Data<ProjectDocument>),
        (status = 404, description = "No such project", body = ErrorBody),
    ))]
async fn show_project(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Answer<ProjectDocument> {
    let project = server.find_project(&id).await?;
    let described = server.describe(vec![project]).await?;
    let described = described.into_iter().next();
    Ok(data(
        described.ok_or_else(|| ApiError::not_found("project", &id))?,
    ))
}

/// Answers what may change about a project: nothing here; the branch is a setting, and the name stays
#[utoipa::path(patch, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "The id of a project")),
    request_body = ProjectChange,
    responses(
        (status = 200, description = "The project, which is so already", body = Data<ProjectDocument>),
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 409, description = "A project is never renamed, or it is not served here", body = ErrorBody),
        (status = 412, description = "The branch is set in the settings of the project", body = ErrorBody),
    ))]
async fn change_project(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(change): Json<ProjectChange>,
) -> Answer<ProjectDocument> {
    let project = server.find_served(&id).await?;
    if change
        .name
        .is_some_and(|name| name != project.name && name != server.project_id())
    {
        return Err(ApiError::conflict("a project is never renamed"));
    }
    let asked = change.base_branch.clone();
    let known = server.blocking(
        move |site| match tasks::base(&site.root, asked.as_deref()) {
            Err(RunError::Unknown { name, known, .. }) => {
                Err(ApiError::validation(format!("no branch `{name}`")).details(known))
            }
            _ => Ok(()),
        },
    );
    known.await?;
    let described = server.describe(vec![project]).await?.into_iter().next();
    let described = described.ok_or_else(|| ApiError::not_found("project", &id))?;
    if change.base_branch.is_some() && change.base_branch != described.base_branch {
        let why = "the branch that tasks start from is the setting `workspace.base`; change it there, or name a `base` with the task";
        return Err(ApiError::precondition(why));
    }
    Ok(data(described))
}

/// Says that a project stays: what was done in it is on record
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "The id of a project")),
    responses(
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 409, description = "A project is never removed from its store", body = ErrorBody),
    ))]
async fn remove_project(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<(), ApiError> {
    server.find_project(&id).await?;
    Err(ApiError::conflict(format!(
        "project `{id}` stays: a store never forgets a project; `callsheet gc` deletes prompts that you don't keep"
    )))
}

/// Tells what goes on in a project: runs that are running or queued, how many tasks are where
#[utoipa::path(get, path = "/api/projects/{id}/monitor", tag = "projects",
    params(("id" = String, Path, description = "The id of a project")),
    responses(
        (status = 200, description = "What goes on", body = Data<Monitor>),
        (status = 404, description = "No such project", body = ErrorBody),
    ))]
async fn monitor_project(State(server): State<Server>, Path(id): Path<String>) -> Answer<Monitor> {
    let project = server.find_project(&id).await?;
    Ok(data(server.monitor(&project).await?))
}
