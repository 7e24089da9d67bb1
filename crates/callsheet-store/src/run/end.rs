//! How a run ended, as its finish mark covers it.

use crate::db::Value;
use crate::mark;

/// The columns that a run has for good once it is over.
pub(crate) struct End<'e> {
    pub(crate) key: i64,
    pub(crate) worker: &'e str,
    pub(crate) attempt: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) finished_at: i64,
    /// The outcome as JSON.
    pub(crate) outcome: &'e str,
    pub(crate) records: i64,
    pub(crate) stop_requested_at: Option<i64>,
    pub(crate) imported_at: Option<i64>,
}

impl End<'_> {
    /// Returns the mark. The times of stopping and importing are part of it where there are any.
    pub(crate) fn mark(&self) -> Vec<u8> {
        let mut values: Vec<Value<'_>> = vec![
            self.key.into(),
            self.worker.into(),
            self.attempt.into(),
            self.started_at.into(),
            self.finished_at.into(),
            self.outcome.into(),
            self.records.into(),
        ];
        if self.imported_at.is_some() || self.stop_requested_at.is_some() {
            values.push(self.stop_requested_at.into());
        }
        values.extend(self.imported_at.map(Value::from));
        mark::of("finish", &values)
    }
}
