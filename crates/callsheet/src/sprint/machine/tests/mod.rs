//! The machine, driven by answers that a test chooses.

mod pair;
mod random;
mod side;
mod variants;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::Event;
use crate::sprint::{Finding, Phase, Status};

/// A board and a world that answers every action; a test overrides what it is about.
pub(super) struct World {
    pub(super) board: Vec<(String, Status)>,
    /// What agents come to: by phase, in the order in which they are asked.
    pub(super) agents: BTreeMap<Phase, Vec<AgentEnded>>,
    pub(super) rules: Rules,
    pub(super) context: ContextFound,
    /// What was asked for, one line each.
    pub(super) trace: String,
    pub(super) events: Vec<Event>,
    pub(super) journal: Vec<Input>,
    /// Whether agents in the background answer only when nothing else is left.
    pub(super) late: bool,
}

pub(super) fn said(heard: Heard) -> AgentEnded {
    AgentEnded {
        run: None,
        end: End::Completed,
        heard,
        violations: Vec::new(),
        spent: Spent::default(),
    }
}

pub(super) fn severity(severity: Severity, print: &str) -> AgentEnded {
    said(Heard {
        severity,
        critical: severity == Severity::Critical,
        fingerprint: Some(print.to_owned()),
        findings: vec![Finding {
            severity,
            text: print.to_owned(),
        }],
        ..Heard::default()
    })
}

pub(super) fn failed() -> AgentEnded {
    AgentEnded {
        end: End::Failed {
            class: "incomplete".to_owned(),
            reason: "it crashed".to_owned(),
        },
        run: Some("1m00000000000a".to_owned()),
        ..said(Heard::default())
    }
}

impl World {
    pub(super) fn new(board: &[(&str, Status)]) -> Self {
        Self {
            board: board
                .iter()
                .map(|(key, status)| ((*key).to_owned(), *status))
                .collect(),
            agents: BTreeMap::new(),
            rules: Rules::default(),
            context: ContextFound::Fresh,
            trace: String::new(),
            events: Vec::new(),
            journal: Vec::new(),
            late: true,
        }
    }

    pub(super) fn agent(mut self, phase: Phase, ended: Vec<AgentEnded>) -> Self {
        self.agents.insert(phase, ended);
        self
    }

    /// Runs a batch to its end.
    pub(super) fn run(&mut self) -> Batch {
        self.run_with(|_, _| None)
    }

    /// Runs a batch to its end; `meddle` may answer before the world does.
    pub(super) fn run_with(
        &mut self,
        mut meddle: impl FnMut(&mut Self, &Action) -> Option<Input>,
    ) -> Batch {
        let start = Input::Started {
            batch: "b1".to_owned(),
            rules: self.rules.clone(),
            carried: Vec::new(),
        };
        let mut batch = self.feed(Batch::default(), start);
        while batch.status().is_none() {
            let open: Vec<Action> = batch.open().cloned().collect();
            let is_late =
                |action: &&Action| matches!(&action.todo, Todo::Agent(order) if order.background);
            let first = open.iter().find(|action| !(self.late && is_late(action)));
            let action = first.or(open.first()).expect("something to do").clone();
            let input = match meddle(self, &action) {
                Some(input) => input,
                None => self.answer(&action),
            };
            batch = self.feed(batch, input);
            assert!(self.journal.len() < 1000, "{}", self.trace);
        }
        batch
    }

    pub(super) fn feed(&mut self, batch: Batch, input: Input) -> Batch {
        self.journal.push(input.clone());
        let (batch, step) = batch.step(input).expect("a legal input");
        for action in &step.actions {
            let _ = writeln!(self.trace, "{}", line(action));
        }
        self.events.extend(step.events);
        batch
    }

