//! The workspace of a task: a worktree and a branch of its own, made, used again and made anew.
//!
//! Whoever prepares, runs, checks or merges a task on this machine holds its lock. Nothing is deleted here that no ref
//! keeps: a directory that is in the way is moved aside.

mod apply;
mod checkout;
mod copy;
mod ground;
mod shown;

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use callsheet::scope::{ScopeGlobs, ScopeSnapshot};

pub use checkout::Checkout;
pub(crate) use ground::os_path;
pub use ground::{Ground, branch_of, result_ref};
pub(crate) use shown::Shown;

use crate::repository::{NewWorktree, RepositoryLock};
use crate::sandbox::git_paths;
use crate::{RunError, WorkspaceSettings};

/// The directory of all worktrees, in the directory of what the program keeps for a project.
const WORKTREES: &str = "worktrees";

/// Where the tasks of a project are worked on.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The main checkout, which is the root of the project.
    pub root: &'a Path,
    /// The directory of what the program keeps for the project.
    pub home: &'a Path,
    /// What the project sets of its worktrees.
    pub settings: &'a WorkspaceSettings,
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
}

/// The workspace of a task, held by this process.
#[derive(Debug)]
pub struct Workspace {
    ground: Ground,
    /// Released when it is dropped, or when the process ends in whatever way.
    _lock: File,
}

impl Workspace {
    /// Takes the lock of a task's workspace; nobody else on this machine may have it.
    pub fn hold(site: &Site<'_>, task: &str) -> Result<Self, RunError> {
        let ground = Ground::of(site.root, site.home, task)?;
        let busy = format!("another process works on task `{task}`");
        Ok(Self {
            ground,
            _lock: lock(site, &format!("task-{task}"), &busy)?,
        })
    }

    /// Takes the lock of the main checkout, for a task that is worked on there.
    pub fn hold_in_place(site: &Site<'_>) -> Result<Self, RunError> {
        Ok(Self {
            ground: Ground::in_place(site.root, site.home)?,
            _lock: lock(
                site,
                "in-place",
                "another process works in the main checkout",
            )?,
        })
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
            crate::merge::heal(&locked, site.home)?;
            ground.heal()?;
            if ground.is_there() {
                shown::bring_back(ground)?;
                ground.reuse(&locked, wanted.base)?;
                ground.catch_up(wanted)?;
            } else {
                self.make(&locked, wanted, &exclude, note)?;
            }
        }
        apply::exclude(ground, &exclude)?;
        let done = site
            .home
            .join(WORKTREES)
            .join(format!("{}.ready", ground.name()));
        let stamp = ground.stamp();
        if std::fs::read_to_string(&done).ok().as_deref() != Some(stamp.as_str()) {
            copy::copy(site, ground, note)?;
            copy::set_up(site, ground)?;
            std::fs::write(&done, stamp).map_err(|cause| {
                RunError::refused("cannot note that the worktree is set up", cause)
            })?;
        }
        apply::read_only(ground, &write)
    }

    fn make(
        &self,
        locked: &RepositoryLock<'_>,
        wanted: &Wanted<'_>,
        exclude: &ScopeGlobs,
        note: &mut dyn FnMut(&str),
    ) -> Result<(), RunError> {
        let ground = &self.ground;
        if let Some(aside) = move_aside(ground.path())? {
            note(&format!(
                "`{}` was not the worktree of the task and is now `{}`",
                ground.path().display(),
                aside.display()
            ));
        }
        // A tag may have the same name.
        let start = format!("refs/heads/{}", wanted.base);
        locked.add_worktree(&NewWorktree {
            path: ground.path(),
            branch: ground.own_branch(),
            start: &start,
            files: false,
        })?;
        ground.fill(wanted.restore, exclude)
    }
}

/// Takes a lock that ends with this process, or says that somebody else has it.
fn lock(site: &Site<'_>, name: &str, busy: &str) -> Result<File, RunError> {
    let folder = site.home.join(WORKTREES);
    let refused = |cause| RunError::refused("cannot lock the workspace", cause);
    std::fs::create_dir_all(&folder).map_err(refused)?;
    let path = folder.join(format!("{name}.lock"));
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::NotNow(busy.to_owned())),
        Err(TryLockError::Error(cause)) => Err(refused(cause)),
    }
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
