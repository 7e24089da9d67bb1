//! Runs: the newest first, and one of them with its facts, its stream and its changes.

mod run;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use axum::routing::get;
use callsheet_store::{RunPage, RunState};
use serde::{Deserialize, Serialize};

use super::prompts::{given, query};
use crate::access::May;
use crate::error::ApiError;
use crate::server::Server;
use crate::view::attempt::{Attempt, attempts};

/// How many runs a page has.
const PAGE: usize = 50;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new().route("/runs", get(list)).merge(run::routes())
}

/// Which runs are wanted.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Wanted {
    state: Option<String>,
    before: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    runs: Vec<Attempt>,
    wanted: Wanted,
    more: Option<String>,
}

async fn list(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Response {
    let content = listed(&server, wanted).await;
    server.answer("runs.html", ("runs", "Runs"), may, content)
}

async fn listed(
    server: &Server,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Listed, ApiError> {
    let wanted = query(wanted)?;
    let (store, project) = (&server.site.store, &server.site.project);
    let state = match given(wanted.state.as_ref())?.as_deref() {
        None => None,
        Some("queued") => Some(RunState::Queued),
        Some("running") => Some(RunState::Running),
        Some("finished") => Some(RunState::Finished),
        Some(other) => {
            return Err(ApiError::validation(format!(
                "`{other}` is not a state; use `queued`, `running` or `finished`"
            )));
        }
    };
    let before = match given(wanted.before.as_ref())? {
        Some(id) => Some(store.run(project, &id).await?.id),
        None => None,
    };
    let page = RunPage {
        before,
        state,
        limit: PAGE + 1,
    };
    let mut found = store.runs(project, page).await?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let last = found.last().filter(|_| more).map(|run| run.id.to_string());
    let runs = attempts(server, &found).await?;
    Ok(Listed {
        runs: runs.into_iter().map(|(run, _)| run).collect(),
        more: last,
        wanted,
    })
}
