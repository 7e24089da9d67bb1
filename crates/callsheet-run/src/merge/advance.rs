//! Moving a branch from one commit to another, with the files and the index of the worktree that it is checked out in.
//!
//! `git merge --ff-only` does this too, but a git that is killed inside of it leaves files of the new commit beside the old
//! branch, and a lock that nobody can tell from that of a living git. Here the order of steps is such that the branch is the
//! point of no return, and every state on the way can be finished or taken back:
//!
//! 1. a note in the home of the project says what will move; then git's lock on the index, with a text of ours in it
//! 2. git checks that nothing is in the way, then writes the files, and the new index beside the old one
//! 3. the branch moves, if it is still where it was
//! 4. the new index takes the place of the old one; the lock and the note go
//!
//! [`heal`] finds the note: before 3 the files go back, after it the index follows. If the lock is gone, somebody has taken
//! care of the worktree by hand, and it is left alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::difference::{Difference, between};
use super::journal::{IndexLock, Note, remove};
use super::obstacle::{Apart, Checkout, checkout, in_files};
use super::restore::restore;
use crate::RunError;
use crate::repository::{FILES, QUICK, Repository, RepositoryLock, Worktree};

/// How long a lock on a ref may be that of a living git.
const REF_LOCK: Duration = Duration::from_secs(2);

/// How long another git may hold an index: editors look at it now and then.
const INDEX_LOCK: Duration = Duration::from_secs(2);

/// How often such a lock is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A branch that is to move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// The branch, without `refs/heads/`.
    pub(crate) branch: &'a str,
    /// Where it is.
    pub(crate) old: &'a str,
    /// Where it goes.
    pub(crate) new: &'a str,
    /// What its log says about it.
    pub(crate) reason: &'a str,
}

/// How a move ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advanced {
    /// The branch is at the new commit, and so is its worktree.
    Done,
    /// The branch was not where it was said to be; nothing has changed.
    Elsewhere,
    /// Something is in the way; nothing has changed.
    Blocked(String),
}

/// Returns what would be in the way of a move, without changing anything but what is in the directory `scratch`.
pub(super) fn obstacle(
    repository: &Repository,
    step: &Step<'_>,
    scratch: &Path,
) -> Result<Option<String>, RunError> {
    match checkout(repository, step.branch)? {
        Checkout::Nowhere => Ok(None),
        Checkout::Blocked(why) => Ok(Some(why)),
        Checkout::At(worktree) => {
            let apart = Apart {
                repository,
                worktree: &worktree,
                index: scratch.join("index"),
            };
            let differences = between(repository, step.old, step.new)?;
            in_files(&apart, (step.old, step.new), &differences)
        }
    }
}

/// Moves a branch.
pub(crate) fn advance(
    lock: &RepositoryLock<'_>,
    home: &Path,
    step: &Step<'_>,
) -> Result<Advanced, RunError> {
    heal(lock, home)?;
    if lock.rev(&format!("refs/heads/{}", step.branch))?.as_deref() != Some(step.old) {
        return Ok(Advanced::Elsewhere);
    }
    let worktree = match checkout(lock, step.branch)? {
        Checkout::Nowhere => None,
        Checkout::At(worktree) => Some(worktree),
        Checkout::Blocked(why) => return Ok(Advanced::Blocked(why)),
    };
    let note = Note {
        branch: step.branch.to_owned(),
        old: step.old.to_owned(),
        new: step.new.to_owned(),
        worktree,
    };
    note.write(home)?;
    let moved = Move { lock, note: &note }.run(step.reason);
    // What failed on the way is finished or taken back at once; if that fails too, by whoever comes next.
    match &moved {
        Ok(_) => Note::remove(home)?,
        Err(_) => heal(lock, home)?,
    }
    moved
}

/// Finishes or takes back the move that a killed process had begun, if there is one.
///
/// Everything that changes the branches of a repository calls it first. It costs a look at one file.
pub fn heal(lock: &RepositoryLock<'_>, home: &Path) -> Result<(), RunError> {
    let Some(note) = Note::read(home)? else {
        return Ok(());
    };
    Move { lock, note: &note }.heal(home)?;
    Note::remove(home)
}

/// Tells whether a branch is about to move, or was when somebody was killed.
pub(crate) fn is_moving(home: &Path) -> Result<bool, RunError> {
    Ok(Note::read(home)?.is_some())
}

/// Finishes or takes back such a move in the repository of a project, if there is one.
pub(crate) fn heal_left(root: &Path, home: &Path) -> Result<(), RunError> {
    if !is_moving(home)? {
        return Ok(());
    }
    heal(&Repository::open(root)?.lock(home)?, home)
}

/// A move on its way.
struct Move<'a> {
    lock: &'a RepositoryLock<'a>,
    note: &'a Note,
}

