//! Tasks: what is to be done, how that stands, and what can change about it.

use axum::extract::State;
use axum::response::Response;
use callsheet::task::TaskStatus;
use callsheet_run::RunError;
use callsheet_run::tasks::{self, TaskBody};
use callsheet_store::{Id, Task};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::dependencies::set_dependency;
use super::documents::TaskDocument;
use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, created, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::server::Server;
use crate::view::task;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_tasks, add_task))
        .routes(routes!(show_task, change_task))
        .routes(routes!(cancel_task))
}

/// Which tasks are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only tasks with this status: `open`, `ready`, `running`, `blocked`, `needs_review`, `failed`, `done` or `cancelled`.
    #[param(value_type = Option<String>)]
    status: Option<TaskStatus>,
    /// Only tasks below this one. Tasks are not nested, so that there are none.
    parent_id: Option<String>,
    /// Whether tasks below others are listed, too. Tasks are not nested, so that nothing differs.
    #[serde(rename = "include_children")]
    #[expect(dead_code, reason = "only its type counts")]
    children: Option<bool>,
}

/// A task that is to be added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// What it is called, in a line.
    title: String,
    /// What is to be done.
    description: Option<String>,
    /// Patterns of the paths that may be written.
    #[schema(min_items = 1)]
    write_scope: Vec<String>,
    /// Patterns of the paths that may not be touched, even where they may be written.
    #[serde(default)]
    exclude: Vec<String>,
    /// What holds when it is done.
    #[serde(default)]
    done_when: Vec<String>,
    /// The tasks that have to be done first.
    #[serde(default)]
    depends: Vec<String>,
    /// The branch that it starts from and is merged into.
    base: Option<String>,
}

/// What is to be changed about a task. What it asks for never changes: such a field has to say what the task says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TaskChange {
    title: Option<String>,
    description: Option<String>,
    write_scope: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    done_when: Option<Vec<String>>,
    base: Option<String>,
    /// All tasks that have to be done first.
    depends: Option<Vec<String>>,
    /// `true` cancels the task, which cannot be taken back.
    cancelled: Option<bool>,
}

/// Lists the tasks of a project, the newest first
#[utoipa::path(get, path = "/api/projects/{id}/tasks", tag = "tasks",
    params(("id" = String, Path, description = "The id of a project"), PageQuery, Wanted),
    responses(
        (status = 200, description = "A page of tasks", body = Many<TaskDocument>),
        (status = 404, description = "No such project", body = ErrorBody),
    ))]
async fn list_tasks(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
    Query(wanted): Query<Wanted>,
) -> ManyAnswer<TaskDocument> {
    page.bounds()?;
    let project = server.find_project(&id).await?;
    let states = server.blocking(move |site| task::states(site, &project));
    let mut states = states.await?;
    states.retain(|state| {
        wanted.parent_id.is_none()
            && wanted
                .status
                .is_none_or(|status| state.derived.status == status)
    });
    let documents = states
        .iter()
        .map(|state| TaskDocument(tasks::document(state)));
    Ok(axum::Json(page.of(documents.collect())?))
}

/// Adds a task
#[utoipa::path(post, path = "/api/projects/{id}/tasks", tag = "tasks",
    params(("id" = String, Path, description = "The id of a project")),
    request_body = NewTask,
    responses(
        (status = 201, description = "The task", body = Data<TaskDocument>),
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 409, description = "The project is not the one that is served", body = ErrorBody),
        (status = 412, description = "The project has no git repository", body = ErrorBody),
    ))]
async fn add_task(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(new): Json<NewTask>,
) -> Result<Response, ApiError> {
    server.find_served(&id).await?;
    if new.write_scope.is_empty() {
        return Err(ApiError::validation("a task needs a `write_scope`"));
    }
    let body = TaskBody {
        write_scope: new.write_scope.clone(),
        exclude: new.exclude.clone(),
        ..TaskBody::default()
    };
    body.check("write_scope", "exclude")?;
    let asked = new.base.clone().or(server.settings()?.workspace.base);
    let base = server.blocking(
        move |site| match tasks::base(&site.root, asked.as_deref()) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(ApiError::precondition(
                "no branch is checked out; name a `base`",
            )),
            Err(RunError::Input(why)) => {
                Err(ApiError::precondition(format!("tasks need git: {why}")))
            }
            Err(RunError::Unknown { name, known, .. }) => {
                Err(ApiError::validation(format!("no branch `{name}`")).details(known))
            }
            Err(error) => Err(error.into()),
        },
    );
    base.await?;
    let mut args = vec![
        "task".to_owned(),
        "add".to_owned(),
        format!("--title={}", new.title),
    ];
    let lists = [
        ("--write", &new.write_scope),
        ("--exclude", &new.exclude),
        ("--done-when", &new.done_when),
        ("--depends", &new.depends),
    ];
    for (flag, values) in lists {
        args.extend(values.iter().map(|value| format!("{flag}={value}")));
    }
    args.extend(new.base.map(|base| format!("--base={base}")));
    // A text that began with `@` would name a file.
    args.extend(
        new.description
            .as_ref()
            .map(|_| "--description=@-".to_owned()),
    );
    let input = new.description.as_deref().map(str::as_bytes);
    Ok(created(server.program.ask(&borrowed(&args), input).await?))
}

