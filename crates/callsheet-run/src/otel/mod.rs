//! Runs as OpenTelemetry spans: an export of what is stored. The stored events stay the truth, and nothing reads a span back.
//!
//! No text of a prompt, no input or output of a tool, no word of an agent and no key leaves through here. An export that
//! fails is an error for the caller to tell, never a reason for a run to fail.

mod names;
mod send;
mod spans;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use callsheet::Fingerprint;
use callsheet_store::{Id, Run, Store, StoredEvent, Wait};
use opentelemetry::trace::{SpanId, TraceId};

use crate::RunError;
use spans::Spans;

/// How long an export may take, from the first look into the store to the answer of the receiver.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long reading events may take of it.
const READING: Duration = Duration::from_secs(2);

/// How many events are read at a time.
const PAGE: usize = 1000;

/// Tells whether runs are exported: by the variables that every OpenTelemetry SDK knows.
pub fn is_on(environment: &BTreeMap<String, String>) -> bool {
    let is = |name: &str, value: &str| {
        let found = environment.get(name);
        found.is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    };
    endpoint(environment).is_some()
        && !is("OTEL_SDK_DISABLED", "true")
        && !is("OTEL_TRACES_EXPORTER", "none")
}

/// Returns where spans go.
fn endpoint(environment: &BTreeMap<String, String>) -> Option<&str> {
    let names = [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ];
    let values = names.iter().filter_map(|name| environment.get(*name));
    values
        .map(|value| value.trim())
        .find(|value| !value.is_empty())
}

/// Returns what an agent gets as `TRACEPARENT`, so that its own spans join the trace of its run.
pub(crate) fn traceparent(run: Id) -> String {
    let ids = TraceIds::of(run);
    format!("00-{}-{}-01", ids.trace, ids.root)
}

/// Exports finished runs of this store; those that are not finished are left out.
///
/// Exporting a run again sends the same ids again.
pub fn export(
    store: &Store,
    runs: &[Run],
    environment: &BTreeMap<String, String>,
) -> Result<(), RunError> {
    if !is_on(environment) {
        return Ok(());
    }
    let since = Instant::now();
    let mut all = Vec::new();
    for run in runs {
        if let Some(mut spans) = Spans::of(run) {
            read(store, run.id, since, &mut spans)?;
            all.extend(spans.done());
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    let left = PATIENCE.saturating_sub(since.elapsed());
    send::send(all, environment, left)
        .map_err(|why| RunError::refused("cannot export spans", io::Error::other(why)))
}

/// Reads the events of a run, as far as there is time for it.
fn read(store: &Store, run: Id, since: Instant, spans: &mut Spans) -> Result<(), RunError> {
    let mut seq = 0;
    loop {
        let page: Vec<StoredEvent> = store.events_of_run(run, seq, PAGE).wait()?;
        for event in &page {
            spans.note(event);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => seq = last.seq,
            _ => return Ok(()),
        }
        if since.elapsed() > READING {
            spans.cut_short();
            return Ok(());
        }
    }
}

/// The ids of a run's spans. They are derived from the id of the run, so the agent can be told of them before there is a span.
#[derive(Clone, Copy, Debug)]
struct TraceIds {
    run: Id,
    trace: TraceId,
    root: SpanId,
}

impl TraceIds {
    fn of(run: Id) -> Self {
        let hash = Fingerprint::of_named([("trace", run.as_str().as_bytes())]);
        let mut trace = [0; 16];
        trace.copy_from_slice(&hash.as_bytes()[..16]);
        Self {
            run,
            trace: TraceId::from_bytes(trace),
            root: span_id(hash.as_bytes()[16..24].iter()),
        }
    }

    /// Returns the id of the span that begins with an event.
    fn child(&self, seq: i64) -> SpanId {
        let (run, seq) = (self.run.as_str(), seq.to_le_bytes());
        let hash = Fingerprint::of_named([("span", run.as_bytes()), ("event", &seq)]);
        span_id(hash.as_bytes().iter())
    }
}

fn span_id<'a>(bytes: impl Iterator<Item = &'a u8>) -> SpanId {
    let mut id = [0; 8];
    for (to, from) in id.iter_mut().zip(bytes) {
        *to = *from;
    }
    SpanId::from_bytes(id)
}

#[cfg(test)]
mod tests;
