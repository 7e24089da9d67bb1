//! One run: what its agent says beside what was observed, its changes, and what happened, as it happens.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use callsheet_store::{Run, RunState, Stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::May;
use crate::error::ApiError;
use crate::pages::Frame;
use crate::pages::prompts::query;
use crate::server::Server;
use crate::view::attempt::{Attempt, attempts};
use crate::view::proof::{
    Check, Claim, Delivered, File, Known, Usage, check, claims, delivered, files, known, scope,
    usage,
};
use crate::view::show::{Show, body};
use crate::view::stream::{AHEAD, CHUNK, html};
use crate::view::takes::{Take, takes, usual};

/// So many events come with the page.
const AT_ONCE: usize = 600;

/// How many events can be asked for at once.
const MOST: usize = 1000;

pub(super) fn routes() -> Router<Server> {
    Router::new()
        .route("/runs/{id}", get(page))
        .route("/runs/{id}/events", get(events))
        .route("/runs/{id}/events/{seq}", get(event))
}

#[derive(Debug, Default, Deserialize)]
struct Wanted {
    show: Option<String>,
    after: Option<i64>,
    count: Option<usize>,
}

#[derive(Serialize)]
struct Page {
    run: Attempt,
    title: String,
    now: i64,
    live: bool,
    can_continue: bool,
    known: Known,
    takes: Vec<Take>,
    before: Option<String>,
    behind: Option<String>,
    usual: Option<i64>,
    usage: Usage,
    prompt_tokens: Option<i64>,
    claims: Vec<Claim>,
    checks: Vec<Check>,
    bad: Vec<File>,
    pending: usize,
    good: Vec<File>,
    scope: Vec<String>,
    added: usize,
    deleted: usize,
    has_diff: bool,
    delivered: Delivered,
    stream: Streamed,
    stdout: u64,
    stderr: u64,
}

/// The stream in pages.
#[derive(Serialize)]
struct Streamed {
    show: &'static str,
    total: usize,
    last: i64,
    marks: usize,
    parts: Vec<EventRows>,
}

