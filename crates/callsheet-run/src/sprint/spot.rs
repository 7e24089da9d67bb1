//! The worktree of a cycle: taken, made ready once, and removed when its work has landed.
//!
//! Nothing is removed that only the worktree has.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callsheet::scope::{ScopeSnapshot, ScopeSources};
use callsheet::sprint::machine::Rules;

use super::driver::Stage;
use super::files::{self, Files};
use crate::RunError;
use crate::git::unless_failed;
use crate::repository::Repository;
use crate::workspace::{Ground, Site, Wanted, Workspace, checks_ref};

/// The worktree of a cycle, held by this process.
pub(super) struct Spot<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) workspace: Workspace,
    /// The branch that it starts from and is merged into.
    pub(super) base: String,
    /// The path of the board.
    board: String,
    is_ready: Mutex<bool>,
}

impl<'a> Spot<'a> {
    /// Takes the worktree of that name; nobody else on this machine may have it.
    pub(super) fn take(
        stage: &'a Stage<'a>,
        name: &str,
        base: Option<&str>,
        board: &str,
    ) -> Result<Self, RunError> {
        let workspace = Workspace::hold_cycle(stage.root, stage.home, name)?;
        let base = match base {
            Some(base) => base.to_owned(),
            None => branch(workspace.ground().repository())?,
        };
        Ok(Self {
            stage,
            workspace,
            base,
            board: board.to_owned(),
            is_ready: Mutex::new(false),
        })
    }

    pub(super) fn ground(&self) -> &Ground {
        self.workspace.ground()
    }

    /// Returns the files of the sprint.
    pub(super) fn files(&self) -> Files<'_> {
        Files {
            layout: self.stage.layout,
            board: &self.board,
        }
    }

    /// Makes the worktree ready, where this process has not done so yet.
    pub(super) fn ready(&self) -> Result<(), RunError> {
        let mut is_ready = self.is_ready.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_ready {
            return Ok(());
        }
        let stage = self.stage;
        let scope = ScopeSnapshot::new(ScopeSources {
            project: stage.exclude.to_vec(),
            task: vec!["**".to_owned()],
            ..ScopeSources::default()
        });
        let scope = scope.map_err(|error| RunError::Input(error.to_string()))?;
        let site = Site {
            root: stage.root,
            home: stage.home,
            settings: stage.workspace,
            program: stage.program,
            environment: stage.environment,
        };
        let wanted = Wanted {
            base: &self.base,
            scope: &scope,
            restore: None,
            runs: &[],
            sandbox: None,
        };
        let mut note = |line: &str| stage.crew.note(line);
        self.workspace.ready(&site, &wanted, &mut note)?;
        files::give(stage.root, self.ground(), self.files())?;
        *is_ready = true;
        Ok(())
    }

    /// Returns where the base is.
    pub(super) fn base_tip(&self) -> Result<String, RunError> {
        let base = &self.base;
        let tip = self
            .ground()
            .repository()
            .rev(&format!("refs/heads/{base}"))?;
        tip.ok_or_else(|| RunError::NotNow(format!("there is no branch `{base}` any more")))
    }

    /// Tells whether one commit has another one.
    pub(super) fn is_within(&self, commit: &str, other: &str) -> Result<bool, RunError> {
        let args = ["merge-base", "--is-ancestor", commit, other];
        Ok(unless_failed(self.ground().repository().run(&args))?.is_some())
    }

    /// Removes the worktree and its branch, if the base and the main checkout have all that is there.
    pub(super) fn clear_away(&self) -> Result<(), RunError> {
        let ground = self.ground();
        let tip = ground.repository().rev(&ground.own_ref())?;
        if let Some(tip) = &tip
            && !self.is_within(tip, &self.base_tip()?)?
        {
            return Ok(());
        }
        if ground.is_there() {
            ground.disarm()?;
            if let Some(path) = self.left()?.first() {
                let at = ground.path().display();
                let note =
                    format!("`{at}` stays: it has changes that are not merged, as in `{path}`");
                self.stage.crew.note(&note);
                return Ok(());
            }
        }
        let locked = ground.repository().lock(self.stage.home)?;
        if ground.repository().worktree(ground.path())?.is_some() {
            locked.remove_worktree(ground.path())?;
        }
        if let Some(tip) = &tip {
            locked.delete_ref(&ground.own_ref(), tip)?;
        }
        // Beside what is merged, they have files of the sprint alone.
        for name in [self.kept_ref(), checks_ref(ground.name())] {
            if let Some(kept) = ground.repository().rev(&name)? {
                locked.delete_ref(&name, &kept)?;
            }
        }
        ground.forget()
    }

    /// Returns the ref that keeps what was not committed.
    pub(super) fn kept_ref(&self) -> String {
        format!("refs/callsheet/sprints/{}", self.ground().name())
    }

    /// Returns the paths of the worktree that differ from its commit and are not files of the sprint.
    fn left(&self) -> Result<Vec<String>, RunError> {
        let changed = uncommitted(&self.ground().here(), "all")?;
        let mut changed = changed.into_iter();
        let other = changed.find(|path| !self.files().has(path));
        Ok(other.into_iter().collect())
    }
}

/// Returns the paths that differ from what is committed; `untracked` is how git shows those that it does not know.
pub(super) fn uncommitted(
    repository: &Repository,
    untracked: &str,
) -> Result<Vec<String>, RunError> {
    let untracked = format!("--untracked-files={untracked}");
    let args = [
        // A git in a repository that an agent made inside of this one would do as that repository says.
        "-c",
        "diff.ignoreSubmodules=dirty",
        "status",
        "--porcelain=v1",
        "--no-renames",
        &untracked,
        "-z",
    ];
    let said = repository.run(&args)?;
    let entries = said
        .split(|byte| *byte == 0)
        .filter(|entry| entry.len() > 3);
    Ok(entries
        .map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned())
        .collect())
}

/// Returns the branch that is checked out.
fn branch(repository: &Repository) -> Result<String, RunError> {
    let none = "no branch is checked out, so there is nothing that cycles could be merged into";
    let branch = repository.current_branch()?;
    branch.ok_or_else(|| RunError::NotNow(none.to_owned()))
}

/// Agrees on the base of a batch whose cycles have worktrees of their own, or says why there cannot be any.
pub(super) fn agree(root: &Path, files: Files<'_>, rules: &mut Rules) -> Result<(), RunError> {
    let needs = format!("`--parallel {}` needs a git repository", rules.parallel);
    let repository = Repository::open(root).map_err(|error| match error {
        RunError::Input(why) => RunError::NotNow(format!("{needs}: {why}")),
        error => error,
    })?;
    if repository.rev("HEAD")?.is_none() {
        return Err(RunError::NotNow(format!("{needs} with a commit")));
    }
    let base = branch(&repository)?;
    let mut changed = uncommitted(&repository, "no")?;
    changed.retain(|path| !files.has(path));
    if !changed.is_empty() {
        let named: Vec<&str> = changed.iter().map(String::as_str).collect();
        let named = super::commit::named(&named);
        let why = format!(
            "{named} in the main checkout differs from the last commit; commit or stash that first"
        );
        return Err(RunError::NotNow(why));
    }
    rules.base = Some(base);
    Ok(())
}
