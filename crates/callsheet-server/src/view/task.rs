//! Tasks: finding one, and their documents.

use callsheet_run::tasks::{self, TaskState, Unmerged, View};
use callsheet_store::{Id, Project, StoreError, Task};

use crate::error::ApiError;
use crate::server::Server;
use crate::site::Site;

/// Finds a task of any project of the store by its id.
pub(crate) async fn find(server: &Server, name: &str) -> Result<(Project, Task), ApiError> {
    let unknown = || ApiError::not_found("task", name);
    let id: Id = name.parse().map_err(|_| unknown())?;
    let store = &server.site.store;
    for project in server.projects().await? {
        match store.task(&project, id.as_str()).await {
            Ok(task) => return Ok((project, task)),
            Err(StoreError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unknown())
}

/// Finds a task of the project that is served; what is in another one cannot be changed here.
pub(crate) async fn find_own(server: &Server, name: &str) -> Result<Task, ApiError> {
    let (project, task) = find(server, name).await?;
    server.must_serve(&project)?;
    Ok(task)
}

/// Returns a task with its status. Of another project's repository nothing is known here: nothing in it counts as merged.
pub(crate) fn state(site: &Site, project: &Project, task: Id) -> Result<TaskState, ApiError> {
    let name = task.as_str();
    Ok(if project.name == site.project.name {
        tasks::status(&site.store, project, name, &View::of(&site.root))?
    } else {
        tasks::status(&site.store, project, name, &Unmerged)?
    })
}

/// Returns all tasks of a project with their status, the newest first.
pub(crate) fn states(site: &Site, project: &Project) -> Result<Vec<TaskState>, ApiError> {
    let mut all = if project.name == site.project.name {
        tasks::statuses(&site.store, project, &View::of(&site.root))?
    } else {
        tasks::statuses(&site.store, project, &Unmerged)?
    };
    all.reverse();
    Ok(all)
}
