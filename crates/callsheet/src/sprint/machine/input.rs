//! What can happen to a batch. The journal of a batch is the list of these, in their order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cycle::Cycle;
use super::rules::{Rules, StopPolicy};
use crate::sprint::markers::{Finding, Markers, Severity, TechSpec};
use crate::sprint::{Phase, Status};

/// The number of an action within its batch.
pub type ActionId = u64;

/// Something that happened. Everything but the start and a stop is the answer to one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// The batch begins.
    Started {
        /// The id of the batch.
        batch: String,
        /// What holds for it.
        rules: Rules,
        /// Cycles that an earlier batch left unfinished.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carried: Vec<Cycle>,
    },
    /// Somebody asked the batch to stop.
    Stopped {
        /// Whether running agents may end.
        policy: StopPolicy,
    },
    /// The context of the project was looked at.
    Context {
        /// The action.
        action: ActionId,
        /// What was found.
        found: ContextFound,
    },
    /// The context of the project was copied, or could not be.
    Frozen {
        /// The action.
        action: ActionId,
        /// From where.
        source: String,
        /// To where.
        destination: String,
        /// Why it could not be copied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Stories were chosen; an empty list says that nothing is left to run.
    Selected {
        /// The action.
        action: ActionId,
        /// The epic of the first story.
        epic: String,
        /// The stories, in the order of the board's rule.
        stories: Vec<Chosen>,
    },
    /// An agent ended, or could not be started.
    AgentEnded {
        /// The action.
        action: ActionId,
        /// What was observed.
        ended: AgentEnded,
    },
    /// The board was to be changed.
    StatusSet {
        /// The action.
        action: ActionId,
        /// The word that stood there.
        old: String,
        /// Whether the board now has the new status; if not, the old word is not the one that was expected.
        is_set: bool,
    },
    /// The repository was looked at before the commit.
    Baseline {
        /// The action.
        action: ActionId,
        /// The commit that is checked out; nothing in a repository without commits.
        head: Option<String>,
    },
    /// The commit was looked at.
    CommitVerified {
        /// The action.
        action: ActionId,
        /// What was found.
        verified: Verified,
    },
    /// Files of finished stories were moved.
    Archived {
        /// The action.
        action: ActionId,
        /// The files that were moved: from and to.
        moved: Vec<(String, String)>,
        /// The files that could not be moved, and why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<(String, String)>,
    },
    /// The work of a cycle was to be merged.
    Merged {
        /// The action.
        action: ActionId,
        /// How it went.
        merged: Merged,
    },
    /// Waiting is over.
    Waited {
        /// The action.
        action: ActionId,
    },
    /// An action other than an agent could not be done at all.
    Refused {
        /// The action.
        action: ActionId,
        /// Why, as a sentence.
        reason: String,
    },
}

impl Input {
    /// Returns the action that it answers.
    pub fn action(&self) -> Option<ActionId> {
        match self {
            Self::Started { .. } | Self::Stopped { .. } => None,
            Self::Context { action, .. }
            | Self::Frozen { action, .. }
            | Self::Selected { action, .. }
            | Self::AgentEnded { action, .. }
            | Self::StatusSet { action, .. }
            | Self::Baseline { action, .. }
            | Self::CommitVerified { action, .. }
            | Self::Archived { action, .. }
            | Self::Merged { action, .. }
            | Self::Waited { action }
            | Self::Refused { action, .. } => Some(*action),
        }
    }
}

/// The state of the context of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextFound {
    /// There is none.
    Missing,
    /// It is older than allowed.
    Expired,
    /// It may be used as it is.
    Fresh,
}

/// A story that was chosen for a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its key.
    pub key: String,
    /// What the board says.
    pub status: Status,
    /// What is known of its tech spec.
    pub spec: Spec,
}

/// What is known of the tech spec of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spec {
    /// Nobody has decided yet; where a story is ready for development, that means one is required.
    Undecided,
    /// It needs none.
    Skip,
    /// It needs one.
    Required,
    /// It is written, and waits for its review.
    Written,
    /// It is there.
    Ready,
}

