//! Checks once more: those of a run on the tree that it left, or on the tree of a merge.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_store::Run;

use super::Terms;
use super::facts::tree_now;
use super::tidy::{Left, tidy};
use crate::checks::{self, Checked, Place};
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
    /// The run, which is over.
    pub run: &'a Run,
    /// Where its files are; nobody else works there.
    pub ground: &'a Ground,
    /// This program.
    pub program: &'a Path,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// What the checks may write; nothing says that they may write anywhere.
    pub sandbox: Option<&'a Sandbox>,
}

impl Rerun<'_> {
    /// Runs checks of the run, on the tree that it left; all of them where none is named.
    pub fn run(
        &self,
        names: &[String],
        waiting: &mut dyn Waiting,
    ) -> Result<Vec<Checked>, RunError> {
        let mut checks = self.defined()?;
        let known: Vec<String> = checks.iter().map(|check| check.name.clone()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            return Err(RunError::Unknown {
                what: "check",
                name: name.clone(),
                known,
            });
        }
        checks.retain(|check| names.is_empty() || names.contains(&check.name));
        let outcome = self.run.outcome.as_ref();
        let left = outcome.and_then(|outcome| outcome["end_tree"].as_str());
        let tree = self.tree()?;
        if left != Some(tree.as_str()) {
            return Err(RunError::NotNow(format!(
                "the worktree is not as run `{}` left it, so its checks would say nothing about that run",
                self.run.id
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

    /// Returns the checks that were frozen when the run started.
    pub(super) fn defined(&self) -> Result<Vec<CheckSetting>, RunError> {
        let terms = Terms::of(self.run);
        let none = || RunError::Input(format!("run `{}` is not a run of a task", self.run.id));
        terms.map(|terms| terms.checks).ok_or_else(none)
    }

    /// Runs checks on the files as they are; `known` is the tree that they make, if somebody has just looked.
    pub(super) fn check(
        &self,
        checks: &[CheckSetting],
        mut known: Option<String>,
        waiting: &mut dyn Waiting,
    ) -> Result<Vec<Checked>, RunError> {
        let folder = self.ground.hold().scratch()?;
        let run = self.run.id.to_string();
        let place = Place {
            program: self.program,
            ground: self.ground,
            folder: folder.path(),
            run: &run,
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
            let checked = checks::run(check, &place, Some(tree), &mut || waiting.is_stopped())?;
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
                name: &run,
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
