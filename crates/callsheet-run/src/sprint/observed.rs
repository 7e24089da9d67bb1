//! What was observed of an agent of a sprint: how its run counts, what it said of its phase, what it changed and may not.

use std::collections::BTreeSet;

use callsheet::sprint::machine::{AgentEnded, End, Heard, Spent};
use callsheet::sprint::{Markers, Phase};
use callsheet_store::Run;
use serde_json::Value;

use super::agent::{Assignment, impossible};
use super::commit;
use super::files::Files;
use super::scope::Bounds;
use crate::document::{Status, document};
use crate::repository::Repository;
use crate::{Class, Consequence, RunError, drive};

/// What agents have changed and may not, and where it can be seen as it was.
#[derive(Debug, Default)]
struct Touched {
    paths: BTreeSet<String>,
    /// The commit that was checked out before the first of them.
    head: Option<String>,
}

impl Assignment<'_> {
    /// Returns what was observed of a run that is over.
    pub(super) fn observed(&self, run: &Run) -> Result<AgentEnded, RunError> {
        let end = self.resolved(end_of(run));
        let heard = if end == End::Completed {
            let said = drive::spoken(self.stage.store, run)?;
            Heard::from(&Markers::parse(self.order.phase, &said, &self.order.keys))
        } else {
            Heard::default()
        };
        Ok(AgentEnded {
            run: Some(run.id.to_string()),
            end,
            heard,
            violations: self.violations(run)?,
            spent: spent(run),
        })
    }

    /// Commits a merge that was to be resolved; an agent that has not done so has failed.
    fn resolved(&self, end: End) -> End {
        let Some(spot) = &self.spot else {
            return end;
        };
        if end != End::Completed || self.order.phase != Phase::ResolveConflict {
            return end;
        }
        match spot.end_merge(&self.conflicts, &self.order.keys) {
            Ok(Ok(())) => end,
            Ok(Err(reason)) => End::Failed {
                class: Class::Incomplete.as_str().to_owned(),
                reason,
            },
            Err(error) => impossible(&error),
        }
    }

    /// Returns what was changed and may not be. What an earlier agent did counts until it is as it was before.
    pub(super) fn violations(&self, run: &Run) -> Result<Vec<String>, RunError> {
        let touched = self.touched()?;
        let mut violations = match (self.repository()?, &touched.head) {
            (Some(repository), Some(head)) if !touched.paths.is_empty() => {
                let differing = commit::differing(&repository, head)?;
                touched.paths.intersection(&differing).cloned().collect()
            }
            _ => touched.paths.clone(),
        };
        let mine = self.beyond(run)?.into_iter();
        violations.extend(mine.filter(|path| !touched.paths.contains(path)));
        Ok(violations.into_iter().collect())
    }

    /// Returns what agents before it have changed and may not.
    fn touched(&self) -> Result<Touched, RunError> {
        let mut touched = Touched::default();
        for run in &self.earlier {
            let paths = self.beyond(run)?;
            if !paths.is_empty() && touched.paths.is_empty() {
                touched.head = document(run)["start_head"].as_str().map(str::to_owned);
            }
            touched.paths.extend(paths);
        }
        Ok(touched)
    }

    /// Returns the paths that a run changed beyond what was agreed when it was started, whatever it made of the file of its
    /// story.
    fn beyond(&self, run: &Run) -> Result<Vec<String>, RunError> {
        let request = run.request.as_ref();
        let agreed = request.and_then(|request| request["write_scope"].as_array());
        let agreed = agreed.into_iter().flatten().filter_map(Value::as_str);
        let bounds = Bounds {
            scope: &agreed.map(str::to_owned).collect::<Vec<_>>(),
            excluded: self.excluded.as_ref(),
            files: Files {
                layout: self.stage.layout,
                board: &self.board,
            },
            prefix: &commit::prefix(self.stage.root),
        };
        bounds.beyond(&changed_files(run))
    }

    fn repository(&self) -> Result<Option<Repository>, RunError> {
        match (&self.spot, commit::top(self.stage.root)) {
            (Some(spot), _) => Ok(Some(spot.ground().here())),
            (None, Some(top)) => Repository::open(&top).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Returns the files that an agent has changed.
pub(super) fn changed_files(run: &Run) -> Vec<String> {
    let outcome = run.outcome.as_ref();
    let paths = outcome.and_then(|outcome| outcome["changed_files"].as_array());
    let paths = paths.into_iter().flatten().filter_map(Value::as_str);
    paths.map(str::to_owned).collect()
}

/// Tells how a finished run counts for a sprint.
fn end_of(run: &Run) -> End {
    let known = document(run);
    let word = |field: &str| known[field].as_str().unwrap_or_default().to_owned();
    let class = serde_json::from_value::<Class>(known["class"].clone()).ok();
    let status = serde_json::from_value::<Status>(known["status"].clone()).ok();
    if status == Some(Status::Completed) {
        return End::Completed;
    }
    let class_word = class.map_or("unknown", Class::as_str).to_owned();
    let reason = match word("reason") {
        reason if reason.is_empty() => format!("the agent failed ({class_word})"),
        reason => reason,
    };
    let is_lost = known["settled"] == Value::Bool(true);
    match class.map(Class::consequence) {
        _ if status == Some(Status::Cancelled) => End::Interrupted,
        Some(Consequence::Park) => End::Limited {
            class: class_word,
            resets_at: known["resets_at"].as_i64(),
        },
        Some(Consequence::StopAccount) => End::Impossible { reason },
        Some(Consequence::Pause) if class == Some(Class::Network) => End::Limited {
            class: class_word,
            resets_at: None,
        },
        Some(Consequence::Pause) => End::Impossible { reason },
        // It was cut off with the process that ran it.
        _ if is_lost && class == Some(Class::Incomplete) => End::Interrupted,
        _ => End::Failed {
            class: class_word,
            reason,
        },
    }
}

fn spent(run: &Run) -> Spent {
    let outcome = run.outcome.as_ref();
    let usage = outcome.map(|outcome| &outcome["usage"]);
    let tokens = |field: &str| usage.and_then(|usage| usage[field].as_u64()).unwrap_or(0);
    let wall = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => u64::try_from(end - start).unwrap_or(0),
        _ => 0,
    };
    Spent {
        tokens: tokens("input_tokens") + tokens("output_tokens"),
        cost_usd: usage
            .and_then(|usage| usage["cost_usd"].as_f64())
            .unwrap_or(0.0),
        wall_ms: wall,
    }
}
