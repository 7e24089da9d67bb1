//! The commit of a cycle, looked at afterwards: what an agent says of it counts for nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet::sprint::machine::Verified;

use super::ours::Ours;
use super::spot::uncommitted;
use crate::repository::Repository;
use crate::{Bounds, RunError};

/// How many paths an error names.
const MOST_NAMED: usize = 5;

/// What a commit is held against.
#[derive(Debug)]
pub(super) struct Expected<'a> {
    /// The commit that was checked out before.
    pub(super) baseline: Option<&'a str>,
    /// The paths that it may have.
    pub(super) ours: &'a Ours,
    /// The ref that keeps a commit which is taken back.
    pub(super) lost: &'a str,
    /// The directory of what the program keeps for the project.
    pub(super) home: &'a Path,
}

/// Returns the commit that is checked out; nothing where there is no commit, or no repository.
pub(super) fn head(root: &Path) -> Result<Option<String>, RunError> {
    match top(root) {
        Some(top) => Repository::open(&top)?.rev("HEAD"),
        None => Ok(None),
    }
}

/// Returns the top of the work tree that a directory is in; nothing outside of a repository.
pub fn top(root: &Path) -> Option<PathBuf> {
    let mut above = root.ancestors();
    above
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

/// Returns what comes before a path of the project in the paths of its repository.
pub(super) fn prefix(root: &Path) -> String {
    let top = top(root);
    let below = top.as_deref().and_then(|top| root.strip_prefix(top).ok());
    match below.and_then(Path::to_str) {
        None | Some("") => String::new(),
        Some(below) => format!("{below}/"),
    }
}

/// Looks at the commits since the baseline. Wrong ones are taken back, with all files as they are, and kept on a ref.
pub(super) fn verify(
    repository: &Repository,
    expected: &Expected<'_>,
) -> Result<Verified, RunError> {
    let head = repository.rev("HEAD")?;
    let Some(head) = head.filter(|head| Some(head.as_str()) != expected.baseline) else {
        let left = uncommitted(repository, "all")?;
        let mut left: Vec<&str> = left.iter().map(String::as_str).collect();
        left.retain(|path| expected.ours.is_changed(path));
        if left.is_empty() {
            return Ok(Verified::Nothing);
        }
        let problem = format!("nothing was committed, and {} changed", named(&left));
        return Ok(Verified::Bad { problem });
    };
    let problem = match expected.baseline {
        Some(baseline) if !is_ancestor(repository, baseline, &head) => Some(format!(
            "the commits do not follow {}, which was checked out before",
            short(baseline)
        )),
        _ => foreign(repository, expected, &head)?,
    };
    let Some(problem) = problem else {
        return Ok(Verified::Good { commit: head });
    };
    let locked = repository.lock(expected.home)?;
    locked.update_ref(&format!("{}/{head}", expected.lost), &head, None)?;
    if let Some(baseline) = expected.baseline {
        let taken_back = committed(repository, expected.baseline, &head)?;
        let back = repository.command(&["reset", "--quiet", "--soft", baseline]);
        locked.change(back, BOUNDS)?;
        // What somebody else has staged, and nobody committed, stays staged.
        for paths in taken_back.chunks(PATHS_AT_ONCE) {
            let mut args = vec!["reset", "--quiet", baseline, "--"];
            args.extend(paths.iter().map(String::as_str));
            locked.change(repository.command(&args), BOUNDS)?;
        }
    }
    Ok(Verified::Bad { problem })
}

/// How many paths git gets at once.
const PATHS_AT_ONCE: usize = 500;

/// What git may spend on taking a commit back.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(2),
    bytes: 1 << 20,
};

/// Returns the paths that differ between the baseline and a commit.
fn committed(
    repository: &Repository,
    baseline: Option<&str>,
    head: &str,
) -> Result<Vec<String>, RunError> {
    let mut args = vec!["diff-tree", "-r", "--no-renames", "--name-only", "-z"];
    args.extend([baseline.unwrap_or(EMPTY_TREE), head]);
    Ok(paths(&repository.run(&args)?))
}

/// Tells what is in the commits and belongs to somebody else.
fn foreign(
    repository: &Repository,
    expected: &Expected<'_>,
    head: &str,
) -> Result<Option<String>, RunError> {
    let committed = committed(repository, expected.baseline, head)?;
    let foreign: Vec<&str> = committed
        .iter()
        .map(String::as_str)
        .filter(|path| !expected.ours.has(path))
        .collect();
    Ok((!foreign.is_empty()).then(|| {
        format!(
            "the commit has {}, which no agent of these stories changed",
            named(&foreign)
        )
    }))
}

/// The tree without anything in it, under the name that git has for it.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn is_ancestor(repository: &Repository, before: &str, after: &str) -> bool {
    repository
        .run(&["merge-base", "--is-ancestor", before, after])
        .is_ok()
}

/// Returns the paths of a work tree that differ from a commit, those that git does not know included.
pub(super) fn differing(
    repository: &Repository,
    commit: &str,
) -> Result<BTreeSet<String>, RunError> {
    let known = ["diff", "--no-ext-diff", "--no-textconv", "--no-renames"];
    let known = [&known[..], &["--name-only", "-z", commit, "--"]].concat();
    let others = ["ls-files", "--others", "--exclude-standard", "-z"];
    let mut differing = paths(&repository.run(&known)?);
    differing.extend(paths(&repository.run(&others)?));
    Ok(differing.into_iter().collect())
}

fn paths(said: &[u8]) -> Vec<String> {
    let names = said
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Names some paths to a person.
pub(super) fn named(paths: &[&str]) -> String {
    let shown = paths
        .iter()
        .take(MOST_NAMED)
        .map(|path| format!("`{path}`"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
