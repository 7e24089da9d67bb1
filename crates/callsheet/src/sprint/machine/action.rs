//! What a batch asks to be done.

use super::input::ActionId;
use crate::sprint::{Finding, Phase, Status};

/// Something to do, with the number that its answer has to name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Action {
    /// The number within the batch.
    pub id: ActionId,
    /// The cycle that it is for.
    pub cycle: Option<u32>,
    /// What is to be done.
    pub todo: Todo,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// Look at the context of the project.
    CheckContext,
    /// Copy the context of the project, so that it stays the same for a while.
    FreezeContext,
    /// Choose the next stories, other than those of cycles that run.
    Select {
        /// The stories of cycles that run.
        busy: Vec<String>,
        /// Their epics.
        epics: Vec<String>,
    },
    /// Read what the board says of stories that an earlier batch left.
    Look {
        /// The stories.
        keys: Vec<String>,
    },
    /// Run an agent.
    Agent(AgentOrder),
    /// Change the status of a story on the board, if it still has the one that is expected.
    SetStatus {
        /// The story.
        key: String,
        /// What the board should say.
        from: Status,
        /// What it shall say.
        to: Status,
        /// Whether what the board says does not matter: an agent has changed it, who may not.
        force: bool,
    },
    /// Look at the repository before the commit.
    Baseline,
    /// Look at what the commit phase has done.
    VerifyCommit {
        /// The stories.
        keys: Vec<String>,
        /// The commit before it.
        baseline: Option<String>,
    },
    /// Move the files of finished stories away.
    Archive {
        /// The stories.
        keys: Vec<String>,
    },
    /// Merge the work of a cycle that has a worktree of its own.
    Merge {
        /// The stories.
        keys: Vec<String>,
    },
    /// Wait for an account or a provider.
    Wait {
        /// Until when, in seconds since 1970, where that is known.
        resets_at: Option<i64>,
        /// How often in a row this is waited for, from 1.
        nth: u32,
    },
    /// End another action; this one has no answer of its own.
    Cancel {
        /// The number of the other one.
        action: ActionId,
    },
}

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentOrder {
    /// The phase.
    pub phase: Phase,
    /// The stories.
    pub keys: Vec<String>,
    /// The epic of the first story of the cycle.
    pub epic: String,
    /// Which attempt this is, where the phase counts them.
    pub attempt: u32,
    /// Which model it takes.
    pub model: Model,
    /// Whether nothing waits for it.
    pub background: bool,
    /// What the review before this one found.
    pub findings: Vec<Finding>,
    /// The run before it, where that failed and this is another try.
    pub failed_run: Option<String>,
}

/// Which model an agent takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// The one of its runner.
    Default,
    /// The one of the setting `review_model`.
    Review,
}

impl AgentOrder {
    /// Returns the name under which the phase is logged.
    pub fn task_id(&self) -> String {
        let name = self.phase.as_str();
        if self.background && self.phase != Phase::ProjectContext {
            format!("{name}-chain-{}", self.attempt)
        } else if self.phase == Phase::CodeReview {
            format!("{name}-{}", self.attempt)
        } else {
            name.to_owned()
        }
    }
}
