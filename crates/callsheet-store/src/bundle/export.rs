//! Exporting runs into a bundle: finished runs with their events and logs, a few megabytes at a time.

use std::borrow::Cow;

use callsheet::Fingerprint;
use serde_json::value::RawValue;

use super::document::{EventLine, RunDocument, raw, record_text};
use super::redact::Cleaner;
use super::run_context::{AnnotationDocument, TaskDocument};
use super::{BundledRun, IMPORTED, LinesDigest};
use crate::db::{Row, Tx, Value};
use crate::log::{self, LARGEST_RECORD, StoredRecord, Stream};
use crate::project::Project;
use crate::run::RunKind;
use crate::wait::Wait;
use crate::{Id, Store, StoreError};

/// How many bytes of a log or of events are read at once, if a single one has not more.
const PAGE: i64 = 4 << 20;

const DOCUMENT: &str = "select r.key, r.id, s.id, r.kind, a.id, r.request, r.worker, r.attempt, r.queued_at, \
    r.started_at, r.stop_requested_at, r.finished_at, r.outcome, r.records, r.state, r.prompt, \
    t.id, t.title, t.body, t.created_at \
    from run r join prompt s on s.key = r.prompt left join run a on a.key = r.parent \
    left join task t on t.key = r.task \
    where r.id = $1 and r.project = $2";

const EVENT_COUNT: &str = "select count(*) from event where run = $1 and kind <> $2";

const RECORD_SIZES: &str =
    "select seq, bytes from log where run = $1 and seq > $2 order by seq limit 1024";

const RECORDS: &str = "select seq, at, stream, bytes, packed from log where run = $1 and seq > $2 and seq <= $3 order by seq";

const EVENT_SIZES: &str = "select seq, cast(length(payload) as bigint) from event \
    where run = $1 and seq > $2 order by seq limit 1024";

const EVENTS: &str = "select seq, at, kind, payload from event where run = $1 and seq > $2 and seq <= $3 order by seq";

/// A run that a bundle takes, and where it is.
#[derive(Clone, Debug)]
pub(super) struct ExportedRun {
    pub(super) key: i64,
    /// The key of its prompt.
    pub(super) prompt: i64,
    pub(super) document: RunDocument,
    /// How many events it has; those that come later are not in the bundle.
    events: u64,
}

/// Finds a finished run.
pub(super) fn find(
    tx: &mut dyn Tx,
    project: &Project,
    id: Id,
) -> Result<Option<ExportedRun>, StoreError> {
    let Some(row) = tx.first(DOCUMENT, &[id.as_str().into(), project.key.into()])? else {
        return Ok(None);
    };
    if row.text(14)? != "finished" {
        let why = format!("run `{id}` has not finished, so it cannot go into a bundle");
        return Err(StoreError::refused(why));
    }
    let key = row.int(0)?;
    let document = RunDocument {
        id: row.text(1)?.parse()?,
        prompt: row.text(2)?.parse()?,
        kind: RunKind::parse(&row, 3)?,
        parent: row.maybe(4, Row::text)?.map(str::parse).transpose()?,
        request: row.maybe(5, Row::text)?.map(raw).transpose()?,
        worker: row.text(6)?.to_owned(),
        attempt: row.int(7)?,
        queued_at: row.int(8)?,
        started_at: row.int(9)?,
        stop_requested_at: row.maybe(10, Row::int)?,
        finished_at: row.int(11)?,
        outcome: raw(row.text(12)?)?,
        records: row.int(13)?,
        task: TaskDocument::of_row(&row, 16)?,
        annotations: AnnotationDocument::of_run(tx, key)?,
    };
    // An annotation is an event, too: both are counted at the same time.
    let events = tx.first(EVENT_COUNT, &[key.into(), IMPORTED.into()])?;
    let events = events.map_or(Ok(0), |row| row.int(0))?;
    Ok(Some(ExportedRun {
        key,
        prompt: row.int(15)?,
        document,
        events: u64::try_from(events).unwrap_or(0),
    }))
}

/// Reads a store again and again: each time in a transaction of its own, or all within one.
pub(super) trait StoreAccess {
    /// Reads once.
    fn transaction<T: Send + 'static>(
        &mut self,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>;
}

impl StoreAccess for &Store {
    fn transaction<T: Send + 'static>(
        &mut self,
        work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read(work).wait()
    }
}

/// Reads within one transaction.
pub(super) struct WithinTx<'t>(pub(super) &'t mut dyn Tx);

impl StoreAccess for WithinTx<'_> {
    fn transaction<T: Send + 'static>(
        &mut self,
        mut work: impl FnMut(&mut dyn Tx) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        work(self.0)
    }
}

/// Hands out the lines of a log, one after the other.
pub(super) fn log_lines(
    store: &mut impl StoreAccess,
    key: i64,
    mut cleaner: Cleaner,
    take: &mut dyn FnMut(&str) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut last = 0;
    let mut give = |record: &StoredRecord| {
        if record.data.len() > LARGEST_RECORD {
            let why = format!("record {} is too large without its secrets", record.seq);
            return Err(StoreError::refused(why));
        }
        let text = record_text(record).map_err(StoreError::refused)?;
        take(&text)
    };
    loop {
        let records = store.transaction(move |tx| records(tx, key, last))?;
        let Some(end) = records.last() else {
            break;
        };
        last = end.seq;
        for record in records {
            give(&cleaner.clean(record))?;
        }
    }
    cleaner.finish().iter().try_for_each(give)
}

