//! Projects: the one that is served, and the others of its store, which can be looked at.

use callsheet_run::tasks;
use callsheet_store::{Project, RunFilter, RunState};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::run;
use crate::error::ApiError;
use crate::server::Server;
use crate::site::Site;

/// How many runs of a kind the monitor names.
const MOST: usize = 20;

/// A project of the store.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ProjectDocument {
    /// Its name, which is its id in addresses.
    pub(crate) id: String,
    /// Its name in the store.
    pub(crate) name: String,
    /// Whether it is the one that is served. The others can be read.
    pub(crate) served: bool,
    /// Its directory; nothing where it is not served here.
    pub(crate) repo_path: Option<String>,
    /// The branch that new tasks start from; nothing where none is checked out, or where the project is not served here.
    pub(crate) base_branch: Option<String>,
}

/// What goes on in a project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Monitor {
    /// The runs that are running, the newest first; at most 20.
    #[schema(value_type = Vec<Object>)]
    pub(crate) running: Vec<Value>,
    /// The runs that wait for a worker, the newest first; at most 20.
    #[schema(value_type = Vec<Object>)]
    pub(crate) queued: Vec<Value>,
    /// How many runs there are in each state.
    pub(crate) runs: BTreeMap<&'static str, usize>,
    /// How many tasks have each status.
    pub(crate) tasks: BTreeMap<&'static str, usize>,
    /// Whether a worker of this server is there to take queued runs.
    pub(crate) worker: bool,
}

impl Server {
    /// Returns all projects of the store, the one that is served first.
    pub(crate) async fn projects(&self) -> Result<Vec<Project>, ApiError> {
        let own = &self.site.project;
        let mut all = vec![own.clone()];
        let others = self.site.store.projects().await?.into_iter();
        all.extend(others.filter(|one| one.name != own.name));
        Ok(all)
    }

    /// Finds a project of the store by its id: its name, or what people call the one that is served.
    pub(crate) async fn find_project(&self, id: &str) -> Result<Project, ApiError> {
        if self.check_project(id).is_ok() || id == self.site.project.name {
            return Ok(self.site.project.clone());
        }
        let found = self.site.store.find_project(id).await?;
        found.ok_or_else(|| ApiError::not_found("project", id))
    }

    /// Finds the project that is served by its id.
    pub(crate) async fn find_served(&self, id: &str) -> Result<Project, ApiError> {
        let project = self.find_project(id).await?;
        self.must_serve(&project)?;
        Ok(project)
    }

    /// Refuses a project that is only looked at.
    pub(crate) fn must_serve(&self, project: &Project) -> Result<(), ApiError> {
        if project.name == self.site.project.name {
            return Ok(());
        }
        Err(ApiError::conflict(format!(
            "project `{}` is not served here, so nothing in it can be changed; run `callsheet serve` in its directory",
            project.name
        )))
    }

    /// Describes projects.
    pub(crate) async fn describe(
        &self,
        projects: Vec<Project>,
    ) -> Result<Vec<ProjectDocument>, ApiError> {
        let set = self.settings()?.workspace.base;
        let describe = move |site: &Site| {
            // Without git, or without a branch, there is none.
            let base = tasks::base(&site.root, set.as_deref()).ok().flatten();
            let one = |project: Project| {
                let served = project.name == site.project.name;
                ProjectDocument {
                    id: if served {
                        site.name.clone()
                    } else {
                        project.name.clone()
                    },
                    name: project.name,
                    served,
                    repo_path: served.then(|| site.root.display().to_string()),
                    base_branch: base.clone().filter(|_| served),
                }
            };
            Ok(projects.into_iter().map(one).collect())
        };
        self.blocking(describe).await
    }

    /// Tells what goes on in a project.
    pub(crate) async fn monitor(&self, project: &Project) -> Result<Monitor, ApiError> {
        let store = &self.site.store;
        let mut counts = BTreeMap::new();
        let mut shown = Vec::new();
        for state in [RunState::Running, RunState::Queued, RunState::Finished] {
            let most = if state == RunState::Finished { 0 } else { MOST };
            let filter = RunFilter {
                state: Some(state),
                ..RunFilter::default()
            };
            let (runs, total) = store.find_runs(project, filter, (0, most)).await?;
            counts.insert(state.as_str(), total);
            shown.push(run::documents(store, project, &runs).await?);
        }
        let of = project.clone();
        let states = self
            .blocking(move |site| super::task::states(site, &of))
            .await?;
        let mut tasks = BTreeMap::new();
        for state in states {
            *tasks.entry(state.derived.status.as_str()).or_insert(0) += 1;
        }
        let mut shown = shown.into_iter();
        Ok(Monitor {
            running: shown.next().unwrap_or_default(),
            queued: shown.next().unwrap_or_default(),
            runs: counts,
            tasks,
            worker: self.program.is_going("worker"),
        })
    }
}
