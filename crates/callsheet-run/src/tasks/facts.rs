//! What git says of a task's worktree before and after an agent.
//!
//! The files are put into a tree by an index of the run's own, so that the agent's index stays as it was left. What
//! the agent left uncommitted becomes a commit that only a ref of the run holds: nothing is lost, and the branch
//! stays as the agent left it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use callsheet::scope::ScopeGlobs;
use serde::{Deserialize, Serialize};

use super::Terms;
use crate::RunError;
use crate::git::copy_index;
use crate::workspace::{Ground, result_ref};

/// How many commits and links of one run are told.
const MOST: usize = 200;

/// What was there before an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) head: Option<String>,
    pub(crate) branch: Option<String>,
    /// The tree of all files, those that are not committed included.
    pub(crate) tree: Option<String>,
    /// Files that git ignores and the scope excludes, with their time and size.
    pub(crate) ignored: BTreeMap<String, String>,
}

/// What an agent changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// Whether the worktree is still there.
    #[serde(skip)]
    pub(crate) is_there: bool,
    pub(crate) head: Option<String>,
    #[serde(rename = "end_branch")]
    pub(crate) branch: Option<String>,
    pub(crate) dirty: Option<bool>,
    /// The tree of all files at the end.
    #[serde(rename = "end_tree")]
    pub(crate) tree: Option<String>,
    /// The commit that has everything: `head`, or one that holds what is not committed too.
    pub(crate) result: Option<String>,
    #[serde(rename = "changed_files")]
    pub(crate) files: Vec<String>,
    #[serde(rename = "mode_changes")]
    pub(crate) modes: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) commits: Vec<Commit>,
}

/// A symbolic link that is new or leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) path: String,
    pub(crate) target: String,
}

/// A commit that the agent made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Commit {
    pub(crate) hash: String,
    pub(crate) subject: String,
}

/// Looks at a worktree before an agent; `folder` is the private directory of the run.
pub(crate) fn before(
    ground: &Ground,
    folder: &Path,
    exclude: &ScopeGlobs,
) -> Result<Start, RunError> {
    let (index, _) = own_index(ground, folder)?;
    Ok(Start {
        head: ground.rev("HEAD^{commit}")?,
        branch: ground.branch(),
        tree: Some(tree(ground, &index)?),
        ignored: ignored(ground, exclude)?,
    })
}

/// Looks at it again.
///
/// `run` names the ref that keeps the result. Commits of the base are nothing that the agent did.
pub(crate) fn after(
    ground: &Ground,
    folder: &Path,
    start: &Start,
    (exclude, terms, run): (&ScopeGlobs, &Terms, &str),
) -> Result<Changes, RunError> {
    let mut changes = Changes {
        is_there: ground.is_there(),
        ..Changes::default()
    };
    if changes.is_there {
        ground.disarm()?;
        changes.head = ground.rev("HEAD^{commit}")?;
        changes.branch = ground.branch();
    } else {
        changes.head = ground.rev(&ground.own_ref())?;
    }
    let mut files = BTreeSet::new();
    if changes.is_there {
        let (index, back) = own_index(ground, folder)?;
        files.extend(back);
        let end = tree(ground, &index)?;
        changes.result = result(ground, &changes, &end, &message(terms, run))?;
        changes.dirty = Some(is_dirty(ground, &changes)?);
        if let Some(start) = &start.tree {
            compare(ground, (start, &end), &mut files, &mut changes)?;
        }
        changes.tree = Some(end);
        let now = ignored(ground, exclude)?;
        let other = |(name, seen): &(&String, &String)| start.ignored.get(*name) != Some(seen);
        files.extend(now.iter().filter(other).map(|(name, _)| name.clone()));
        let gone = start.ignored.keys().filter(|name| !now.contains_key(*name));
        files.extend(gone.cloned());
    } else {
        changes.result.clone_from(&changes.head);
    }
    if let (Some(from), Some(to)) = (&start.head, changes.head.clone())
        && *from != to
    {
        committed(ground, (from, &to, &terms.base), &mut files, &mut changes)?;
    }
    if let Some(result) = &changes.result {
        ground.keep(run, result)?;
    }
    changes.files = files.into_iter().collect();
    Ok(changes)
}

