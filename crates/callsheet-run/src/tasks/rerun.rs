//! Checks once more: those of a run on the tree that it left, or on the tree of a merge.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_store::Run;

use super::Terms;
use super::facts::tree_now;
use super::tidy::{Left, tidy};
use crate::checks::{self, CheckContext, Checked};
use crate::sandbox::Sandbox;
use crate::workspace::{Ground, Shown};
use crate::{CheckSetting, RunError};

/// What somebody who waits for checks may do.
pub trait Waiting {
    /// Is told what goes on.
    fn say(&mut self, line: &str);

    /// Tells whether the checks have to end.
    fn is_stopped(&mut self) -> bool;
}

/// Where checks are run once more.
#[derive(Clone, Copy, Debug)]
pub struct Rerun<'a> {
    /// The name that marks their processes and keeps what they leave, such as the run whose checks they are.
    pub name: &'a str,
    /// Where the files are; nobody else works there.
    pub ground: &'a Ground,
    /// This program.
    pub program: &'a Path,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// What the checks may write; nothing says that they may write anywhere.
    pub sandbox: Option<&'a Sandbox>,
}

impl Rerun<'_> {
    /// Runs checks of a run that is over, on the tree that it left; all of them where none is named.
    pub fn run(
        &self,
        run: &Run,
        names: &[String],
        waiting: &mut dyn Waiting,
    ) -> Result<Vec<Checked>, RunError> {
        let mut checks = defined(run)?;
        let known: Vec<String> = checks.iter().map(|check| check.name.clone()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            return Err(RunError::Unknown {
                what: "check",
                name: name.clone(),
                known,
            });
        }
        checks.retain(|check| names.is_empty() || names.contains(&check.name));
        let outcome = run.outcome.as_ref();
        let left = outcome.and_then(|outcome| outcome["end_tree"].as_str());
        let tree = self.tree()?;
        if left != Some(tree.as_str()) {
            return Err(RunError::NotNow(format!(
                "the worktree is not as run `{}` left it, so its checks would say nothing about that run",
                run.id
            )));
        }
        // Should this process be killed, what a check has changed by then is taken back.
        let shown = if self.ground.is_main() {
            None
        } else {
            Some(Shown::stay(self.ground, &tree)?)
        };
        let ran = self.check(&checks, Some(tree), waiting)?;
        shown.map_or(Ok(()), Shown::leave)?;
        Ok(ran)
    }

    /// Runs checks on the files as they are; `known` is the tree that they make, if somebody has just looked.
    pub(super) fn check(
        &self,
        checks: &[CheckSetting],
        mut known: Option<String>,
        waiting: &mut dyn Waiting,
    ) -> Result<Vec<Checked>, RunError> {
        let folder = self.ground.hold().scratch()?;
        let context = CheckContext {
            program: self.program,
            ground: self.ground,
            folder: folder.path(),
            run: self.name,
            environment: self.environment,
            sandbox: self.sandbox,
        };
        let mut all: Vec<Checked> = Vec::new();
        for check in checks {
            waiting.say(&format!("check {}", check.name));
            // A check may change files, and the next one runs on what it left.
            let tree = known
                .take()
                .map_or_else(|| tree_now(self.ground, folder.path()), Ok)?;
            let checked = checks::run(check, &context, Some(tree), &mut || waiting.is_stopped())?;
            waiting.say(&format!(
                "check {}: {}",
                check.name,
                checked.status.as_str()
            ));
            all.push(checked);
        }
        if let Some(tree) = all.first().and_then(|first| first.tree.as_deref()) {
            let left = Left {
                tree,
                name: self.name,
                known: None,
            };
            tidy(self.ground, folder.path(), &left)?;
        }
        Ok(all)
    }

    /// Returns the tree that the files make.
    pub(super) fn tree(&self) -> Result<String, RunError> {
        tree_now(self.ground, self.ground.hold().scratch()?.path())
    }
}

/// Returns the checks that were frozen when a run started.
fn defined(run: &Run) -> Result<Vec<CheckSetting>, RunError> {
    let none = || RunError::Input(format!("run `{}` is not a run of a task", run.id));
    Terms::of(run).map(|terms| terms.checks).ok_or_else(none)
}
