//! The terms of a task's run: what was agreed when it was queued, and judges it at the end, whatever settings say by then.

use callsheet::scope::ScopeSnapshot;
use callsheet::task::{Clash, clash};
use callsheet_store::Run;
use serde::{Deserialize, Serialize};

use crate::CheckSetting;

/// What a run of a task was agreed to be. It is part of the request of the run, and never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// What the task is called.
    pub title: String,
    /// The branch that the work is for.
    pub base: String,
    /// Whether the agent works in the main checkout instead of a worktree of its own.
    pub in_place: bool,
    /// What may be written, and what may not be touched.
    pub scope: ScopeSnapshot,
    /// The checks that are run when the agent has ended.
    pub checks: Vec<CheckSetting>,
    /// The profile of the agent, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Running tasks whose write scope this one meets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meets: Vec<Meeting>,
}

/// A running task whose write scope meets that of the one that starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meeting {
    /// The other task.
    pub task: String,
    /// The conflict score, from 0 to 1.
    pub score: f64,
}

impl Terms {
    /// Returns the terms of a run; a run without a task has none.
    pub fn of(run: &Run) -> Option<Self> {
        run.task?;
        let request = run.request.clone()?;
        serde_json::from_value(request).ok()
    }
}

/// Returns the running tasks whose write scope meets another one, with the score of each.
pub fn meetings(
    write: &[String],
    task: &str,
    running: &[Run],
) -> Result<Vec<Meeting>, callsheet::Error> {
    let mut found = Vec::new();
    for run in running {
        let Some(terms) = Terms::of(run) else {
            continue;
        };
        let other = run.task.map(|id| id.to_string()).unwrap_or_default();
        let score = callsheet::scope::conflict_score(write, &terms.scope.write)?;
        if other != task && score > 0.0 {
            found.push(Meeting { task: other, score });
        }
    }
    Ok(found)
}

/// Tells whether a task may run beside those that are running.
pub(crate) fn beside(
    task: &str,
    write: &[String],
    threshold: f64,
    running: &[Run],
) -> Result<(), String> {
    let meets = meetings(write, task, running).map_err(|error| error.to_string())?;
    let worst = meets.iter().max_by(|a, b| a.score.total_cmp(&b.score));
    match worst {
        Some(worst) if clash(worst.score, threshold) == Clash::Blocked => Err(format!(
            "task `{task}` would write what task `{}` is writing (conflict score {:.2}, at most {threshold:.2})",
            worst.task, worst.score
        )),
        _ => Ok(()),
    }
}
