//! Batches: one sprint run of a project each, with a journal of what happened in it.
//!
//! A project has at most one batch that has not ended. Only the holder of a batch may write to it, and the number of the
//! attempt is a fencing token, as for runs. What the entries of a journal mean is not known here.

mod columns;
mod hold;
mod journal;
mod list;
mod start;

use serde::Serialize;
use serde_json::Value as Json;

use crate::db::Row;
use crate::event::NewEvent;
use crate::project::Project;
use crate::{Id, StoreError};

pub use callsheet::sprint::machine::BatchStatus;
pub(crate) use columns::{COLUMNS, Columns, WIDTH};
pub(crate) use hold::{action, key};
pub(crate) use journal::mark_of as mark_of_entry;
pub use journal::{JournalEntry, Progress, Recorded};
pub use list::{BatchPage, Batches};

/// Where a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BatchState {
    /// It has not ended, whether or not anybody holds it.
    Running,
    /// It is over.
    Ended,
}

impl BatchState {
    /// Returns the word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
        }
    }

    fn parse(row: &Row, word: &str) -> Result<Self, StoreError> {
        let known = [Self::Running, Self::Ended];
        let found = known.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| row.damaged(format!("`{word}` is not a state of a batch")))
    }
}

fn parse_status(row: &Row, word: &str) -> Result<BatchStatus, StoreError> {
    let found = BatchStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == word);
    found.ok_or_else(|| row.damaged(format!("`{word}` is not a status of a batch")))
}

/// A request to stop a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchStop {
    /// When somebody asked first, in milliseconds since 1970.
    pub at: i64,
    /// How it should stop, as whoever asked last has said.
    pub policy: String,
}

/// A batch as it is stored. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Batch {
    /// The name of the batch.
    pub id: Id,
    /// The project that it belongs to.
    pub project: String,
    /// What was agreed when it started.
    pub settings: Json,
    /// When it started.
    pub started_at: i64,
    /// Where it stands.
    pub state: BatchState,
    /// How it ended.
    pub status: Option<BatchStatus>,
    /// Who has claimed it last.
    pub worker: String,
    /// How often it was claimed.
    pub attempt: i64,
    /// Until when it is the worker's alone; none where it has ended or was released.
    pub lease_until: Option<i64>,
    /// When it was over.
    pub ended_at: Option<i64>,
    /// Whether somebody asked for it to stop.
    pub stop: Option<BatchStop>,
    /// How many entries its journal has.
    pub entries: i64,
}

/// A batch in the hands of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchClaim {
    /// The batch as it was when it was claimed.
    pub batch: Batch,
    /// The worker that holds it.
    pub worker: String,
    /// The attempt, which no other claim of the batch has.
    pub attempt: i64,
    pub(crate) key: i64,
    pub(crate) project: Project,
}

impl BatchClaim {
    /// Makes the error of a write that comes too late.
    fn lost(&self) -> StoreError {
        let (batch, worker, attempt) = (self.batch.id, &self.worker, self.attempt);
        StoreError::refused(format!(
            "batch `{batch}` is no longer held by `{worker}`: its attempt {attempt} is over"
        ))
    }
}

/// Makes an event about a batch.
fn batch_event(batch: Id, kind: &str, facts: Vec<(&'static str, Json)>, said: String) -> NewEvent {
    let id = [("batch_id", batch.to_string().into())];
    callsheet::Event::new(kind, id.into_iter().chain(facts), said).into()
}
