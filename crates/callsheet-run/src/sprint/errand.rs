//! The worktrees of cycles in the hands of the driver, and what is done there and may take long: commits and merges.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use callsheet::sprint::machine::{Action, Input, Todo};

use super::commit::{self, Expected};
use super::driver::Driver;
use super::files::{Files, Given};
use super::ours::Ours;
use super::spot::Spot;
use crate::RunError;

/// Something to do in a worktree.
pub(super) struct Errand<'a> {
    pub(super) spot: Arc<Spot<'a>>,
    pub(super) action: Action,
    /// What the commits of the cycle may have, beside what the worktree was given.
    pub(super) ours: Option<Ours>,
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
    pub(super) fn run(mut self, stops: &AtomicUsize) -> Result<Input, RunError> {
        match self.done(stops) {
            Err(RunError::Store(error)) => Err(error.into()),
            Err(error) => Ok(Input::Refused {
                action: self.action.id,
                reason: error.to_string(),
            }),
            done => done,
        }
    }

    fn done(&mut self, stops: &AtomicUsize) -> Result<Input, RunError> {
        let (action, spot) = (self.action.id, &self.spot);
        spot.ready()?;
        Ok(match &self.action.todo {
            Todo::VerifyCommit { baseline, .. } => {
                spot.ground().disarm()?;
                let Some(ours) = self.ours.as_mut() else {
                    return Err(RunError::Input("nothing belongs to the stories".to_owned()));
                };
                let given = Given::of(spot.ground()).unwrap_or_default();
                ours.allow(given.paths().cloned());
                let expected = Expected {
                    baseline: baseline.as_deref(),
                    ours,
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

impl<'a> Driver<'a> {
    /// Prepares what is to be done in a worktree.
    pub(super) fn errand(
        &self,
        spot: Arc<Spot<'a>>,
        action: &Action,
    ) -> Result<Errand<'a>, RunError> {
        let ours = match &action.todo {
            Todo::VerifyCommit { keys, .. } => Some(self.ours(keys)?),
            _ => None,
        };
        Ok(Errand {
            spot,
            action: action.clone(),
            ours,
            lost: self.lost(),
        })
    }

    /// Returns the files of the sprint.
    pub(super) fn files(&self) -> Files<'_> {
        Files {
            layout: self.stage.layout,
            board: self.board.path(),
        }
    }

    /// Returns the worktree of a cycle, if it has one of its own; from then on this process has it.
    pub(super) fn spot(&mut self, cycle: Option<u32>) -> Result<Option<Arc<Spot<'a>>>, RunError> {
        let known = cycle.and_then(|number| self.batch.running(number));
        let Some((number, name)) =
            known.and_then(|cycle| Some((cycle.number, cycle.workspace.as_deref()?)))
        else {
            return Ok(None);
        };
        if let Some(spot) = self.spots.get(&number) {
            return Ok(Some(Arc::clone(spot)));
        }
        let base = self.batch.rules().base.as_deref();
        let spot = Arc::new(Spot::take(self.stage, name, base, self.board.path())?);
        self.spots.insert(number, Arc::clone(&spot));
        Ok(Some(spot))
    }

    /// Removes the worktree of a cycle whose work has landed.
    pub(super) fn leave(&mut self, cycle: Option<u32>) -> Result<(), RunError> {
        let Some(spot) = self.spot(cycle)? else {
            return Ok(());
        };
        // The work has landed; whatever keeps the directory from going does not keep the sprint.
        if let Err(error) = spot.clear_away() {
            self.stage.crew.note(&error.to_string());
        }
        if let Some(number) = cycle {
            self.spots.remove(&number);
        }
        Ok(())
    }
}
