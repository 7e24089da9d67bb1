//! What a supervisor put on record, as facts of a run and as events of the store.

use callsheet::Event;
use callsheet_store::Claim;
use serde_json::{Value, json};

use crate::launch::{Entry, Step};
use crate::sandbox::Sandbox;

/// What the supervisor put on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) not_spawned: Option<String>,
    /// What the agent may write, where it is in the sandbox.
    pub(super) sandbox: Option<Sandbox>,
    pub(super) exited: Option<Exited>,
    pub(super) orphaned: bool,
    pub(super) leftovers: Vec<String>,
    pub(super) done: bool,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exited {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) read: Option<u64>,
}

impl Steps {
    /// Notes an entry of the journal.
    pub(super) fn note(&mut self, entry: &Entry) {
        match &entry.step {
            Step::NotSpawned { why, .. } => self.not_spawned = Some(why.clone()),
            Step::Sandboxed { write, .. } => {
                let write = write.clone();
                self.sandbox = Some(Sandbox { write });
            }
            Step::Exited { code, signal, read } => {
                self.exited = Some(Exited {
                    code: *code,
                    signal: *signal,
                    read: *read,
                });
            }
            Step::Signalled { why, .. } if why == "orphaned" => self.orphaned = true,
            Step::Leftovers { names } => self.leftovers.extend(names.iter().cloned()),
            Step::Done => self.done = true,
            Step::Supervising { .. } | Step::Spawned { .. } | Step::Signalled { .. } => {}
        }
    }
}

/// Returns what the supervisor did, as an event.
pub(super) fn step_event(claim: &Claim, entry: &Entry) -> Event {
    let facts = match serde_json::to_value(entry) {
        Ok(Value::Object(facts)) => facts,
        _ => serde_json::Map::new(),
    };
    let said = match &entry.step {
        Step::Supervising { .. } => "a supervisor is up".to_owned(),
        Step::Sandboxed { abi, write } => {
            format!("{} paths can be written, by Landlock {abi}", write.len())
        }
        Step::Spawned { process } => format!("the agent is process {}", process.pid),
        Step::NotSpawned { why, .. } => format!("the agent cannot be started: {why}"),
        Step::Signalled {
            signal,
            processes,
            why,
        } => format!("{signal} was sent to {processes} processes ({why})"),
        Step::Exited {
            code: Some(code), ..
        } => format!("the agent exited with {code}"),
        Step::Exited { signal, .. } => {
            format!(
                "the agent was ended by signal {}",
                signal.unwrap_or_default()
            )
        }
        Step::Leftovers { names } => format!("{} processes were left over", names.len()),
        Step::Done => "no process is left".to_owned(),
    };
    let mut facts = facts;
    facts.insert("run".to_owned(), json!(claim.run.id));
    Event::new("run:process", facts, said)
}