/// Copies the index of a worktree; a file that git was told not to look at is looked at like any other, and so is an
/// excluded file that is there although it should not be.
///
/// Returns the copy, and the excluded files that are there.
pub(super) fn own_index(
    ground: &Ground,
    folder: &Path,
) -> Result<(PathBuf, Vec<String>), RunError> {
    let index = folder.join("index");
    let refused = |cause| RunError::refused("cannot copy the index of the worktree", cause);
    // A git that was killed with whoever came before.
    let _ = std::fs::remove_file(folder.join("index.lock"));
    match copy_index(&ground.admin().join("index"), &index) {
        // An agent can remove it; then everything is new.
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(refused(cause)),
        _ => {}
    }
    let listed = ground.git_on(&index, &["ls-files", "-v", "-z"])?;
    let (mut back, mut hidden) = (Vec::new(), Vec::new());
    for entry in listed.split(|byte| *byte == 0) {
        let Some((tag, name)) = entry.split_at_checked(2) else {
            continue;
        };
        // A small letter marks a file that git takes for unchanged whatever is in it.
        if tag[0].is_ascii_lowercase() {
            hidden.push(name);
        }
        let path = || ground.path().join(crate::workspace::os_path(name));
        if tag.eq_ignore_ascii_case(b"S ") && path().symlink_metadata().is_ok() {
            back.push(name);
        }
    }
    let change = |how, names: &[&[u8]]| ground.git_for(Some(&index), &["update-index", how], names);
    change("--no-assume-unchanged", &hidden)?;
    change("--no-skip-worktree", &back)?;
    let names = back.into_iter().map(String::from_utf8_lossy);
    let names = names.map(std::borrow::Cow::into_owned).collect();
    Ok((index, names))
}

/// Returns the tree that the files make, those that git ignores left out.
pub(super) fn tree(ground: &Ground, index: &Path) -> Result<String, RunError> {
    ground.git_on(index, &["add", "--all"])?;
    let tree = ground.git_on(index, &["write-tree"])?;
    Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
}

/// Returns the tree that the files of a worktree make at this moment.
pub(crate) fn tree_now(ground: &Ground, folder: &Path) -> Result<String, RunError> {
    let (index, _) = own_index(ground, folder)?;
    tree(ground, &index)
}

/// Keeps what a run left in its worktree, where nobody came to do so when it ended.
pub(crate) fn park(ground: &Ground, terms: &Terms, run: &str) -> Result<(), RunError> {
    if !ground.is_there() || ground.rev(&result_ref(run))?.is_some() {
        return Ok(());
    }
    ground.disarm()?;
    let folder = ground.hold().scratch()?;
    let changes = Changes {
        head: ground.rev("HEAD^{commit}")?,
        ..Changes::default()
    };
    let tree = tree_now(ground, folder.path())?;
    match result(ground, &changes, &tree, &message(terms, run))? {
        Some(result) => ground.keep(run, &result),
        None => Ok(()),
    }
}

