//! What is done in the worktree of a cycle and may take long: looking at its commits, and merging it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use callsheet::sprint::machine::{Action, Input, Todo};

use super::commit::{self, Expected};
use super::files::Given;
use super::spot::Spot;
use crate::RunError;

/// Something to do in a worktree.
pub(super) struct Errand<'a> {
    pub(super) spot: Arc<Spot<'a>>,
    pub(super) action: Action,
    /// What the commits of the cycle may have, beside what the worktree was given.
    pub(super) paths: BTreeSet<String>,
    /// The ref that keeps a commit which is taken back.
    pub(super) lost: String,
}

impl Errand<'_> {
    /// Tells whether an action is done in the worktree.
    pub(super) fn is(todo: &Todo) -> bool {
        matches!(
            todo,
            Todo::Baseline | Todo::VerifyCommit { .. } | Todo::Merge { .. }
        )
    }

    /// Does it; what cannot be done ends the batch.
    pub(super) fn run(&self, stops: &AtomicUsize) -> Result<Input, RunError> {
        match self.done(stops) {
            Err(RunError::Store(error)) => Err(error.into()),
            Err(error) => Ok(Input::Refused {
                action: self.action.id,
                reason: error.to_string(),
            }),
            done => done,
        }
    }

    fn done(&self, stops: &AtomicUsize) -> Result<Input, RunError> {
        let (action, spot) = (self.action.id, &self.spot);
        spot.ready()?;
        Ok(match &self.action.todo {
            Todo::VerifyCommit { baseline, .. } => {
                spot.ground().disarm()?;
                let mut paths = self.paths.clone();
                let given = Given::of(spot.ground()).unwrap_or_default();
                paths.extend(given.paths().cloned());
                let expected = Expected {
                    baseline: baseline.as_deref(),
                    paths: &paths,
                    lost: &self.lost,
                    home: spot.stage.home,
                };
                let verified = commit::verify(&spot.ground().here(), &expected)?;
                Input::CommitVerified { action, verified }
            }
            Todo::Merge { keys } => {
                let merged = spot.merge(keys, stops)?;
                Input::Merged { action, merged }
            }
            _ => Input::Baseline {
                action,
                head: Some(spot.head()?),
            },
        })
    }
}
