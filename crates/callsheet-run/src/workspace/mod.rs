//! The workspace of a task: a worktree and a branch of its own, made, used again and made anew.
//!
//! Whoever prepares, runs, checks or merges a task on this machine holds its lock. Nothing is deleted here that no ref
//! keeps: a directory that is in the way is moved aside.

mod apply;
mod checkout;
mod copy;
mod ground;
mod hold;
mod shown;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callsheet::scope::{ScopeGlobs, ScopeSnapshot};

pub use checkout::Checkout;
pub use ground::{Ground, branch_of, cycle_branch, result_ref};
pub(crate) use ground::{checks_ref, os_path};
pub(crate) use shown::Shown;

use crate::repository::{NewWorktree, RepositoryLock};
use crate::sandbox::{Sandbox, git_paths};
use crate::{RunError, WorkspaceSettings, merge};

/// The directory of all worktrees, in the directory of what the program keeps for a project.
const WORKTREES: &str = "worktrees";

/// What ends the name of the note that a worktree is set up.
const READY: &str = "ready";

/// What ends the name of the note of what a sprint gave a worktree.
pub(crate) const GIVEN: &str = "given";

/// What ends the name of the note that a worktree is being made.
const MAKING: &str = "making";

/// Where the tasks of a project are worked on.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The main checkout, which is the root of the project.
    pub root: &'a Path,
    /// The directory of what the program keeps for the project.
    pub home: &'a Path,
    /// What the project sets of its worktrees.
    pub settings: &'a WorkspaceSettings,
    /// This program.
    pub program: &'a Path,
    /// The environment of this process.
    pub environment: &'a BTreeMap<String, String>,
}

/// What a worktree has to be like.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The branch that a new one starts from.
    pub base: &'a str,
    /// What may be written, and what may not be there.
    pub scope: &'a ScopeSnapshot,
    /// The commit with the files of the run before, for a worktree that has to be made anew, or that an older run left.
    pub restore: Option<&'a str>,
    /// The runs of the task; what one of them left is kept, and may give way to what a newer one left.
    pub runs: &'a [String],
    /// What the set-up command may write where an agent has left files: one of them may be a script that it starts.
    pub sandbox: Option<&'a Sandbox>,
}

/// The workspace of a task, held by this process and by what it starts there.
#[derive(Debug)]
pub struct Workspace {
    ground: Ground,
}

impl Workspace {
    /// Takes the workspace of a task; nobody else on this machine may have it. `root` is the main checkout.
    ///
    /// What a killed process has started there is waited for.
    pub fn hold(root: &Path, home: &Path, task: &str) -> Result<Self, RunError> {
        let ground = Ground::of(root, home, task)?;
        Ok(Self { ground })
    }

    /// Takes the workspace of a cycle of a sprint, by the same rules.
    pub fn hold_cycle(root: &Path, home: &Path, cycle: &str) -> Result<Self, RunError> {
        let ground = Ground::of_cycle(root, home, cycle)?;
        Ok(Self { ground })
    }

    /// Takes the main checkout, for a task that is worked on there.
    pub fn hold_in_place(root: &Path, home: &Path) -> Result<Self, RunError> {
        let ground = Ground::in_place(root, home)?;
        Ok(Self { ground })
    }

    /// Tells whether this is where a task is worked on.
    pub(crate) fn is_of(&self, task: &str, is_in_place: bool) -> bool {
        let name = if is_in_place {
            ground::IN_PLACE.to_owned()
        } else {
            format!("task-{task}")
        };
        self.ground.name() == name
    }

    /// Returns where the files are.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Returns what an agent may write beside its own directory: what is given, and what git needs to commit there.
    pub fn writable(&self, mut given: Vec<PathBuf>) -> Vec<PathBuf> {
        let ground = &self.ground;
        let common = ground.repository().common_dir();
        given.extend(git_paths(common, ground.admin(), ground.own_branch()));
        given
    }

    /// Makes the worktree ready for an agent: there, on its branch, without what the scope excludes, and with
    /// everything read-only that may not be written.
    pub fn ready(
        &self,
        site: &Site<'_>,
        wanted: &Wanted<'_>,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), RunError> {
        let repository = self.ground.repository();
        let exclude =
            ScopeGlobs::new("exclude", &wanted.scope.exclude).map_err(|error| bad_scope(&error))?;
        let write =
            ScopeGlobs::new("write", &wanted.scope.write).map_err(|error| bad_scope(&error))?;
        let ground = &self.ground;
        {
            let locked = repository.lock(site.home)?;
            merge::heal(&locked, site.home)?;
            ground.heal()?;
        }
        if ground.is_there() && !self.is_half_made() {
            shown::bring_back(ground)?;
            ground.reuse(&repository.lock(site.home)?, wanted.base)?;
            ground.catch_up(wanted)?;
            apply::exclude(ground, &exclude)?;
        } else {
            let locked = repository.lock(site.home)?;
            self.make(&locked, wanted, &exclude, note)?;
        }
        if !ground.note(READY).exists() {
            copy::copy(site, ground, note)?;
            let is_touched = wanted.restore.is_some();
            copy::set_up(site, ground, wanted.sandbox.filter(|_| is_touched))?;
            callsheet_store::write_private(&ground.note(READY), "").map_err(|cause| {
                RunError::refused("cannot note that the worktree is set up", cause)
            })?;
        }
        apply::read_only(ground, &write)
    }

    /// Tells whether somebody was killed before all files of a new worktree were there; nobody has worked in it.
    fn is_half_made(&self) -> bool {
        self.ground.note(MAKING).exists()
    }

    fn make(
        &self,
        locked: &RepositoryLock<'_>,
        wanted: &Wanted<'_>,
        exclude: &ScopeGlobs,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), RunError> {
        let ground = &self.ground;
        let making = ground.note(MAKING);
        let refused = |cause| RunError::refused("cannot note that a worktree is made", cause);
        callsheet_store::write_private(&making, "").map_err(refused)?;
        ground.forget()?;
        if !ground.is_there() {
            clear(ground, note)?;
            let start = ground.start(wanted)?;
            locked.add_worktree(&NewWorktree {
                path: ground.path(),
                branch: ground.own_branch(),
                start: &start,
                files: false,
            })?;
        }
        ground.fill(wanted.restore, exclude)?;
        std::fs::remove_file(&making).map_err(refused)
    }
}

/// Makes way for a new worktree. What is there is moved aside, unless it is all that a killed git came to.
fn clear(ground: &Ground, note: &mut dyn FnMut(&str)) -> Result<(), RunError> {
    let path = ground.path();
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    if path.is_dir() && !path.is_symlink() && names.all(|name| name == ".git") {
        let file = path.join(".git");
        if !file.is_dir() {
            let _ = std::fs::remove_file(file);
            let _ = std::fs::remove_dir(path);
        }
    }
    if let Some(aside) = move_aside(path)? {
        note(&format!(
            "`{}` was not the worktree of the task and is now `{}`",
            path.display(),
            aside.display()
        ));
    }
    Ok(())
}

fn bad_scope(error: &callsheet::Error) -> RunError {
    RunError::Input(error.to_string())
}

/// Renames what is at a path, if anything is there, to a name that is free.
fn move_aside(path: &Path) -> Result<Option<PathBuf>, RunError> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let refused =
        |cause| RunError::refused(format!("cannot move `{}` aside", path.display()), cause);
    for number in 1_u32.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".aside-{number}"));
        let aside = PathBuf::from(name);
        if aside.symlink_metadata().is_err() {
            std::fs::rename(path, &aside).map_err(refused)?;
            return Ok(Some(aside));
        }
    }
    Ok(None)
}
