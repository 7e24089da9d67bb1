//! The log of a run, in parts: what it was given and what it said, record by record.

use axum::extract::State;
use callsheet_store::{Id, Store, StoredRecord, Stream};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;
use crate::view::run;

/// The most lines of a part.
const MOST: usize = 1000;

/// How many lines a part has where nobody says it.
const USUAL: usize = 200;

/// How many bytes of lines a part has, the last line aside.
const MOST_BYTES: usize = 4 << 20;

/// How many bytes of one line are shown.
const MOST_OF_LINE: usize = 1 << 20;

/// How many records are read at once: one may be large.
const AT_ONCE: usize = 64;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(show_log))
}

/// Which lines are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only this stream; `all` unless you say so.
    #[param(inline)]
    stream: Option<Which>,
    /// The last so many lines.
    #[param(minimum = 1, maximum = 1000)]
    tail: Option<usize>,
    /// Only lines with a number above this one; from the first line on unless you say so.
    since_line: Option<i64>,
    /// How many, 200 unless you say so, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A stream of a log, or all of them.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Which {
    #[default]
    All,
    Meta,
    Stdout,
    Stderr,
}

impl Which {
    fn stream(self) -> Option<Stream> {
        match self {
            Self::All => None,
            Self::Meta => Some(Stream::Meta),
            Self::Stdout => Some(Stream::Stdout),
            Self::Stderr => Some(Stream::Stderr),
        }
    }
}

/// A part of a log.
#[derive(Debug, Serialize, ToSchema)]
struct Log {
    lines: Vec<LogLine>,
    /// How many lines the log has, those of all streams.
    total_lines: i64,
    /// Whether there are more: after these, or before them where `tail` was asked for.
    has_more: bool,
}

/// A record of a log.
#[derive(Debug, Serialize, ToSchema)]
struct LogLine {
    /// Its number in the log, from 1 and without a gap over all streams.
    line_number: i64,
    /// When it was stored, in milliseconds since 1970.
    timestamp: i64,
    /// `meta`, `stdout` or `stderr`.
    #[schema(value_type = String)]
    stream: Stream,
    /// What it says. What is not UTF-8 is replaced, and a very long one is cut.
    data: String,
    /// How many bytes it has.
    bytes: usize,
}

impl From<StoredRecord> for LogLine {
    fn from(record: StoredRecord) -> Self {
        let shown = &record.data[..record.data.len().min(MOST_OF_LINE)];
        Self {
            line_number: record.seq,
            timestamp: record.at,
            stream: record.stream,
            data: String::from_utf8_lossy(shown).into_owned(),
            bytes: record.data.len(),
        }
    }
}

/// Returns a part of the log of a run; the last lines with `tail`, else those after a line
#[utoipa::path(get, path = "/api/runs/{id}/log", tag = "runs",
    params(("id" = String, Path, description = "The id of a run"), Wanted),
    responses(
        (status = 200, description = "A part of the log", body = Data<Log>),
        (status = 404, description = "No such run", body = ErrorBody),
    ))]
async fn show_log(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer<Log> {
    let (_, found) = run::find(&server, &id).await?;
    if wanted.tail.is_some() && wanted.since_line.is_some() {
        return Err(ApiError::validation(
            "name `tail` or `since_line`, not both",
        ));
    }
    let most = wanted.tail.or(wanted.limit).unwrap_or(USUAL);
    if !(1..=MOST).contains(&most) {
        let name = if wanted.tail.is_some() {
            "tail"
        } else {
            "limit"
        };
        let why = format!("`{name}` is {most}; it has to be from 1 to {MOST}");
        return Err(ApiError::validation(why));
    }
    let stream = wanted.stream.unwrap_or_default().stream();
    let store = &server.site.store;
    let (records, has_more) = match wanted.tail {
        Some(_) => tail(store, found.id, most, stream).await?,
        None => {
            since(
                store,
                found.id,
                (wanted.since_line.unwrap_or(0), most),
                stream,
            )
            .await?
        }
    };
    Ok(data(Log {
        lines: records.into_iter().map(LogLine::from).collect(),
        total_lines: found.records,
        has_more,
    }))
}

/// Returns records after a number, and whether there are more.
async fn since(
    store: &Store,
    run: Id,
    (mut since, most): (i64, usize),
    stream: Option<Stream>,
) -> Result<(Vec<StoredRecord>, bool), ApiError> {
    let mut found = Vec::new();
    let mut bytes = 0;
    loop {
        let page = store.log_since(run, since, AT_ONCE, stream).await?;
        let is_last = page.len() < AT_ONCE;
        for record in page {
            if found.len() == most || bytes > MOST_BYTES {
                return Ok((found, true));
            }
            since = record.seq;
            bytes += record.data.len();
            found.push(record);
        }
        if is_last {
            return Ok((found, false));
        }
    }
}

/// Returns the last records, and whether there are some before them.
async fn tail(
    store: &Store,
    run: Id,
    most: usize,
    stream: Option<Stream>,
) -> Result<(Vec<StoredRecord>, bool), ApiError> {
    let mut found = store.log_tail(run, most + 1, stream).await?;
    let mut kept = found.len().min(most);
    let mut bytes = 0;
    for (count, record) in found.iter().rev().enumerate().take(kept) {
        bytes += record.data.len();
        if bytes > MOST_BYTES && count > 0 {
            kept = count;
            break;
        }
    }
    let over = found.len() - kept;
    found.drain(..over);
    Ok((found, over > 0))
}
