//! Taking back what a killed move had done to the files of a worktree.
//!
//! A file goes back only if it is what the move made of it: the new one, a beginning of the new one, or gone. Whatever else
//! is there somebody has written since, and it stays.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::difference::Difference;
use super::obstacle::{Apart, not_a_directory};
use crate::RunError;
use crate::asked::ask_with;
use crate::git::values;
use crate::repository::{FILES, RepositoryLock};

/// How many bytes of paths go to one git.
const ARGUMENTS: usize = 64 * 1024;

/// What the disk has of a file that a move was to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// What the old commit has.
    Old,
    /// What the new commit has, or the beginning of it, or nothing where something was.
    Ours,
    /// Something else.
    Foreign,
}

/// Puts the files of a worktree back to the old commit; the index apart is then the one to use.
pub(super) fn restore(
    lock: &RepositoryLock<'_>,
    old_index: &Apart<'_>,
    differences: &[Difference],
) -> Result<(), RunError> {
    let found = look(old_index, differences)?;
    let ours = |wanted: fn(&Difference) -> bool| {
        let found = differences.iter().zip(&found);
        let found =
            found.filter(move |(difference, found)| **found == Found::Ours && wanted(difference));
        found.map(|(difference, _)| difference.path.as_path())
    };
    let top = &old_index.worktree.path;
    for path in ours(|difference| !difference.in_old()) {
        take_away(top, path)?;
    }
    // A directory is in the way only if somebody has put something into it.
    let back = ours(Difference::in_old).filter(|path| !top.join(path).is_dir());
    let back: Vec<&Path> = back.collect();
    let mut rest = &back[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let fit = rest.iter().take_while(|path| {
            bytes += path.as_os_str().len() + 1;
            bytes <= ARGUMENTS
        });
        let (now, later) = rest.split_at(fit.count().max(1));
        let mut command = old_index.command(&["checkout-index", "--force", "--index", "--"]);
        command.args(now);
        lock.change(command, FILES)?;
        rest = later;
    }
    old_index.refresh()
}

/// Removes a file, and the directories above it that are empty then.
fn take_away(top: &Path, path: &Path) -> Result<(), RunError> {
    let file = top.join(path);
    let removed = match fs::symlink_metadata(&file) {
        // A submodule, of which git makes nothing but the directory.
        Ok(there) if there.is_dir() => {
            let _ = fs::remove_dir(&file);
            Ok(())
        }
        Ok(_) => fs::remove_file(&file),
        Err(_) => Ok(()),
    };
    removed
        .map_err(|cause| RunError::refused(format!("cannot remove `{}`", file.display()), cause))?;
    let above = file.ancestors().skip(1).take_while(|above| *above != top);
    for above in above {
        if fs::remove_dir(above).is_err() {
            break;
        }
    }
    Ok(())
}

/// Looks at the files.
fn look(old: &Apart<'_>, differences: &[Difference]) -> Result<Vec<Found>, RunError> {
    old.copy()?;
    let new = Apart {
        index: old.index.with_extension("new"),
        ..*old
    };
    new.copy()?;
    // What goes comes first: a file can take the place of a directory.
    let (kept, gone): (Vec<_>, Vec<_>) = differences.iter().partition(|found| found.in_new());
    let entries: Vec<u8> = gone
        .into_iter()
        .chain(kept)
        .flat_map(Difference::index_entry)
        .collect();
    new.ask(&entries, &["update-index", "-z", "--index-info"])?;
    let (not_old, not_new) = (changed(old)?, changed(&new)?);
    super::journal::remove(&new.index)?;
    let mut found = Vec::new();
    for difference in differences {
        found.push(one(old, difference, &not_old, &not_new)?);
    }
    Ok(found)
}

/// Returns the files that are not what an index says.
fn changed(apart: &Apart<'_>) -> Result<BTreeSet<PathBuf>, RunError> {
    apart.refresh()?;
    let names = apart.ask(b"", &["diff-files", "--name-only", "--no-renames", "-z"])?;
    Ok(values(&names).into_iter().map(PathBuf::from).collect())
}

fn one(
    apart: &Apart<'_>,
    difference: &Difference,
    not_old: &BTreeSet<PathBuf>,
    not_new: &BTreeSet<PathBuf>,
) -> Result<Found, RunError> {
    let path = &difference.path;
    let top = &apart.worktree.path;
    // What lies behind a link or a file is not a file of this worktree, nor is a directory.
    let there = match not_a_directory(top, path) {
        Some(_) => None,
        None => fs::symlink_metadata(top.join(path)).ok(),
    };
    let there = there.filter(|there| difference.is_submodule() || !there.is_dir());
    let is_there = there.is_some();
    let is = |in_commit: bool, not: &BTreeSet<PathBuf>| {
        if in_commit {
            !not.contains(path)
        } else {
            !is_there
        }
    };
    let is_file = there.is_some_and(|there| there.is_file());
    Ok(if is(difference.in_old(), not_old) {
        Found::Old
    } else if is(difference.in_new(), not_new)
        || !is_there
        || difference.is_submodule()
        || (difference.in_new() && is_file && is_beginning(apart, difference)?)
    {
        Found::Ours
    } else {
        Found::Foreign
    })
}

/// Tells whether a file is the beginning of what git writes for the new commit.
fn is_beginning(apart: &Apart<'_>, difference: &Difference) -> Result<bool, RunError> {
    let mut path = std::ffi::OsString::from("--path=");
    path.push(&difference.path);
    let mut command = apart.command(&["cat-file", "--filters"]);
    command.arg(path).arg(difference.new_hash());
    let whole = ask_with(
        command,
        std::process::Stdio::null(),
        "git cat-file",
        FILES,
        false,
    )?;
    let mut begun = Vec::new();
    let read = File::open(apart.worktree.path.join(&difference.path))
        .and_then(|file| file.take(whole.len() as u64 + 1).read_to_end(&mut begun));
    Ok(read.is_ok() && whole.starts_with(&begun))
}