impl Move<'_> {
    fn run(&self, reason: &str) -> Result<Advanced, RunError> {
        let Some(worktree) = &self.note.worktree else {
            return self.move_branch(reason);
        };
        let index_lock = IndexLock::of(worktree, &self.note.new);
        if !index_lock.take_within(INDEX_LOCK)? {
            return Ok(Advanced::Blocked(format!(
                "another git is at work in `{}`, or was killed there: `{}` exists",
                worktree.path.display(),
                index_lock.path().display()
            )));
        }
        let differences = between(self.lock, &self.note.old, &self.note.new)?;
        let apart = self.apart(worktree);
        let moved = match in_files(&apart, (&self.note.old, &self.note.new), &differences)? {
            Some(why) => Advanced::Blocked(why),
            None => self.move_files(&apart, &differences, reason)?,
        };
        if moved == Advanced::Done {
            self.swap_index(worktree)?;
        } else {
            remove(&apart.index)?;
        }
        index_lock.release()?;
        Ok(moved)
    }

    /// Writes the files and moves the branch; takes the files back where one of the two fails.
    fn move_files(
        &self,
        apart: &Apart<'_>,
        differences: &[Difference],
        reason: &str,
    ) -> Result<Advanced, RunError> {
        let args = ["read-tree", "-m", "-u", &self.note.old, &self.note.new];
        let written = self.lock.change(apart.command(&args), FILES);
        let moved = match written.and_then(|_| self.sync_index(apart)) {
            // If it cannot be told whether the branch moved, healing looks again.
            Ok(()) => self.move_branch(reason)?,
            // Such as a filter that failed: the files of the commit cannot be written here.
            Err(RunError::Failed { said, .. }) => {
                let path = apart.worktree.path.display();
                let said = said.trim_start_matches("error: ");
                Advanced::Blocked(format!("cannot write the files of `{path}`: {said}"))
            }
            Err(error) => return Err(error),
        };
        if moved != Advanced::Done {
            restore(self.lock, apart, differences)?;
            self.swap_index(apart.worktree)?;
        }
        Ok(moved)
    }

    /// Moves the branch if it is where it was.
    fn move_branch(&self, reason: &str) -> Result<Advanced, RunError> {
        let Note {
            branch,
            old,
            new,
            worktree,
        } = self.note;
        let name = format!("refs/heads/{branch}");
        let args = ["update-ref", "-m", reason, &name, new, old];
        // In the worktree: the log of its HEAD tells of the move, too.
        let command = match worktree {
            Some(worktree) => worktree.command(self.lock, &args),
            None => self.lock.command(&args),
        };
        match self.lock.change(command, QUICK) {
            Ok(_) => Ok(Advanced::Done),
            Err(error) => match self.lock.rev(&name)? {
                Some(tip) if tip == *new => Ok(Advanced::Done),
                Some(tip) if tip == *old => Err(error),
                _ => Ok(Advanced::Elsewhere),
            },
        }
    }

    fn heal(&self, home: &Path) -> Result<(), RunError> {
        let Note {
            branch,
            old,
            new,
            worktree,
        } = self.note;
        let name = format!("refs/heads/{branch}");
        self.free_ref(&self.lock.common_dir().join(format!("{name}.lock")));
        let Some(worktree) = worktree else {
            return Ok(());
        };
        self.free_ref(&worktree.git_dir.join("HEAD.lock"));
        let index_lock = IndexLock::of(worktree, new);
        let apart = self.apart(worktree);
        for left in ["lock", "new", "new.lock"] {
            remove(&apart.index.with_extension(left))?;
        }
        remove(&index_lock.draft())?;
        if index_lock.is_ours() {
            if self.lock.rev(&name)?.as_ref() == Some(new) {
                self.swap_index(worktree)?;
            } else if !is_below(&worktree.path, home) || worktree.is_plain(self.lock)? {
                let differences = between(self.lock, old, new)?;
                restore(self.lock, &apart, &differences)?;
                self.swap_index(worktree)?;
            }
            // Otherwise an agent has set something in its worktree since, which would be in force.
            index_lock.release()?;
        }
        remove(&apart.index)
    }

    /// Removes the lock on a ref that a killed git of ours left; that of a living one is gone soon.
    fn free_ref(&self, path: &Path) {
        let deadline = Instant::now() + REF_LOCK;
        while let Ok(text) = fs::read(path) {
            // One that has no text yet may be anybody's.
            let is_ours = text.trim_ascii() == self.note.new.as_bytes();
            if is_ours || (text.is_empty() && Instant::now() > deadline) {
                let _ = fs::remove_file(path);
                return;
            }
            if !text.is_empty() {
                return;
            }
            thread::sleep(LOOK);
        }
    }

    /// Returns where the next index of a worktree is made.
    fn apart<'w>(&'w self, worktree: &'w Worktree) -> Apart<'w> {
        Apart {
            repository: self.lock,
            worktree,
            index: index(worktree),
        }
    }

    /// Makes sure that the next index is on the disk before the branch moves.
    fn sync_index(&self, apart: &Apart<'_>) -> Result<(), RunError> {
        let synced = File::open(&apart.index).and_then(|file| file.sync_all());
        synced.map_err(|cause| {
            RunError::refused(format!("cannot write `{}`", apart.index.display()), cause)
        })
    }

    /// Puts the next index in the place of the old one; where there is none, that was done already.
    fn swap_index(&self, worktree: &Worktree) -> Result<(), RunError> {
        let (next, current) = (index(worktree), worktree.git_dir.join("index"));
        if !next.exists() {
            return Ok(());
        }
        fs::rename(&next, &current).map_err(|cause| {
            RunError::refused(format!("cannot write `{}`", current.display()), cause)
        })
    }
}

/// Tells whether a path lies in the home of the project, where the worktrees of tasks are.
pub(super) fn is_below(path: &Path, home: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(home))
}

fn index(worktree: &Worktree) -> PathBuf {
    worktree.git_dir.join("callsheet-index")
}
