//! What is in the way of a branch that is to move: found before anything changes, and told in words.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::difference::Difference;
use crate::RunError;
use crate::asked::{ask_with, file_of};
use crate::git::{copy_index, values};
use crate::repository::{FILES, Repository, Worktree};

/// How many files are named to a person.
const SHOWN: usize = 5;

/// Where a branch is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checkout {
    Nowhere,
    At(Worktree),
    /// There is more than one place, or one that cannot follow.
    Blocked(String),
}

/// Finds where a branch is checked out.
pub(super) fn checkout(repository: &Repository, branch: &str) -> Result<Checkout, RunError> {
    let worktrees = repository.worktrees()?;
    if let Some(rebasing) = worktrees
        .iter()
        .find(|worktree| is_rebasing(worktree, branch))
    {
        return Ok(Checkout::Blocked(format!(
            "a rebase of `{branch}` is in progress in `{}`",
            rebasing.path.display()
        )));
    }
    let found = worktrees.into_iter();
    let mut found = found.filter(|worktree| worktree.branch.as_deref() == Some(branch));
    let Some(first) = found.next() else {
        return Ok(Checkout::Nowhere);
    };
    let path = first.path.display();
    Ok(if found.next().is_some() {
        Checkout::Blocked(format!(
            "`{branch}` is checked out in more than one worktree"
        ))
    } else if !first.is_there() {
        Checkout::Blocked(format!(
            "`{branch}` is checked out in `{path}`, which is not there"
        ))
    } else if let Some(what) = in_progress(&first.git_dir) {
        Checkout::Blocked(format!("{what} is in progress in `{path}`"))
    } else {
        Checkout::At(first)
    })
}

/// A branch that is rebased is not checked out, and yet must not move.
fn is_rebasing(worktree: &Worktree, branch: &str) -> bool {
    let name = format!("refs/heads/{branch}");
    ["rebase-merge/head-name", "rebase-apply/head-name"]
        .iter()
        .any(|file| {
            fs::read_to_string(worktree.git_dir.join(file)).is_ok_and(|text| text.trim() == name)
        })
}

fn in_progress(git_dir: &Path) -> Option<&'static str> {
    let states = [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
    ];
    let mut states = states.into_iter();
    let found = states.find(|(file, _)| git_dir.join(file).exists());
    found.map(|(_, what)| what)
}

/// A git in a worktree, with an index of its own.
pub(super) struct Apart<'a> {
    pub(super) repository: &'a Repository,
    pub(super) worktree: &'a Worktree,
    pub(super) index: PathBuf,
}

impl Apart<'_> {
    /// Makes the index a copy of the one that the worktree has.
    pub(super) fn copy(&self) -> Result<(), RunError> {
        let known = self.worktree.git_dir.join("index");
        let copied = if known.exists() {
            copy_index(&known, &self.index)
        } else {
            Ok(())
        };
        copied.map_err(|cause| {
            let path = self.worktree.path.display();
            RunError::refused(format!("cannot copy the index of `{path}`"), cause)
        })
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.worktree.command(self.repository, args);
        command.env("GIT_INDEX_FILE", &self.index);
        command
    }

    /// Runs git with bytes to read.
    pub(super) fn ask(&self, input: &[u8], args: &[&str]) -> Result<Vec<u8>, RunError> {
        let what = format!("git {}", args.first().unwrap_or(&""));
        ask_with(self.command(args), file_of(input)?, &what, FILES, false)
    }

    /// Compares the times of files with the index, and contents where they differ.
    pub(super) fn refresh(&self) -> Result<(), RunError> {
        let command = self.command(&["update-index", "-q", "--refresh"]);
        // Its exit code tells whether anything has changed, which whoever asks next finds out.
        ask_with(command, Stdio::null(), "git update-index", FILES, true)?;
        Ok(())
    }
}

/// Returns what keeps the files of a worktree from going from one commit to another, if anything does.
///
/// Nothing is changed but the index apart, which is a copy with fresh times afterwards.
pub(super) fn in_files(
    apart: &Apart<'_>,
    (old, new): (&str, &str),
    differences: &[Difference],
) -> Result<Option<String>, RunError> {
    let at = apart.worktree.path.display();
    if let Some(path) = unknown_file(apart, differences)? {
        let path = path.display();
        return Ok(Some(format!(
            "`{path}` in `{at}` is not in git and would be overwritten"
        )));
    }
    apart.copy()?;
    apart.refresh()?;
    let args = ["read-tree", "--dry-run", "-m", "-u", old, new];
    match apart.ask(b"", &args) {
        Ok(_) => Ok(None),
        Err(RunError::Failed { said, .. }) => {
            Ok(Some(match local_changes(apart, old, differences)? {
                Some(paths) => format!("{paths} in `{at}` has local changes"),
                None => format!("the files of `{at}` cannot follow: {said}"),
            }))
        }
        Err(error) => Err(error),
    }
}

/// Returns the files that are both to change and changed already, as a list for a person.
fn local_changes(
    apart: &Apart<'_>,
    old: &str,
    differences: &[Difference],
) -> Result<Option<String>, RunError> {
    let changed = apart.ask(
        b"",
        &["diff-index", "--name-only", "--no-renames", "-z", old],
    )?;
    let changed: BTreeSet<PathBuf> = values(&changed).into_iter().map(PathBuf::from).collect();
    let both = differences
        .iter()
        .filter(|found| changed.contains(&found.path));
    let both: Vec<String> = both
        .map(|found| format!("`{}`", found.path.display()))
        .collect();
    let shown = both
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    Ok(match both.len() {
        0 => None,
        count if count > SHOWN => Some(format!("{shown} and {} more", count - SHOWN)),
        _ => Some(shown),
    })
}

/// Returns a file that git does not know and that would be overwritten; git itself spares only those that it does not ignore.
fn unknown_file(
    apart: &Apart<'_>,
    differences: &[Difference],
) -> Result<Option<PathBuf>, RunError> {
    let top = &apart.worktree.path;
    let old = differences.iter().filter(|found| found.in_old());
    let old: BTreeSet<&Path> = old.map(|found| found.path.as_path()).collect();
    for found in differences.iter().filter(|found| !found.in_old()) {
        if let Some(above) = not_a_directory(top, &found.path)
            && !old.contains(above)
        {
            return Ok(Some(above.to_owned()));
        }
        match fs::symlink_metadata(top.join(&found.path)) {
            Err(_) => continue,
            Ok(there) if !there.is_dir() => return Ok(Some(found.path.clone())),
            Ok(_) => {}
        }
        let mut others = apart
            .worktree
            .command(apart.repository, &["ls-files", "--others", "-z"]);
        others.arg("--").arg(&found.path);
        let others = ask_with(others, Stdio::null(), "git ls-files", FILES, false)?;
        if let Some(other) = values(&others).into_iter().next() {
            return Ok(Some(other.into()));
        }
    }
    Ok(None)
}

/// Returns the first part of a path that is there and is not a directory; links are not followed.
pub(super) fn not_a_directory<'p>(top: &Path, path: &'p Path) -> Option<&'p Path> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.retain(|above| !above.as_os_str().is_empty());
    let mut above = above.into_iter().rev();
    above.find(|above| fs::symlink_metadata(top.join(above)).is_ok_and(|there| !there.is_dir()))
}
