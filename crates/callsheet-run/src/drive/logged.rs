//! Log lines that an agent printed, told apart from those that `log-event` has stored already.
//!
//! `log-event` stores its event and prints its line, and the line comes back in the output of a tool. Each event that it
//! stored cancels one line with the same facts; what could not be stored comes through its line alone.

use std::collections::BTreeMap;

use callsheet::Event;
use callsheet_store::{Id, Store, StoreError, Wait};
use serde_json::Value;

use super::ingest::Batch;
use crate::RunError;

/// How many events are read at once.
const PAGE: usize = 500;

/// What of a payload makes two events the same.
const FACTS: [&str; 7] = [
    "epic_id",
    "story_key",
    "command",
    "task_id",
    "status",
    "logged_at",
    "message",
];

/// Which events `log-event` has stored for a run and no line has come for yet.
#[derive(Debug, Default)]
pub(super) struct Logged {
    waiting: BTreeMap<String, usize>,
    /// The number of the last event that was looked at.
    since: i64,
}

impl Logged {
    /// Takes those lines out of a batch that are stored already.
    ///
    /// Where the store does not answer, all of them stay: what is said twice is not lost.
    pub(super) fn once(
        &mut self,
        store: &Store,
        run: Id,
        batch: &mut Batch,
    ) -> Result<(), RunError> {
        if !batch.events.iter().any(|(_, event)| is_log(event)) {
            return Ok(());
        }
        match self.look(store, run) {
            Ok(()) | Err(StoreError::Unavailable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        batch
            .events
            .retain(|(_, event)| !is_log(event) || !self.cancels(event));
        Ok(())
    }

    fn look(&mut self, store: &Store, run: Id) -> Result<(), StoreError> {
        loop {
            let events = store.events_of_run(run, self.since, PAGE).wait()?;
            let Some(last) = events.last() else {
                return Ok(());
            };
            self.since = last.seq;
            for stored in &events {
                // An event that came through its line names the record of it.
                if is_log(&stored.event) && !stored.event.payload.contains_key("record") {
                    *self.waiting.entry(facts(&stored.event)).or_default() += 1;
                }
            }
        }
    }

    fn cancels(&mut self, event: &Event) -> bool {
        match self.waiting.get_mut(&facts(event)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

fn is_log(event: &Event) -> bool {
    event.kind.starts_with("command:")
}

fn facts(event: &Event) -> String {
    let facts = FACTS.map(|name| event.payload.get(name).cloned());
    let facts = facts.map(Option::unwrap_or_default);
    format!("{} {}", event.kind, Value::from(facts.to_vec()))
}
