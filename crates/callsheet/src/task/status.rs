//! The status of a task: one row of a table per status, and every reason that keeps the task from being done.

use serde::{Deserialize, Serialize};

use super::checks::{CheckFact, Dod, dod};

/// What a task is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nothing was tried, or nothing that came to an end.
    Open,
    /// A run completed, and its result waits to be merged.
    Ready,
    /// An agent is at work.
    Running,
    /// A task that it depends on is not done.
    Blocked,
    /// A person has to decide something.
    NeedsReview,
    /// The latest attempt is not good enough.
    Failed,
    /// A result is merged, and its required checks passed.
    Done,
    /// Somebody cancelled it.
    Cancelled,
}

impl TaskStatus {
    /// Every status, in the order of the table of words.
    pub const ALL: [Self; 8] = [
        Self::Open,
        Self::Ready,
        Self::Running,
        Self::Blocked,
        Self::NeedsReview,
        Self::Failed,
        Self::Done,
        Self::Cancelled,
    ];

    /// Returns the word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::NeedsReview => "needs_review",
            Self::Failed => "failed",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What keeps a task from being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskReason {
    /// A task that it depends on is not done.
    BlockedByDependencies,
    /// Nobody decided about a violation of its scope.
    ScopeViolationPending,
    /// Somebody rejected a violation of its scope.
    ScopeViolationRejected,
    /// A required check did not run, or there is none.
    DodPending,
    /// A required check failed.
    DodFailed,
    /// A result is not merged.
    MergePending,
    /// The latest run failed.
    RunFailed,
}

impl TaskReason {
    /// Returns the word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BlockedByDependencies => "blocked_by_dependencies",
            Self::ScopeViolationPending => "scope_violation_pending",
            Self::ScopeViolationRejected => "scope_violation_rejected",
            Self::DodPending => "dod_pending",
            Self::DodFailed => "dod_failed",
            Self::MergePending => "merge_pending",
            Self::RunFailed => "run_failed",
        }
    }
}

/// What a person decided about a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nothing, so far.
    #[default]
    Pending,
    /// The change may stay.
    Approved,
    /// It may not.
    Rejected,
}

impl Approval {
    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It did what the rule of its adapter calls a success.
    Completed,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

/// What was observed of a run, as far as it decides about its task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Whether an agent is at work.
    pub running: bool,
    /// How it ended; nothing while it is queued or running.
    pub outcome: Option<RunOutcome>,
    /// Its checks, each as it ended last.
    pub checks: Vec<CheckFact>,
    /// What was decided about each violation that still counts.
    pub violations: Vec<Approval>,
    /// Whether the commit that the agent left checked out is part of the base.
    pub head_merged: bool,
    /// Whether all of what the agent left is part of the base.
    pub result_merged: bool,
}

impl RunFacts {
    fn merged(&self) -> bool {
        self.head_merged || self.result_merged
    }

    fn done(&self) -> bool {
        self.result_merged && dod(&self.checks) == Dod::Passed
    }

    fn completed(&self) -> bool {
        self.outcome == Some(RunOutcome::Completed)
    }

    fn failed(&self) -> bool {
        self.outcome == Some(RunOutcome::Failed)
    }
}

/// What is known of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Whether somebody cancelled it.
    pub cancelled: bool,
    /// Whether a task that it depends on is not done.
    pub blocked: bool,
    /// Its runs, the oldest first.
    pub runs: Vec<RunFacts>,
}

impl TaskFacts {
    /// Returns the latest run that ended by itself: a run that somebody stopped says nothing about the task.
    fn latest(&self) -> Option<&RunFacts> {
        let mut newest_first = self.runs.iter().rev();
        newest_first.find(|run| run.completed() || run.failed())
    }

    fn latest_failed(&self) -> bool {
        self.latest().is_some_and(RunFacts::failed)
    }

    fn any(&self, test: impl Fn(&RunFacts) -> bool) -> bool {
        self.runs.iter().any(test)
    }

    fn newest(&self, test: impl Fn(&RunFacts) -> bool) -> Option<&RunFacts> {
        self.runs.iter().rev().find(|run| test(run))
    }

    fn has_violation(&self, approval: Approval) -> bool {
        self.any(|run| run.violations.contains(&approval))
    }
}

/// A status with the reasons for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// What the task is at.
    pub status: TaskStatus,
    /// What keeps it from being done, in the order of [`TaskReason`], each once.
    pub reasons: Vec<TaskReason>,
}

/// Returns the status of a task and every reason that keeps it from being done.
///
/// The first row that fits wins, from cancelled down to open. A cancelled task has no reasons: nothing is expected of it.
pub fn derive(facts: &TaskFacts) -> Derived {
    let latest_dod = facts.latest().map(|run| dod(&run.checks));
    let status = if facts.cancelled {
        TaskStatus::Cancelled
    } else if facts.blocked {
        TaskStatus::Blocked
    } else if facts.any(|run| run.running) {
        TaskStatus::Running
    } else if facts.has_violation(Approval::Pending) || facts.has_violation(Approval::Rejected) {
        TaskStatus::NeedsReview
    } else if facts.any(RunFacts::done) {
        TaskStatus::Done
    } else if facts.any(RunFacts::merged) {
        TaskStatus::NeedsReview
    } else if latest_dod == Some(Dod::Failed) {
        TaskStatus::Failed
    } else if facts.any(RunFacts::completed) {
        TaskStatus::Ready
    } else if facts.latest_failed() {
        TaskStatus::Failed
    } else {
        TaskStatus::Open
    };
    let reasons = if facts.cancelled {
        Vec::new()
    } else {
        reasons(facts)
    };
    Derived { status, reasons }
}

fn reasons(facts: &TaskFacts) -> Vec<TaskReason> {
    let undone = !facts.any(RunFacts::done);
    let (completed, merged) = (
        facts.newest(RunFacts::completed),
        facts.newest(RunFacts::merged),
    );
    // A run that failed owes no checks, unless somebody merged it all the same.
    let owing = [completed, merged].into_iter().flatten();
    let judged = owing.clone().chain(facts.latest());
    let dod_is = |run: &RunFacts, expected: Dod| dod(&run.checks) == expected;
    let unmerged = owing.clone().any(|run| !run.result_merged);
    let rows = [
        (TaskReason::BlockedByDependencies, facts.blocked),
        (
            TaskReason::ScopeViolationPending,
            facts.has_violation(Approval::Pending),
        ),
        (
            TaskReason::ScopeViolationRejected,
            facts.has_violation(Approval::Rejected),
        ),
        (
            TaskReason::DodPending,
            undone && owing.clone().any(|run| dod_is(run, Dod::Pending)),
        ),
        (
            TaskReason::DodFailed,
            undone && judged.clone().any(|run| dod_is(run, Dod::Failed)),
        ),
        (TaskReason::MergePending, undone && unmerged),
        (TaskReason::RunFailed, facts.latest_failed()),
    ];
    rows.into_iter()
        .filter_map(|(reason, holds)| holds.then_some(reason))
        .collect()
}

#[cfg(test)]
mod tests;
