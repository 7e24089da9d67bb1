//! The checks of a run once more: the definitions that were frozen, on the tree that the run left.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_store::Run;

use super::{Terms, facts::tree_now};
use crate::RunError;
use crate::checks::{self, Checked, Place};
use crate::sandbox::Sandbox;
use crate::workspace::Ground;

/// Checks to run again.
#[derive(Clone, Copy, Debug)]
pub struct Rerun<'a> {
    /// The run, which is over.
    pub run: &'a Run,
    /// Where its files are; nobody else works there.
    pub ground: &'a Ground,
    /// Which checks; all of them where none is named.
    pub names: &'a [String],
    /// This program.
    pub program: &'a Path,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
    /// What the checks may write; nothing says that they may write anywhere.
    pub sandbox: Option<&'a Sandbox>,
}

impl Rerun<'_> {
    /// Runs them and returns how they ended; `say` is told what goes on, and `stopped` tells whether to end.
    pub fn run(
        &self,
        say: &mut dyn FnMut(&str),
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Checked>, RunError> {
        let id = self.run.id;
        let none = || RunError::Input(format!("run `{id}` has no checks"));
        let terms = Terms::of(self.run).ok_or_else(none)?;
        let known: Vec<String> = terms
            .checks
            .iter()
            .map(|check| check.name.clone())
            .collect();
        if let Some(name) = self.names.iter().find(|name| !known.contains(name)) {
            return Err(RunError::Unknown {
                what: "check",
                name: name.clone(),
                known,
            });
        }
        let folder = tempfile::tempdir()
            .map_err(|cause| RunError::refused("cannot make a temporary directory", cause))?;
        self.is_as_left(folder.path())?;
        let run = id.to_string();
        let place = Place {
            program: self.program,
            cwd: self.ground.path(),
            folder: folder.path(),
            run: &run,
            environment: self.environment,
            sandbox: self.sandbox,
        };
        let wanted = |name: &String| self.names.is_empty() || self.names.contains(name);
        let mut all = Vec::new();
        for check in terms.checks.iter().filter(|check| wanted(&check.name)) {
            say(&format!("check {}", check.name));
            let tree = tree_now(self.ground, folder.path())?;
            let checked = checks::run(check, &place, Some(tree), stopped)?;
            say(&format!(
                "check {}: {}",
                check.name,
                checked.status.as_str()
            ));
            all.push(checked);
        }
        Ok(all)
    }

    /// Refuses files that are not those that the run left: what a check says of them says nothing of the run.
    fn is_as_left(&self, folder: &Path) -> Result<(), RunError> {
        let id = self.run.id;
        let outcome = self.run.outcome.as_ref();
        let left = outcome.and_then(|outcome| outcome["end_tree"].as_str());
        let now = tree_now(self.ground, folder)?;
        if left == Some(now.as_str()) {
            return Ok(());
        }
        Err(RunError::NotNow(format!(
            "the worktree is not as run `{id}` left it, so its checks would say nothing about that run"
        )))
    }
}
