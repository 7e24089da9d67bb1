//! Runs: finding one, its document, and whether a task can have one now.

use callsheet::task::TaskStatus;
use callsheet_run::document::document_with;
use callsheet_run::tasks::{self, TaskState, View};
use callsheet_store::{Id, Project, Run, RunState, Store, StoreError};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::server::Server;
use crate::site::Site;

/// Finds a run of any project of the store by its id.
pub(crate) async fn find(server: &Server, name: &str) -> Result<(Project, Run), ApiError> {
    let unknown = || ApiError::not_found("run", name);
    let id: Id = name.parse().map_err(|_| unknown())?;
    let store = &server.site.store;
    for project in server.projects().await? {
        match store.run(&project, id.as_str()).await {
            Ok(run) => return Ok((project, run)),
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unknown())
}

/// Finds a run of the project that is served; what is in another one cannot be changed here.
pub(crate) async fn find_own(server: &Server, name: &str) -> Result<Run, ApiError> {
    let (project, run) = find(server, name).await?;
    server.must_serve(&project)?;
    Ok(run)
}

/// Returns the document of a run, with what was found out and decided after it finished.
pub(crate) async fn document(
    store: &Store,
    project: &Project,
    run: &Run,
) -> Result<Value, ApiError> {
    let documents = documents(store, project, std::slice::from_ref(run)).await?;
    Ok(documents.into_iter().next().unwrap_or_default())
}

/// Returns the documents of runs, with what was found out and decided after they finished.
pub(crate) async fn documents(
    store: &Store,
    project: &Project,
    runs: &[Run],
) -> Result<Vec<Value>, ApiError> {
    let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
    let added = store.annotations(project, &ids).await?;
    let of = |run: &Run| added.get(&run.id).map_or(&[][..], Vec::as_slice);
    Ok(runs.iter().map(|run| document_with(run, of(run))).collect())
}

/// Refuses a run that is not over.
pub(crate) fn must_be_over(run: &Run) -> Result<(), ApiError> {
    if run.state == RunState::Finished {
        return Ok(());
    }
    let why = format!("run `{}` is not over", run.id);
    Err(ApiError::conflict(why).details(json!({"state": run.state})))
}

/// Returns the task of a run, which has to have one.
pub(crate) fn task_of(run: &Run) -> Result<Id, ApiError> {
    run.task
        .ok_or_else(|| ApiError::precondition(format!("run `{}` is not a run of a task", run.id)))
}

/// Refuses a task for which no run can be started at this time.
pub(crate) fn startable(site: &Site, task: Id) -> Result<(), ApiError> {
    let view = View::of(&site.root);
    let state = tasks::status(&site.store, &site.project, task.as_str(), &view)?;
    must_be_free(&state)?;
    match state.derived.status {
        TaskStatus::Cancelled => Err(ApiError::conflict(format!("task `{task}` is cancelled"))),
        TaskStatus::Done => Err(ApiError::conflict(format!("task `{task}` is done"))),
        TaskStatus::Blocked => {
            let why = format!("task `{task}` waits for tasks that are not done");
            Err(ApiError::precondition(why).details(json!({"waits_for": state.waits_for})))
        }
        _ if !has_scope(&state) => {
            let why = format!("task `{task}` has no write scope");
            Err(ApiError::precondition(why))
        }
        _ => Ok(()),
    }
}

fn has_scope(state: &TaskState) -> bool {
    let globs = tasks::document(state)["write_scope"]
        .as_array()
        .map(Vec::len);
    globs.is_some_and(|globs| globs > 0)
}

/// Refuses a task with a run that is not over.
pub(crate) fn must_be_free(state: &TaskState) -> Result<(), ApiError> {
    let mut runs = state.runs.iter().map(|one| &one.run);
    match runs.find(|run| run.state != RunState::Finished) {
        Some(run) => {
            let (task, run) = (state.task.id, run.id);
            let why = format!("task `{task}` has a run that is not over: `{run}`");
            Err(ApiError::conflict(why).details(json!({"run": run})))
        }
        None => Ok(()),
    }
}
