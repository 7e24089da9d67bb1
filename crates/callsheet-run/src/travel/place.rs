//! Refs that arrived, put in place in this clone; what they lead to is here already.
//!
//! A ref moves only from where it was seen. A worktree that has the branch checked out moves along with it, or nothing moves:
//! work that is not committed is never touched.

use std::path::Path;

use super::{Delivery, Parcel, Refs, Relation, Tip, refs_here, relation};
use crate::git::line;
use crate::repository::{FILES, QUICK};
use crate::{Repository, RepositoryLock, RunError, Worktree};

/// Sets the refs of a parcel to what arrived.
pub(super) fn place(
    repository: &Repository,
    home: &Path,
    parcel: &Parcel<'_>,
    arrived: &Refs,
) -> Result<Delivery, RunError> {
    let lock = repository.lock(home)?;
    let here = refs_here(repository, parcel)?;
    let (mut runs, mut ignored) = (Vec::new(), Vec::new());
    for (run, name) in parcel.run_refs() {
        match (arrived.get(&name), here.get(&name)) {
            (Some(new), None) => {
                lock.update_ref(&name, new, Some(&zeros(new)))?;
                runs.push(run.to_owned());
            }
            (Some(new), Some(old)) if new != old => {
                ignored.push(format!("`{name}` is `{old}` here; `{new}` is left out"));
            }
            _ => {}
        }
    }
    let branch = parcel.branch_ref();
    let branch = match (arrived.get(&branch), here.get(&branch)) {
        (None, _) => Tip::Absent,
        (Some(new), None) => {
            lock.update_ref(&branch, new, Some(&zeros(new)))?;
            Tip::Moved
        }
        (Some(new), Some(old)) => match relation(repository, new, old)? {
            Relation::Same => Tip::Same,
            Relation::Behind => Tip::Newer,
            Relation::Ahead => move_branch(&lock, parcel, old, new, false)?,
            Relation::Diverged => move_branch(&lock, parcel, old, new, true)?,
        },
    };
    Ok(Delivery {
        branch,
        runs,
        ignored,
    })
}

/// Returns what stands for a ref that is not there.
fn zeros(like: &str) -> String {
    "0".repeat(like.len())
}

/// Moves the branch with the worktree that it is checked out in; with `keep`, its former tip gets a ref first.
fn move_branch(
    lock: &RepositoryLock<'_>,
    parcel: &Parcel<'_>,
    old: &str,
    new: &str,
    keep: bool,
) -> Result<Tip, RunError> {
    let checked_out = lock.worktrees()?.into_iter();
    let mut checked_out =
        checked_out.filter(|known| known.branch.as_deref() == Some(parcel.branch));
    // One that is gone from the disk has no files that could differ from its branch.
    let worktree = checked_out.find(Worktree::is_there);
    if let Some(worktree) = &worktree {
        let also = checked_out.any(|other| other.is_there());
        let why = match why_not(lock, worktree, new)? {
            None if also => Some("the branch is checked out in another worktree, too".to_owned()),
            why => why,
        };
        if let Some(why) = why {
            let worktree = worktree.path.clone();
            return Ok(Tip::InUse { worktree, why });
        }
    }
    let mut lost = None;
    if keep {
        lost = Some(parcel.lost(old));
        lock.update_ref(&parcel.lost(old), old, None)?;
    }
    match worktree {
        None => lock.update_ref(&parcel.branch_ref(), new, Some(old))?,
        Some(worktree) => {
            if let Some(why) = reset(lock, &worktree, new)? {
                let worktree = worktree.path;
                return Ok(Tip::InUse { worktree, why });
            }
            // Somebody may have committed since the branch was looked at; git notes where it was.
            let was = ask(lock, &worktree, &["rev-parse", "--verify", "ORIG_HEAD"])?;
            if was != old {
                lost = Some(parcel.lost(&was));
                lock.update_ref(&parcel.lost(&was), &was, None)?;
            }
        }
    }
    Ok(lost.map_or(Tip::Moved, |lost| Tip::Replaced { lost }))
}

/// Returns why a worktree cannot follow its branch to a commit.
fn why_not(
    lock: &RepositoryLock<'_>,
    worktree: &Worktree,
    new: &str,
) -> Result<Option<String>, RunError> {
    if !worktree.is_plain(lock)? {
        return Ok(Some("it has git settings of its own".to_owned()));
    }
    let args = [
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=normal",
        "--no-renames",
        "--ignore-submodules=dirty",
    ];
    let changes = lock.change(worktree.command(lock, &args), FILES)?;
    let mut changes = changes.split(|&byte| byte == 0).filter(|c| !c.is_empty());
    let clean = match changes.next() {
        None => true,
        // A callsheet that was killed between the files and the branch: all is there but the move of the branch.
        Some(first) => {
            let is_staged = |change: &[u8]| change.get(1) == Some(&b' ');
            is_staged(first)
                && changes.all(is_staged)
                && ask(lock, worktree, &["write-tree"])?
                    == ask(lock, worktree, &["rev-parse", &format!("{new}^{{tree}}")])?
        }
    };
    Ok((!clean).then(|| "it has work that is not committed".to_owned()))
}

/// Moves a worktree and its branch, or returns why git refused to.
fn reset(
    lock: &RepositoryLock<'_>,
    worktree: &Worktree,
    new: &str,
) -> Result<Option<String>, RunError> {
    let command = worktree.command(lock, &["reset", "--quiet", "--keep", new]);
    match lock.change(command, FILES) {
        Ok(_) => Ok(None),
        Err(RunError::Failed { said, .. }) => Ok(Some(said)),
        Err(error) => Err(error),
    }
}

/// Returns one line of a git in the worktree.
fn ask(lock: &RepositoryLock<'_>, worktree: &Worktree, args: &[&str]) -> Result<String, RunError> {
    let said = lock.change(worktree.command(lock, args), QUICK)?;
    Ok(line(said).to_string_lossy().into_owned())
}