/// Shows a task: what it asks for, its status and why, and its runs
#[utoipa::path(get, path = "/api/tasks/{id}", tag = "tasks",
    params(("id" = String, Path, description = "The id of a task")),
    responses(
        (status = 200, description = "The task", body = Data<TaskDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
    ))]
async fn show_task(State(server): State<Server>, Path(id): Path<String>) -> Answer<TaskDocument> {
    let (project, found) = task::find(&server, &id).await?;
    document(&server, project, found.id).await
}

/// Changes what can change about a task: what has to be done first, and whether it is cancelled
///
/// What a task asks for never changes: another title or scope is another task.
#[utoipa::path(patch, path = "/api/tasks/{id}", tag = "tasks",
    params(("id" = String, Path, description = "The id of a task")),
    request_body = TaskChange,
    responses(
        (status = 200, description = "The task as it is now", body = Data<TaskDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
        (status = 409, description = "A task never changes that way", body = ErrorBody),
    ))]
async fn change_task(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(change): Json<TaskChange>,
) -> Answer<TaskDocument> {
    let found = task::find_own(&server, &id).await?;
    must_stay(&found, &change)?;
    if let Some(depends) = &change.depends {
        let wanted = ids(depends)?;
        for gone in found.depends.iter().filter(|id| !wanted.contains(id)) {
            set_dependency(&server, found.id, *gone, true).await?;
        }
        for new in wanted.iter().filter(|id| !found.depends.contains(id)) {
            set_dependency(&server, found.id, *new, false).await?;
        }
    }
    if change.cancelled == Some(true) {
        cancel_now(&server, found.id).await?;
    }
    document(&server, server.site.project.clone(), found.id).await
}

/// Refuses a change of what a task asks for.
fn must_stay(found: &Task, change: &TaskChange) -> Result<(), ApiError> {
    let asked = [
        ("title", change.title.as_ref().map(|text| json!(text))),
        (
            "description",
            change.description.as_ref().map(|text| json!(text)),
        ),
        (
            "write_scope",
            change.write_scope.as_ref().map(|list| json!(list)),
        ),
        ("exclude", change.exclude.as_ref().map(|list| json!(list))),
        (
            "done_when",
            change.done_when.as_ref().map(|list| json!(list)),
        ),
        ("base", change.base.as_ref().map(|text| json!(text))),
    ];
    let now = |field: &str| match field {
        "title" => json!(found.title),
        field => found.body.get(field).cloned().unwrap_or_default(),
    };
    let is_new = |(field, value): &&(&str, Option<Value>)| {
        value.as_ref().is_some_and(|value| *value != now(field))
    };
    if let Some((field, _)) = asked.iter().find(is_new) {
        return Err(ApiError::conflict(format!(
            "the `{field}` of a task never changes; add another task, and cancel this one"
        )));
    }
    if change.cancelled == Some(false) && found.cancelled_at.is_some() {
        return Err(ApiError::conflict(
            "a task stays cancelled; add another one",
        ));
    }
    Ok(())
}

/// Cancels a task for good; one that is cancelled already stays so
#[utoipa::path(post, path = "/api/tasks/{id}/cancel", tag = "tasks",
    params(("id" = String, Path, description = "The id of a task")),
    responses(
        (status = 200, description = "The task as it is now", body = Data<TaskDocument>),
        (status = 404, description = "No such task", body = ErrorBody),
        (status = 409, description = "A run of the task is not over", body = ErrorBody),
    ))]
async fn cancel_task(State(server): State<Server>, Path(id): Path<String>) -> Answer<TaskDocument> {
    let found = task::find_own(&server, &id).await?;
    cancel_now(&server, found.id).await?;
    document(&server, server.site.project.clone(), found.id).await
}

/// Returns a task as it is now.
pub(super) async fn document(
    server: &Server,
    project: callsheet_store::Project,
    id: Id,
) -> Answer<TaskDocument> {
    let state = server.blocking(move |site| task::state(site, &project, id));
    Ok(data(TaskDocument(tasks::document(&state.await?))))
}

async fn cancel_now(server: &Server, id: Id) -> Result<(), ApiError> {
    let args = ["task", "cancel", id.as_str()];
    server.program.ask(&args, None).await.map(|_| ())
}

fn ids(names: &[String]) -> Result<Vec<Id>, ApiError> {
    let id = |name: &String| {
        name.parse()
            .map_err(|_| ApiError::validation(format!("`{name}` is not the id of a task")))
    };
    names.iter().map(id).collect()
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}