#[derive(Serialize)]
struct EventRows {
    from: i64,
    count: usize,
    html: Option<String>,
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Path(id): Path<String>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Response {
    let made = async {
        let wanted = query(wanted)?;
        let run = server.site.store.run(&server.site.project, &id).await?;
        content(&server, &run, &wanted).await
    };
    match made.await {
        Ok(content) => {
            let title = content.title.clone();
            server.page("run.html", &Frame::new("runs", &title, may), &content)
        }
        Err(error) => server.failed(may, &error),
    }
}

async fn content(server: &Server, run: &Run, wanted: &Wanted) -> Result<Page, ApiError> {
    let store = &server.site.store;
    let shown = attempts(server, std::slice::from_ref(run)).await?;
    let (attempt, document) = shown
        .into_iter()
        .next()
        .unwrap_or_else(|| (Attempt::of(run, &Value::Null), Value::Null));
    let takes = takes(server, run, &document).await?;
    let at = takes.iter().position(|take| take.run.id == attempt.id);
    let neighbour = |by: isize| {
        let at = at?.checked_add_signed(by)?;
        takes.get(at).map(|take| take.run.id.clone())
    };
    let (bad, good) = files(server, &document, &takes).await?;
    let has_diff = bad.iter().chain(&good).any(|file| file.change.is_some());
    let sum = |of: fn(&crate::view::changes::Change) -> usize| {
        let changes = bad
            .iter()
            .chain(&good)
            .filter_map(|file| file.change.as_ref());
        changes.map(of).sum()
    };
    let list = |field: &str| document[field].as_array().cloned().unwrap_or_default();
    let prompt = store
        .prompt(&server.site.project, run.prompt.as_str())
        .await?;
    Ok(Page {
        now: crate::pages::show::now(),
        live: run.state != RunState::Finished,
        can_continue: run.task.is_some(),
        before: neighbour(-1),
        behind: neighbour(1),
        usual: usual(server, &attempt).await?,
        usage: usage(server, run, &document).await?,
        prompt_tokens: prompt.tokens,
        claims: claims(server, run, &document).await?,
        checks: list("checks").iter().map(check).collect(),
        pending: bad
            .iter()
            .filter(|file| file.approval.as_deref() == Some("pending"))
            .count(),
        added: sum(|change| change.added),
        deleted: sum(|change| change.deleted),
        delivered: delivered(&document),
        stream: stream(server, run, Show::parse(wanted.show.as_deref())).await?,
        stdout: store.log_bytes(run.id, Stream::Stdout).await?,
        stderr: store.log_bytes(run.id, Stream::Stderr).await?,
        title: attempt.title.clone(),
        run: attempt,
        has_diff,
        takes,
        scope: scope(&document),
        known: known(&document),
        bad,
        good,
    })
}

/// Returns the stream: what happened last of a run that goes on, what happened first of one that is over; the rest is asked for.
async fn stream(server: &Server, run: &Run, show: Show) -> Result<Streamed, ApiError> {
    let store = &server.site.store;
    let found = store
        .event_pages_of_run(run.id, show.filter(0), CHUNK)
        .await?;
    let marks = store
        .event_pages_of_run(run.id, Show::Marks.filter(0), CHUNK)
        .await?;
    let all = found.total <= AT_ONCE;
    let last = found.starts.len().saturating_sub(1);
    let shown = if run.state == RunState::Finished {
        0
    } else {
        last
    };
    let mut parts = Vec::with_capacity(found.starts.len());
    for (at, from) in found.starts.iter().enumerate() {
        let count = if at == last {
            found.total - at * CHUNK
        } else {
            CHUNK
        };
        let html = if all || at == shown {
            Some(some(server, run, show, from - 1, CHUNK).await?.0)
        } else {
            None
        };
        parts.push(EventRows {
            from: *from,
            count,
            html,
        });
    }
    Ok(Streamed {
        show: show.name(),
        total: found.total,
        last: found.last,
        marks: marks.total,
        parts,
    })
}

/// Returns events as HTML, how many they are, and the number of the last.
async fn some(
    server: &Server,
    run: &Run,
    show: Show,
    after: i64,
    count: usize,
) -> Result<(String, usize, i64), ApiError> {
    let store = &server.site.store;
    let events = store
        .some_events_of_run(run.id, show.filter(after), count + AHEAD)
        .await?;
    let shown = events.len().min(count);
    let last = shown.checked_sub(1).map_or(after, |at| events[at].seq);
    let start = run.started_at.unwrap_or(run.queued_at);
    Ok((html(run.id.as_str(), start, &events, shown), shown, last))
}

async fn events(
    State(server): State<Server>,
    Path(id): Path<String>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, ApiError> {
    let wanted = query(wanted)?;
    let count = wanted.count.unwrap_or(CHUNK);
    if count == 0 || count > MOST {
        return Err(ApiError::validation(format!(
            "`count` is {count}; it has to be from 1 to {MOST}"
        )));
    }
    let run = server.site.store.run(&server.site.project, &id).await?;
    let show = Show::parse(wanted.show.as_deref());
    let after = wanted.after.unwrap_or(0).max(0);
    let (html, count, last) = some(&server, &run, show, after, count).await?;
    let facts = [("x-count", count.to_string()), ("x-last", last.to_string())];
    Ok((facts, Html(html)).into_response())
}

async fn event(
    State(server): State<Server>,
    Path((id, seq)): Path<(String, String)>,
) -> Result<Html<String>, ApiError> {
    let store = &server.site.store;
    let run = store.run(&server.site.project, &id).await?;
    let unknown = || ApiError::not_found("event", &seq);
    let number: i64 = seq.parse().map_err(|_| unknown())?;
    let after = number
        .checked_sub(1)
        .filter(|after| *after >= 0)
        .ok_or_else(unknown)?;
    let events = store
        .some_events_of_run(run.id, Show::All.filter(after), 1 + AHEAD)
        .await?;
    let Some(event) = events.first().filter(|event| event.seq == number) else {
        return Err(unknown());
    };
    let id = event.event.payload.get("id");
    let answer = events[1..].iter().find(|other| {
        id.is_some()
            && other.event.kind == "agent:tool_result"
            && other.event.payload.get("id") == id
    });
    // What was cut is whole in the log.
    let cut = [Some(event), answer].into_iter().flatten();
    let cut = cut.filter(|event| event.event.payload.contains_key("cut"));
    let record = cut
        .filter_map(|event| event.event.payload.get("record")?.as_i64())
        .next_back();
    let record = match record {
        Some(record) => store
            .log_since(run.id, record - 1, 1, None)
            .await?
            .into_iter()
            .next(),
        None => None,
    };
    let record = record.as_ref().map(|record| record.data.as_slice());
    Ok(Html(body(event, answer, record)))
}