/// Tells whether anything is not committed, as `git status` would: in the files, or only in the index.
fn is_dirty(ground: &Ground, changes: &Changes) -> Result<bool, RunError> {
    if changes.head.is_none() || changes.result != changes.head {
        return Ok(true);
    }
    // The files are those of the commit, so there is no need to look at them once more.
    match ground.git(&["diff-index", "--cached", "--quiet", "HEAD"]) {
        Ok(_) => Ok(false),
        Err(RunError::Failed { code: Some(1), .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns the message of a commit with what an agent left uncommitted.
fn message(terms: &Terms, run: &str) -> String {
    let title = terms.title.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{title}\n\nWhat run {run} of callsheet left uncommitted.\n")
}

/// Returns the commit that has everything, and makes it where something is not committed.
fn result(
    ground: &Ground,
    changes: &Changes,
    tree: &str,
    message: &str,
) -> Result<Option<String>, RunError> {
    let Some(head) = &changes.head else {
        return Ok(None);
    };
    let committed = ground.rev(&format!("{head}^{{tree}}"))?;
    if committed.as_deref() == Some(tree) {
        return Ok(Some(head.clone()));
    }
    ground.snapshot(tree, head, message).map(Some)
}

/// Adds what differs between two trees.
fn compare(
    ground: &Ground,
    (start, end): (&str, &str),
    files: &mut BTreeSet<String>,
    changes: &mut Changes,
) -> Result<(), RunError> {
    if start == end {
        return Ok(());
    }
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        start,
        end,
    ];
    let raw = ground.git(&args)?;
    for change in raw_changes(&raw) {
        if change.is_mode_change() {
            changes.modes.push(change.path.clone());
        }
        if change.new_mode == "120000" && changes.links.len() < MOST {
            let target = ground.git(&["cat-file", "blob", &change.hash])?;
            changes.links.push(Link {
                path: change.path.clone(),
                target: String::from_utf8_lossy(&target).into_owned(),
            });
        }
        files.insert(change.path);
    }
    Ok(())
}

/// Adds what the agent committed: a file that it changed and put back was touched all the same.
fn committed(
    ground: &Ground,
    (from, to, base): (&str, &str, &str),
    files: &mut BTreeSet<String>,
    changes: &mut Changes,
) -> Result<(), RunError> {
    let range = format!("{from}..{to}");
    let not_base = format!("^refs/heads/{base}");
    let most = format!("--max-count={MOST}");
    let log = ["log", &range, &not_base];
    let paths = [
        &log[..],
        &["--format=", "--name-only", "--no-renames", "-z"],
    ]
    .concat();
    let paths = ground.git(&paths)?;
    let names = paths.split(|byte| *byte == 0 || *byte == b'\n');
    files.extend(
        names
            .filter(|name| !name.is_empty())
            .map(|name| String::from_utf8_lossy(name).into_owned()),
    );
    let output = ground.git(&[&log[..], &[&most, "--format=%H %s", "-z"]].concat())?;
    let output = String::from_utf8_lossy(&output).into_owned();
    let commit = |line: &str| {
        let (hash, subject) = line.split_once(' ')?;
        Some(Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        })
    };
    changes.commits = output.split('\0').filter_map(commit).collect();
    Ok(())
}

/// Returns the files that git ignores and the scope excludes.
fn ignored(ground: &Ground, exclude: &ScopeGlobs) -> Result<BTreeMap<String, String>, RunError> {
    use std::os::unix::fs::MetadataExt as _;
    if exclude.is_empty() {
        return Ok(BTreeMap::new());
    }
    let args = [
        "ls-files",
        "--others",
        "--ignored",
        "--exclude-standard",
        "-z",
    ];
    let said = ground.git(&args)?;
    let mut found = BTreeMap::new();
    for name in said
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let text = String::from_utf8_lossy(name).into_owned();
        if !exclude.matches(&text) {
            continue;
        }
        let path = ground.path().join(crate::workspace::os_path(name));
        if let Ok(file) = path.symlink_metadata() {
            let seen = format!("{} {}.{}", file.size(), file.mtime(), file.mtime_nsec());
            found.insert(text, seen);
        }
    }
    Ok(found)
}

/// One entry of `git diff-tree --raw -z`.
#[derive(Debug, PartialEq, Eq)]
struct RawChange {
    old_mode: String,
    new_mode: String,
    hash: String,
    path: String,
}

impl RawChange {
    /// Tells whether a file became executable or no longer is, or became another kind of thing.
    fn is_mode_change(&self) -> bool {
        let none = "000000";
        self.old_mode != none && self.new_mode != none && self.old_mode != self.new_mode
    }
}

/// Reads `:MODE MODE HASH HASH STATUS`, NUL, path, NUL.
fn raw_changes(raw: &[u8]) -> Vec<RawChange> {
    let mut fields = raw.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts = String::from_utf8_lossy(facts).into_owned();
        let mut words = facts.trim_start_matches(':').split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (old_mode, new_mode, _, hash) = (word(), word(), word(), word());
        changes.push(RawChange {
            old_mode,
            new_mode,
            hash,
            path: String::from_utf8_lossy(path).into_owned(),
        });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_changes_are_read_with_their_modes() {
        let raw = b":100644 100755 aa bb M\0src/a b\0:000000 120000 00 cc A\0link\0";
        let changes = raw_changes(raw);
        let output: Vec<(&str, bool, &str)> = changes
            .iter()
            .map(|change| {
                (
                    change.path.as_str(),
                    change.is_mode_change(),
                    change.hash.as_str(),
                )
            })
            .collect();
        assert_eq!(output, [("src/a b", true, "bb"), ("link", false, "cc")]);
        assert!(raw_changes(b"").is_empty());
    }
}