/// What was observed of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEnded {
    /// The run, where one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How it ended.
    pub end: End,
    /// The markers in its own text.
    #[serde(default)]
    pub heard: Heard,
    /// Paths that it was not to touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// What it cost.
    #[serde(default)]
    pub spent: Spent,
}

impl AgentEnded {
    /// Makes the end of an agent that was never started, or whose run says nothing.
    pub fn without_run(end: End) -> Self {
        Self {
            run: None,
            end,
            heard: Heard::default(),
            violations: Vec::new(),
            spent: Spent::default(),
        }
    }

    /// Makes the end of an agent that a stop has kept from starting.
    pub fn interrupted() -> Self {
        Self::without_run(End::Interrupted)
    }
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// By the rule of its adapter, it succeeded.
    Completed,
    /// It failed, and the attempt counts.
    Failed {
        /// The class of the failure.
        class: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// Its account or its provider has to be waited for; the attempt does not count.
    Limited {
        /// The class of the failure.
        class: String,
        /// When the limit ends, in seconds since 1970, where that was told.
        resets_at: Option<i64>,
    },
    /// It was cut off by a stop or by the end of callsheet; the attempt does not count.
    Interrupted,
    /// It cannot be started on this machine; the attempt does not count, and another one would not help.
    Impossible {
        /// Why, as a sentence.
        reason: String,
    },
}

/// The markers in an agent's own text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heard {
    /// The worst severity that it named.
    pub severity: Severity,
    /// Whether it found critical issues.
    pub critical: bool,
    /// Whether a story needs a tech spec.
    pub tech_spec: BTreeMap<String, bool>,
    /// Whether it says that the story is implemented.
    pub complete: Option<bool>,
    /// Whether it says that a person is needed.
    pub blocked: bool,
    /// What the findings come to, so that the same findings are recognised.
    pub fingerprint: Option<String>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl From<&Markers> for Heard {
    fn from(markers: &Markers) -> Self {
        let decisions = markers.tech_spec.iter();
        Self {
            severity: markers.severity,
            critical: markers.critical,
            tech_spec: decisions
                .map(|(key, decision)| (key.clone(), *decision == TechSpec::Required))
                .collect(),
            complete: markers.complete,
            blocked: markers.blocked,
            fingerprint: markers.fingerprint.as_ref().map(ToString::to_string),
            findings: markers.findings.clone(),
        }
    }
}

/// What agents cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens in and out.
    pub tokens: u64,
    /// Money, in US dollars.
    pub cost_usd: f64,
    /// Time, in milliseconds.
    pub wall_ms: u64,
}

impl Spent {
    /// Adds what something else cost.
    pub(super) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_usd += other.cost_usd;
        self.wall_ms = self.wall_ms.saturating_add(other.wall_ms);
    }
}

/// What the repository shows after the commit phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verified", rename_all = "snake_case")]
pub enum Verified {
    /// The commits have what they should.
    Good {
        /// The newest of them.
        commit: String,
    },
    /// There was nothing that could be committed.
    Nothing,
    /// They have not.
    Bad {
        /// Why, as a sentence.
        problem: String,
    },
}

/// How the merge of a cycle went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "merged", rename_all = "snake_case")]
pub enum Merged {
    /// The work is on the base.
    Good {
        /// The commit.
        commit: String,
    },
    /// The base has all of it already.
    Nothing,
    /// Somebody stopped it; nothing has changed.
    Interrupted,
    /// Others changed the same lines.
    Conflict {
        /// The paths.
        paths: Vec<String>,
    },
    /// The checks failed on the merged tree.
    ChecksFailed {
        /// Their names.
        checks: Vec<String>,
    },
}

/// What an agent was asked to do, as reports show it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PhaseRecord {
    /// The number of its cycle; nothing for the context of the project.
    pub cycle: Option<u32>,
    /// The phase.
    pub phase: Phase,
    /// The stories.
    pub keys: Vec<String>,
    /// The attempt.
    pub attempt: u32,
    /// Whether it ran in the background.
    pub background: bool,
    /// What was observed.
    pub ended: AgentEnded,
}
