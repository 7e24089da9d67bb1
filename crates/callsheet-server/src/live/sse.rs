//! `GET /api/events`: events as they are stored, which a browser resumes by itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use callsheet_store::Id;
use futures_core::Stream;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::listener::{Heard, Listener};
use crate::error::{ApiError, ErrorBody};
use crate::extract::Query;
use crate::server::Server;

/// How often a quiet stream says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Which events are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The project; the one that is served unless you say so.
    project_id: Option<String>,
    /// Events of this run only.
    run_id: Option<String>,
    /// Events after this number, as `Last-Event-ID` says it; from now on unless you say so.
    #[param(minimum = 0)]
    since: Option<i64>,
}

/// The routes of live events.
pub(crate) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(events))
}

/// Follows the events of the project
///
/// Ids are the numbers of events, without a gap. After a lost connection, send the last one as `Last-Event-ID`. An event
/// `refetch` says that you are too far behind: ask for what you show anew.
#[utoipa::path(get, path = "/api/events", tag = "events", params(Wanted),
    responses(
        (status = 200, description = "A stream of events", content_type = "text/event-stream", body = String),
        (status = 400, description = "The request is wrong", body = ErrorBody),
        (status = 401, description = "No token", body = ErrorBody),
        (status = 404, description = "No such project or run", body = ErrorBody),
    ))]
async fn events(
    State(server): State<Server>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    if let Some(project) = &wanted.project_id {
        server.check_project(project)?;
    }
    let run = match &wanted.run_id {
        Some(run) => Some(server.site.store.run(&server.site.project, run).await?.id),
        None => None,
    };
    let last = headers.get("last-event-id").map(|value| {
        let number = value
            .to_str()
            .ok()
            .and_then(|text| text.trim().parse::<i64>().ok());
        number
            .filter(|number| *number >= 0)
            .ok_or_else(|| ApiError::validation("`Last-Event-ID` is not the number of an event"))
    });
    let since = last.transpose()?.or(wanted.since);
    let stream = stream(&server, since, run).await?;
    let keep = KeepAlive::new().interval(HEARTBEAT).text("beat");
    Ok(Sse::new(stream).keep_alive(keep))
}

async fn stream(server: &Server, since: Option<i64>, run: Option<Id>) -> Result<Events, ApiError> {
    let listener = server.bus.listen(since, run).await?;
    Ok(Events(Some(Box::pin(next(listener)))))
}

type Next = Pin<Box<dyn Future<Output = (Option<Heard>, Listener)> + Send>>;

/// What is heard, as a stream.
struct Events(Option<Next>);

async fn next(mut listener: Listener) -> (Option<Heard>, Listener) {
    (listener.next().await, listener)
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(waiting) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let Poll::Ready((heard, listener)) = waiting.as_mut().poll(context) else {
            return Poll::Pending;
        };
        let event = heard.map(|heard| match heard {
            // The JSON is ours: text without a line break.
            Heard::Event(frame) => Event::default()
                .id(frame.seq.to_string())
                .data(String::from_utf8_lossy(&frame.json)),
            Heard::Refetch(seq) => Event::default()
                .id(seq.to_string())
                .event("refetch")
                .data(format!("{{\"id\":{seq}}}")),
        });
        self.0 = event.is_some().then(|| Box::pin(next(listener)) as Next);
        Poll::Ready(event.map(Ok))
    }
}
