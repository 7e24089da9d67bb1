//! The row of a batch: read as a whole, changed as a whole, and covered by one mark.

use super::{Batch, BatchState, BatchStop, parse_status};
use crate::db::{Dialect, Row, Tx, Value};
use crate::{Id, StoreError, mark};

/// The columns of a batch, in the order of the statements below.
#[derive(Clone)]
pub(crate) struct Columns {
    pub(crate) id: String,
    pub(crate) key: i64,
    /// The key of its project.
    pub(crate) project: i64,
    /// The settings as JSON.
    pub(crate) settings: String,
    pub(crate) started_at: i64,
    pub(crate) state: String,
    pub(crate) status: Option<String>,
    pub(crate) worker: String,
    pub(crate) attempt: i64,
    pub(crate) lease_until: Option<i64>,
    pub(crate) ended_at: Option<i64>,
    pub(crate) stop_requested_at: Option<i64>,
    pub(crate) stop_policy: Option<String>,
    pub(crate) entries: i64,
}

/// What [`Columns::read`] reads; whatever else a query asks for comes after these.
pub(crate) const COLUMNS: &str = "b.id, b.key, b.project, b.settings, b.started_at, b.state, b.status, b.worker, b.attempt, \
    b.lease_until, b.ended_at, b.stop_requested_at, b.stop_policy, b.entries";

/// How many columns these are.
pub(crate) const WIDTH: usize = 14;

const INSERT: &str = "insert into batch (id, project, settings, started_at, state, status, worker, attempt, lease_until, \
    ended_at, stop_requested_at, stop_policy, entries, mark) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict (id) do nothing returning key";

const SAVE: &str = "update batch set state = $2, status = $3, worker = $4, attempt = $5, lease_until = $6, ended_at = $7, \
    stop_requested_at = $8, stop_policy = $9, entries = $10, mark = $11 where key = $1";

/// How many of the columns never change, besides the key.
const FIXED: usize = 4;

impl Columns {
    /// Reads the first columns of a row.
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let text = |at| row.text(at).map(str::to_owned);
        let maybe_text = |at| row.maybe(at, Row::text).map(|text| text.map(str::to_owned));
        let maybe_int = |at| row.maybe(at, Row::int);
        Ok(Self {
            id: text(0)?,
            key: row.int(1)?,
            project: row.int(2)?,
            settings: text(3)?,
            started_at: row.int(4)?,
            state: text(5)?,
            status: maybe_text(6)?,
            worker: text(7)?,
            attempt: row.int(8)?,
            lease_until: maybe_int(9)?,
            ended_at: maybe_int(10)?,
            stop_requested_at: maybe_int(11)?,
            stop_policy: maybe_text(12)?,
            entries: row.int(13)?,
        })
    }

    /// Reads a row that nobody else changes until the transaction ends, if there is one; `filter` is about the batch `b`.
    ///
    /// Whoever takes the lock of the project as well has taken it before.
    pub(super) fn lock(
        tx: &mut dyn Tx,
        filter: &str,
        value: Value<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let lock = match tx.dialect() {
            Dialect::Sqlite => "",
            Dialect::Postgres => " for no key update",
        };
        let sql = format!("select {COLUMNS} from batch b where {filter}{lock}");
        tx.first(&sql, &[value])?
            .as_ref()
            .map(Self::read)
            .transpose()
    }

    fn values(&self) -> Vec<Value<'_>> {
        vec![
            (&self.id).into(),
            self.project.into(),
            (&self.settings).into(),
            self.started_at.into(),
            (&self.state).into(),
            self.status.as_ref().into(),
            (&self.worker).into(),
            self.attempt.into(),
            self.lease_until.into(),
            self.ended_at.into(),
            self.stop_requested_at.into(),
            self.stop_policy.as_ref().into(),
            self.entries.into(),
        ]
    }

    /// Returns the mark.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let mut values = self.values();
        values.push(self.key.into());
        mark::of("batch", &values)
    }

    /// Returns the mark that batches had which nobody has changed since: it does not cover the key.
    pub(crate) fn old_mark(&self) -> Vec<u8> {
        mark::of("batch", &self.values())
    }

    /// Adds the row and returns its key; nothing where the id is taken.
    pub(super) fn insert(&self, tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
        let mut values = self.values();
        values.push(self.mark().into());
        let row = tx.first(INSERT, &values)?;
        row.map(|row| row.int(0)).transpose()
    }

    /// Writes what has changed.
    pub(super) fn save(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut values = vec![self.key.into()];
        values.extend(self.values().into_iter().skip(FIXED));
        values.push(self.mark().into());
        tx.execute(SAVE, &values).map(|_| ())
    }

    /// Tells whether it is over.
    pub(super) fn is_ended(&self) -> bool {
        self.state == BatchState::Ended.as_str()
    }

    /// Returns the request to stop it, if there is one.
    pub(super) fn stop(&self) -> Option<BatchStop> {
        let policy = self.stop_policy.clone()?;
        self.stop_requested_at.map(|at| BatchStop { at, policy })
    }

    /// Returns what a user of the store gets, with the name of its project; `row` is where it was read.
    pub(super) fn batch(&self, row: &Row, project: &str) -> Result<Batch, StoreError> {
        let id: Id = self.id.parse()?;
        let settings = serde_json::from_str(&self.settings).map_err(|error| {
            row.damaged(format!(
                "batch `{id}` has settings that are not JSON: {error}"
            ))
        })?;
        let status = self.status.as_deref();
        Ok(Batch {
            id,
            project: project.to_owned(),
            settings,
            started_at: self.started_at,
            state: BatchState::parse(row, &self.state)?,
            status: status.map(|word| parse_status(row, word)).transpose()?,
            worker: self.worker.clone(),
            attempt: self.attempt,
            lease_until: self.lease_until,
            ended_at: self.ended_at,
            stop: self.stop(),
            entries: self.entries,
        })
    }
}
