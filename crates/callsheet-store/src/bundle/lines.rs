//! The lines of a run in a bundle: read one by one, checked, counted and handed on, never kept.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};

use super::LinesDigest;
use super::document::{EventLine, LONGEST_LINE, RunDocument, read_record};
use super::export::Measure;
use crate::annotation::ANNOTATED;
use crate::log::{StoredRecord, Stream};
use crate::{Id, StoreError};

/// Why a bundle is not read.
pub(super) enum BundleError {
    /// Something is wrong with the bundle.
    Bundle(String),
    /// Whoever got its contents could not take them.
    Store(StoreError),
}

impl From<String> for BundleError {
    fn from(why: String) -> Self {
        Self::Bundle(why)
    }
}

/// Gets what the runs of a bundle hold, in its order.
pub(super) trait Visitor {
    /// Gets an event of a run.
    fn event(&mut self, run: Id, event: &EventLine<'_>) -> Result<(), StoreError>;

    /// Gets a record of the log of a run.
    fn record(&mut self, run: Id, record: StoredRecord) -> Result<(), StoreError>;
}

/// Takes nothing, for who only wants proof.
pub(super) struct Discard;

impl Visitor for Discard {
    fn event(&mut self, _: Id, _: &EventLine<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn record(&mut self, _: Id, _: StoredRecord) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Counts the events that tell of an annotation, and hands everything on.
pub(super) struct Counting<'v> {
    inner: &'v mut dyn Visitor,
    annotated: BTreeMap<Id, usize>,
}

impl<'v> Counting<'v> {
    pub(super) fn new(inner: &'v mut dyn Visitor) -> Self {
        Self {
            inner,
            annotated: BTreeMap::new(),
        }
    }

    /// Says what is wrong with a run whose annotations are not those that its events tell of.
    pub(super) fn check(&self, run: &RunDocument) -> Result<(), String> {
        let (annotations, events) = (
            run.annotations.len(),
            self.annotated.get(&run.id).copied().unwrap_or(0),
        );
        if annotations == events {
            return Ok(());
        }
        let id = run.id;
        Err(format!(
            "run {id}: it has {annotations} annotations, and {events} events that tell of one"
        ))
    }
}

impl Visitor for Counting<'_> {
    fn event(&mut self, run: Id, event: &EventLine<'_>) -> Result<(), StoreError> {
        if event.kind == ANNOTATED {
            *self.annotated.entry(run).or_default() += 1;
        }
        self.inner.event(run, event)
    }

    fn record(&mut self, run: Id, record: StoredRecord) -> Result<(), StoreError> {
        self.inner.record(run, record)
    }
}

/// A file of a bundle that is read line by line.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// The events of a run.
    Events,
    /// Its log.
    Log,
}

/// Returns the run and the kind of a file that is read line by line.
pub(super) fn of_path(path: &str) -> Option<(Id, Kind)> {
    let (folder, name) = path.rsplit_once('/')?;
    let run = folder.strip_prefix("runs/")?.parse().ok()?;
    match name {
        "events.ndjson" => Some((run, Kind::Events)),
        "log.ndjson" => Some((run, Kind::Log)),
        _ => None,
    }
}

/// Reads all lines of a file.
pub(super) fn read(
    path: &str,
    (run, kind): (Id, Kind),
    entry: impl Read,
    visit: &mut dyn Visitor,
) -> Result<LinesDigest, BundleError> {
    let mut reader = BufReader::with_capacity(64 << 10, entry);
    let mut measure = Measure::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LONGEST_LINE as u64 + 1;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
        let number = measure.lines() + 1;
        let wrong = |why: &str| format!("`{path}`, line {number}: {why}");
        read.map_err(|error| wrong(&error.to_string()))?;
        if line.is_empty() {
            return Ok(measure.finish());
        }
        if line.last() != Some(&b'\n') || line.len() > LONGEST_LINE {
            let why = if line.len() > LONGEST_LINE {
                "it is too long"
            } else {
                "it has no end"
            };
            return Err(wrong(why).into());
        }
        measure.add(&line);
        match kind {
            Kind::Events => {
                let event = EventLine::read(&line).map_err(|why| wrong(&why))?;
                visit.event(run, &event).map_err(BundleError::Store)?;
            }
            Kind::Log => {
                let record = read_record(&line).map_err(|why| wrong(&why))?;
                if u64::try_from(record.seq) != Ok(number) {
                    let found = record.seq;
                    return Err(wrong(&format!("expected record {number}, found {found}")).into());
                }
                if number == 1 && record.stream != Stream::Meta {
                    return Err(wrong("a log begins with its prompt, as `meta`").into());
                }
                visit.record(run, record).map_err(BundleError::Store)?;
            }
        }
        // One huge line must not keep its memory for all that follow.
        line.shrink_to(1 << 20);
    }
}