fn records(tx: &mut dyn Tx, key: i64, after: i64) -> Result<Vec<StoredRecord>, StoreError> {
    let Some(until) = page(tx, RECORD_SIZES, key, after)? else {
        return Ok(Vec::new());
    };
    let rows = tx.query(RECORDS, &[key.into(), after.into(), until.into()])?;
    let record = |row: &Row| {
        Ok(StoredRecord {
            seq: row.int(0)?,
            at: row.int(1)?,
            stream: Stream::parse(row, 2)?,
            data: log::data(row, 3)?,
        })
    };
    rows.iter().map(record).collect()
}

/// An event as its row has it.
struct EventText {
    seq: i64,
    at: i64,
    kind: String,
    payload: String,
}

/// Hands out the lines of the first `most` events of a run, one after the other.
pub(super) fn event_lines(
    store: &mut impl StoreAccess,
    key: i64,
    cleaner: &Cleaner,
    most: u64,
    take: &mut dyn FnMut(&str) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (mut last, mut count) = (0, 0);
    loop {
        let events = store.transaction(move |tx| events(tx, key, last))?;
        let Some(end) = events.last() else {
            return Ok(());
        };
        last = end.seq;
        // That it was imported is a fact of this store, not of the run.
        for event in events.iter().filter(|event| event.kind != IMPORTED) {
            if count == most {
                return Ok(());
            }
            count += 1;
            let payload = cleaner.clean_json(&event.payload)?;
            let line = EventLine {
                at: event.at,
                kind: Cow::Borrowed(&event.kind),
                payload: Cow::<RawValue>::Owned(payload),
            };
            take(&line.text().map_err(StoreError::refused)?)?;
        }
    }
}

fn events(tx: &mut dyn Tx, key: i64, after: i64) -> Result<Vec<EventText>, StoreError> {
    let Some(until) = page(tx, EVENT_SIZES, key, after)? else {
        return Ok(Vec::new());
    };
    let rows = tx.query(EVENTS, &[key.into(), after.into(), until.into()])?;
    let event = |row: &Row| {
        Ok(EventText {
            seq: row.int(0)?,
            at: row.int(1)?,
            kind: row.text(2)?.to_owned(),
            payload: row.text(3)?.to_owned(),
        })
    };
    rows.iter().map(event).collect()
}

/// Returns the number up to which rows are read at once.
fn page(tx: &mut dyn Tx, sizes: &str, key: i64, after: i64) -> Result<Option<i64>, StoreError> {
    let values: [Value<'_>; 2] = [key.into(), after.into()];
    let (mut sum, mut until) = (0_i64, None);
    for row in tx.query(sizes, &values)? {
        sum = sum.saturating_add(row.int(1)?);
        if sum > PAGE && until.is_some() {
            break;
        }
        until = Some(row.int(0)?);
    }
    Ok(until)
}

/// Counts lines and hashes them.
#[derive(Default)]
pub(super) struct Measure {
    hasher: blake3::Hasher,
    lines: u64,
    bytes: u64,
}

impl Measure {
    pub(super) fn add(&mut self, line: &[u8]) {
        self.hasher.update(line);
        self.lines += 1;
        self.bytes += line.len() as u64;
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn finish(&self) -> LinesDigest {
        LinesDigest {
            fingerprint: Fingerprint::from_bytes(*self.hasher.finalize().as_bytes()),
            lines: self.lines,
            bytes: self.bytes,
        }
    }
}

/// Measures what a run said and what happened to it.
pub(super) fn measured(
    store: &mut impl StoreAccess,
    run: ExportedRun,
    cleaner: &Cleaner,
) -> Result<BundledRun, StoreError> {
    let (mut log, mut events) = (Measure::default(), Measure::default());
    let mut document = run.document;
    log_lines(store, run.key, cleaner.clone(), &mut |line| {
        log.add(line.as_bytes());
        Ok(())
    })?;
    event_lines(store, run.key, cleaner, run.events, &mut |line| {
        events.add(line.as_bytes());
        Ok(())
    })?;
    let clean = |text: &RawValue| cleaner.clean_json(text.get());
    document.request = document.request.as_deref().map(clean).transpose()?;
    document.outcome = clean(&document.outcome)?;
    document.worker = cleaner.clean_text(&document.worker);
    let task = document.task.as_ref().map(|task| task.clean(cleaner));
    document.task = task.transpose()?;
    let annotations = document.annotations.iter().map(|it| it.clean(cleaner));
    document.annotations = annotations.collect::<Result<_, _>>()?;
    document.records = i64::try_from(log.lines()).unwrap_or(i64::MAX);
    Ok(BundledRun {
        run: document,
        log: log.finish(),
        events: events.finish(),
    })
}
