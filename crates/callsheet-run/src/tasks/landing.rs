//! The merge of a task, or of a cycle of a sprint: mechanical, with checks on the merged tree before the base moves.

use std::path::Path;

use callsheet::task::CheckStatus;

use super::rerun::{Rerun, Waiting};
use crate::checks::Checked;
use crate::merge::{self, Merged, Order};
use crate::workspace::Shown;
use crate::{CheckSetting, RunError};

/// A result that is to be merged into its base.
#[derive(Clone, Copy, Debug)]
pub struct Landing<'a> {
    /// Where checks are run.
    pub rerun: Rerun<'a>,
    /// The checks.
    pub checks: &'a [CheckSetting],
    /// The directory of what the program keeps for the project.
    pub home: &'a Path,
    /// The branch that gets the result.
    pub base: &'a str,
    /// The commit to merge.
    pub result: &'a str,
    /// A commit, kept on a ref, with the files that belong to the worktree; often the commit to merge.
    pub own: &'a str,
    /// The message of the merge.
    pub message: &'a str,
}

impl Landing<'_> {
    /// Merges the result, if the checks pass on the merged tree; returns how they ended, too.
    ///
    /// The worktree shows the merged files while the checks run, and its own again afterwards.
    pub fn merge(&self, waiting: &mut dyn Waiting) -> Result<(Merged, Vec<Checked>), RunError> {
        let ground = self.rerun.ground;
        let scratch = ground.hold().scratch()?;
        let order = Order {
            home: self.home,
            scratch: scratch.path(),
            base: self.base,
            result: self.result,
            branch: ground.own_branch(),
            message: self.message,
        };
        let mut checked = Vec::new();
        let merged = merge::merge(ground.repository(), &order, |commit| {
            if self.checks.is_empty() {
                return Ok(Ok(()));
            }
            checked = self.check(commit, waiting)?;
            Ok(verdict(&checked))
        })?;
        Ok((merged, checked))
    }

    /// Runs the checks on the files of the merge.
    fn check(&self, commit: &str, waiting: &mut dyn Waiting) -> Result<Vec<Checked>, RunError> {
        let ground = self.rerun.ground;
        let tree = self.rerun.tree()?;
        // Where the base has not moved since, the merge has the files that the run left.
        let tree_of = |commit: &str| ground.rev(&format!("{commit}^{{tree}}"));
        let is_same = tree_of(commit)?.as_ref() == Some(&tree);
        let is_own = tree_of(self.own)?.as_ref() == Some(&tree);
        if !is_same && !is_own && !ground.is_kept(&tree)? {
            // Showing other files would overwrite them.
            return Err(RunError::NotNow(format!(
                "`{}` has changes that run `{}` did not make",
                ground.path().display(),
                self.rerun.name
            )));
        }
        let shown = if is_same {
            Shown::stay(ground, self.own)?
        } else {
            Shown::show(ground, commit, self.own)?
        };
        let known = is_same.then(|| tree.clone());
        let ran = self.rerun.check(self.checks, known, waiting);
        if is_same && self.rerun.tree()? == tree {
            shown.leave()?;
        } else {
            shown.back()?;
        }
        ran
    }
}

/// Tells which required checks did not pass.
fn verdict(checked: &[Checked]) -> Result<(), String> {
    let bad = |one: &&Checked| one.required && one.status != CheckStatus::Passed;
    let names: Vec<String> = checked
        .iter()
        .filter(bad)
        .map(|one| format!("`{}`", one.name))
        .collect();
    match names.len() {
        0 => Ok(()),
        1 => Err(format!(
            "check {} did not pass on the merged tree",
            names[0]
        )),
        _ => Err(format!(
            "checks {} did not pass on the merged tree",
            names.join(", ")
        )),
    }
}
