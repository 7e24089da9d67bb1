//! Runs: lists, one of them, its events, and stopping it.

use axum::extract::State;
use callsheet_store::{RunFilter, RunKind, RunState};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documents::{Next, Part, RunDocument};
use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, Pagination, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;
use crate::view::run;

/// The most events of a part.
const MOST: usize = 1000;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_runs))
        .routes(routes!(show_run))
        .routes(routes!(list_events_of_run))
        .routes(routes!(stop_run))
}

/// Which runs are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only runs that stand here: `queued`, `running` or `finished`.
    #[param(inline)]
    state: Option<Stands>,
    /// Only runs by this runner.
    runner: Option<String>,
    /// Only runs that came to be this way: `first`, `retry` or `continue`.
    #[param(inline)]
    kind: Option<Kind>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Stands {
    Queued,
    Running,
    Finished,
}

/// How a run came to be.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    First,
    Retry,
    Continue,
}

impl Wanted {
    fn filter(self) -> RunFilter {
        RunFilter {
            state: self.state.map(|state| match state {
                Stands::Queued => RunState::Queued,
                Stands::Running => RunState::Running,
                Stands::Finished => RunState::Finished,
            }),
            kind: self.kind.map(|kind| match kind {
                Kind::First => RunKind::First,
                Kind::Retry => RunKind::Retry,
                Kind::Continue => RunKind::Continue,
            }),
            runner: self.runner,
        }
    }
}

/// Which events are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Since {
    /// Only events with a number above this one.
    since: Option<i64>,
    /// How many, 100 unless you say so, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Lists the runs of the project that is served, the newest first
#[utoipa::path(get, path = "/api/runs", tag = "runs", params(PageQuery, Wanted),
    responses(
        (status = 200, description = "A page of runs", body = Many<RunDocument>),
    ))]
async fn list_runs(
    State(server): State<Server>,
    Query(page): Query<PageQuery>,
    Query(wanted): Query<Wanted>,
) -> ManyAnswer<RunDocument> {
    let (limit, offset) = page.bounds()?;
    let (store, project) = (&server.site.store, &server.site.project);
    let found = store.find_runs(project, wanted.filter(), (offset, limit));
    let (runs, total) = found.await?;
    let has_more = offset.saturating_add(runs.len()) < total;
    let documents = run::documents(store, project, &runs).await?;
    Ok(axum::Json(Many {
        data: documents.into_iter().map(RunDocument).collect(),
        pagination: Pagination { total, has_more },
    }))
}

/// Shows a run
#[utoipa::path(get, path = "/api/runs/{id}", tag = "runs",
    params(("id" = String, Path, description = "The id of a run")),
    responses(
        (status = 200, description = "The run", body = Data<RunDocument>),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn show_run(State(server): State<Server>, Path(id): Path<String>) -> Answer<RunDocument> {
    let (project, found) = run::find(&server, &id).await?;
    let document = run::document(&server.site.store, &project, &found).await?;
    Ok(data(RunDocument(document)))
}

/// Returns the events of a run in their wire form, the oldest first
#[utoipa::path(get, path = "/api/runs/{id}/events", tag = "runs",
    params(("id" = String, Path, description = "The id of a run"), Since),
    responses(
        (status = 200, description = "A part of the events", body = Part<Value>),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn list_events_of_run(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(wanted): Query<Since>,
) -> Result<axum::Json<Part<Value>>, ApiError> {
    let (_, found) = run::find(&server, &id).await?;
    let limit = wanted.limit.unwrap_or(100);
    if !(1..=MOST).contains(&limit) {
        let why = format!("`limit` is {limit}; it has to be from 1 to {MOST}");
        return Err(ApiError::validation(why));
    }
    let since = wanted.since.unwrap_or(0);
    let store = &server.site.store;
    let mut events = store.events_of_run(found.id, since, limit + 1).await?;
    let has_more = events.len() > limit;
    events.truncate(limit);
    let next_since = events.last().map_or(since, |event| event.seq);
    let wire = |event| serde_json::to_value(event).unwrap_or_default();
    Ok(axum::Json(Part {
        data: events.iter().map(wire).collect(),
        pagination: Next {
            next_since,
            has_more,
        },
    }))
}

/// Stops a run: the agent and everything that it started; answers when the run is over
#[utoipa::path(post, path = "/api/runs/{id}/stop", tag = "runs",
    params(("id" = String, Path, description = "The id of a run")),
    responses(
        (status = 200, description = "The run, which is over", body = Data<RunDocument>),
        (status = 404, description = "No such run", body = ErrorBody),
        (status = 409, description = "The run is over already, or did not end in time", body = ErrorBody),
    ))]
async fn stop_run(State(server): State<Server>, Path(id): Path<String>) -> Answer<RunDocument> {
    let found = run::find_own(&server, &id).await?;
    if found.state == RunState::Finished {
        let why = format!("run `{}` is over already", found.id);
        return Err(ApiError::conflict(why));
    }
    let document = server
        .program
        .ask(&["stop", found.id.as_str()], None)
        .await?;
    Ok(data(RunDocument(document)))
}
