//! Journals of batches: what happened, numbered from 1 without a gap, together with the events that tell of it.
//!
//! Entries and events are stored in one transaction, and only by whoever holds the batch and knows its last entry.

use serde::Serialize;
use serde_json::Value as Json;

use super::columns::Columns;
use super::{BatchClaim, BatchState, BatchStatus, BatchStop, hold};
use crate::db::{Row, Tx, Value, groups};
use crate::event::{self, NewEvent};
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, mark};

/// How many rows are inserted by one statement.
const CHUNK: usize = 100;

const INSERT: &str = "insert into journal (batch, seq, at, entry, mark) values ";

const SINCE: &str = "select seq, at, entry from journal where batch = $1 and seq > $2 order by seq";

/// What is added to a batch at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// The entries of the journal, in their order.
    pub entries: Vec<Json>,
    /// The events that tell of them, in their order.
    pub events: Vec<NewEvent>,
}

/// What was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The number of the last entry of the journal.
    pub seq: i64,
    /// The numbers of the events.
    pub events: Vec<i64>,
    /// The request to stop the batch, if there is one.
    pub stop: Option<BatchStop>,
}

/// An entry of the journal of a batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JournalEntry {
    /// The number within its batch, from 1 and without a gap.
    pub seq: i64,
    /// When it was stored, in milliseconds since 1970.
    pub at: i64,
    /// What happened.
    pub entry: Json,
}

impl Store {
    /// Returns the entries of a journal with a number above `seq`, the oldest first.
    pub async fn journal(
        &self,
        project: &Project,
        batch: Id,
        seq: i64,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let project = project.key;
        self.read(move |tx| {
            let key = hold::key(tx, project, batch)?;
            let rows = tx.query(SINCE, &[key.into(), seq.into()])?;
            rows.iter().map(entry).collect()
        })
        .await
    }

    /// Stores what happened in a batch: all of the entries and events, or nothing.
    ///
    /// `after` is the number of the last entry that the holder knows. Where the journal has another last entry, or the
    /// claim is lost, that is an error.
    pub async fn record(
        &self,
        claim: &BatchClaim,
        after: i64,
        progress: Progress,
    ) -> Result<Recorded, StoreError> {
        let claim = claim.clone();
        self.write(move |tx| record(tx, &claim, after, (&progress, None)))
            .await
    }

    /// Ends a batch for good, together with the last of what happened in it; the same holds as for [`Store::record`].
    pub async fn end_batch(
        &self,
        claim: &BatchClaim,
        after: i64,
        status: BatchStatus,
        progress: Progress,
    ) -> Result<Recorded, StoreError> {
        let claim = claim.clone();
        self.write(move |tx| record(tx, &claim, after, (&progress, Some(status))))
            .await
    }
}

fn record(
    tx: &mut dyn Tx,
    claim: &BatchClaim,
    after: i64,
    (progress, end): (&Progress, Option<BatchStatus>),
) -> Result<Recorded, StoreError> {
    project::lock(tx, claim.project.key)?;
    let mut columns = hold::held(tx, claim)?;
    if columns.entries != after {
        let (id, last) = (&columns.id, columns.entries);
        let why = format!("the last journal entry of batch `{id}` is {last} and not {after}");
        return Err(StoreError::refused(why));
    }
    let events = add(tx, &claim.project, &mut columns, progress)?;
    if let Some(status) = end {
        BatchState::Ended.as_str().clone_into(&mut columns.state);
        columns.status = Some(status.as_str().to_owned());
        columns.ended_at = Some(tx.now()?);
        columns.lease_until = None;
    }
    columns.save(tx)?;
    Ok(Recorded {
        seq: columns.entries,
        events,
        stop: columns.stop(),
    })
}

/// Adds entries and events to a batch, whose row is then to be saved; returns the numbers of the events.
///
/// Whoever calls holds the lock of the project.
pub(super) fn add(
    tx: &mut dyn Tx,
    project: &Project,
    columns: &mut Columns,
    progress: &Progress,
) -> Result<Vec<i64>, StoreError> {
    let at = tx.now()?;
    let texts: Vec<String> = progress.entries.iter().map(Json::to_string).collect();
    for texts in texts.chunks(CHUNK) {
        let mut values = Vec::with_capacity(texts.len() * 5);
        for text in texts {
            columns.entries += 1;
            let row: [Value<'_>; 4] = [
                columns.key.into(),
                columns.entries.into(),
                at.into(),
                text.into(),
            ];
            let mark = mark_of(&row);
            values.extend(row);
            values.push(mark.into());
        }
        tx.execute(&format!("{INSERT}{}", groups(texts.len(), 5)), &values)?;
    }
    event::append(tx, project, &progress.events)
}

/// Returns the mark of an entry: of its batch, its number, its time and its text.
pub(crate) fn mark_of(row: &[Value<'_>]) -> Vec<u8> {
    mark::of("journal", row)
}

/// Reads a row.
fn entry(row: &Row) -> Result<JournalEntry, StoreError> {
    let seq = row.int(0)?;
    let entry = serde_json::from_str(row.text(2)?)
        .map_err(|error| row.damaged(format!("journal entry {seq} is not JSON: {error}")))?;
    Ok(JournalEntry {
        seq,
        at: row.int(1)?,
        entry,
    })
}