    pub(super) fn answer(&mut self, action: &Action) -> Input {
        let id = action.id;
        match &action.todo {
            Todo::CheckContext => Input::Context {
                action: id,
                found: self.context,
            },
            Todo::FreezeContext => Input::Frozen {
                action: id,
                source: "project-context.md".to_owned(),
                destination: "sprint-project-context.md".to_owned(),
                failed: None,
            },
            Todo::Select { busy, epics } => self.select(id, busy, epics),
            Todo::Look { keys } => self.look(id, keys),
            Todo::Agent(order) => {
                let left = self.agents.entry(order.phase).or_default();
                let ended = if left.is_empty() {
                    default(order.phase)
                } else {
                    left.remove(0)
                };
                Input::AgentEnded { action: id, ended }
            }
            Todo::SetStatus {
                key,
                from,
                to,
                force,
            } => self.set(id, key, (*from, *to), *force),
            Todo::Baseline => Input::Baseline {
                action: id,
                head: Some("c0".to_owned()),
            },
            Todo::VerifyCommit { .. } => Input::CommitVerified {
                action: id,
                verified: Verified::Good {
                    commit: "c1".to_owned(),
                },
            },
            Todo::Archive { keys } => Input::Archived {
                action: id,
                moved: keys.iter().map(|key| (key.clone(), key.clone())).collect(),
                failed: Vec::new(),
            },
            Todo::Merge { .. } => Input::Merged {
                action: id,
                merged: Merged::Good {
                    commit: "m1".to_owned(),
                },
            },
            Todo::Wait { .. } => Input::Waited { action: id },
            Todo::Cancel { .. } => unreachable!("it is never open"),
        }
    }

    fn set(
        &mut self,
        action: ActionId,
        key: &str,
        (from, to): (Status, Status),
        force: bool,
    ) -> Input {
        let entry = self.board.iter_mut().find(|(known, _)| known == key);
        let (_, status) = entry.expect("a story of the board");
        let old = status.as_str().to_owned();
        let is_set = force || *status == from;
        if is_set {
            *status = to;
        }
        Input::StatusSet {
            action,
            old,
            is_set,
        }
    }

    fn select(&self, action: ActionId, busy: &[String], epics: &[String]) -> Input {
        let is_open = |entry: &&(String, Status)| {
            !matches!(entry.1, Status::Done | Status::Blocked)
                && !busy.contains(&entry.0)
                && !epics.contains(&epic(&entry.0))
        };
        let first = self.board.iter().find(is_open);
        let epic_id = first.map_or_else(String::new, |(key, _)| epic(key));
        let same = self.board.iter().filter(is_open);
        let same = same.filter(|(key, _)| epic(key) == epic_id).take(2);
        Input::Selected {
            action,
            epic: epic_id.clone(),
            stories: same.map(chosen).collect(),
        }
    }

    fn look(&self, action: ActionId, keys: &[String]) -> Input {
        let asked = self.board.iter().filter(|(key, _)| keys.contains(key));
        Input::Selected {
            action,
            epic: String::new(),
            stories: asked.map(chosen).collect(),
        }
    }

    pub(super) fn statuses(&self) -> String {
        let words = self
            .board
            .iter()
            .map(|(key, status)| format!("{key} {}", status.as_str()));
        words.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn kinds(&self, kind: &str) -> Vec<&Event> {
        self.events
            .iter()
            .filter(|event| event.kind == kind)
            .collect()
    }
}

fn chosen((key, status): &(String, Status)) -> Chosen {
    Chosen {
        key: key.clone(),
        status: *status,
        spec: Spec::Undecided,
    }
}

fn epic(key: &str) -> String {
    key.split('-').next().unwrap_or_default().to_owned()
}

fn default(phase: Phase) -> AgentEnded {
    match phase {
        Phase::CodeReview => severity(Severity::Zero, "none"),
        _ => said(Heard::default()),
    }
}

/// Writes an action as one line.
pub(super) fn line(action: &Action) -> String {
    let id = action.id;
    match &action.todo {
        Todo::Agent(order) => {
            let model = if order.model == Model::Review {
                " review-model"
            } else {
                ""
            };
            let back = if order.background { " background" } else { "" };
            let again = if order.failed_run.is_some() {
                " again"
            } else {
                ""
            };
            format!(
                "{id} {} [{}] {}{model}{back}{again}",
                order.phase.command(),
                order.keys.join(","),
                order.attempt
            )
        }
        Todo::SetStatus { key, from, to, .. } => {
            format!("{id} set {key} {} -> {}", from.as_str(), to.as_str())
        }
        Todo::Select { .. } => format!("{id} select"),
        Todo::Archive { keys } => format!("{id} archive [{}]", keys.join(",")),
        Todo::VerifyCommit { keys, .. } => format!("{id} verify commit [{}]", keys.join(",")),
        Todo::Wait { resets_at, nth } => format!("{id} wait {resets_at:?} {nth}"),
        Todo::Cancel { action } => format!("{id} cancel {action}"),
        Todo::Look { keys } => format!("{id} look [{}]", keys.join(",")),
        Todo::Merge { keys } => format!("{id} merge [{}]", keys.join(",")),
        Todo::CheckContext => format!("{id} check context"),
        Todo::FreezeContext => format!("{id} freeze context"),
        Todo::Baseline => format!("{id} baseline"),
    }
}
