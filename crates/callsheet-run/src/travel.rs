//! A task's refs travel between clones of a project: over a git remote, or in a bundle where there is none.
//!
//! The refs of a task are its branch and the results of its runs, and nothing else is sent or taken, whatever a remote or a
//! bundle offers. A result never changes: it is added where it is missing. A branch moves forward; where two clones went
//! different ways, the tip that gives way is kept on `refs/callsheet/lost/TASK/HASH` in the same step. Doing it again changes nothing.
//!
//! The network is waited for without the lock of the repository, which is held only while refs change here. Whoever calls this
//! holds the lock of the task, so that no agent works in its worktree meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::asked::{ask_with, file_of};
use crate::repository::QUICK;
use crate::{Bounds, Repository, RunError};

mod bundle;
mod header;
mod network;
mod place;

pub use bundle::{pack, unpack, unpack_results};
pub use network::{bring_from_remote, publish_to_remote};

/// What git may spend on a remote or on a pack.
const FAR: Bounds = Bounds {
    time: Duration::from_mins(2),
    bytes: 256 << 20,
};

/// Names of refs and the commits that they are at.
type Refs = BTreeMap<String, String>;

/// The refs of a task that travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel<'a> {
    /// The id of the task.
    pub task: &'a str,
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    /// The ids of its runs; one without a result is skipped.
    pub runs: &'a [String],
    /// The branch that the task started from, which every clone has by itself.
    pub base: &'a str,
}

/// What became of a branch on the side that received it: the remote, or this clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tip {
    /// The sending side has no such branch.
    Absent,
    /// Both sides had the same tip.
    Same,
    /// The receiving side had all of it, and more.
    Newer,
    /// It was made or moved forward.
    Moved,
    /// It had gone another way; it was moved, and its former tip is kept on this ref.
    Replaced {
        /// The ref on the receiving side.
        lost: String,
    },
    /// It has gone another way and was left at this tip, because the sender does not own the newest run.
    Diverged {
        /// The tip of the receiving side.
        tip: String,
    },
    /// It was left as it is, because it is checked out.
    InUse {
        /// The worktree.
        worktree: PathBuf,
        /// Why the worktree cannot follow.
        why: String,
    },
}

/// What came of sending or taking a parcel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What became of the branch.
    pub branch: Tip,
    /// The runs whose results were new to the receiving side.
    pub runs: Vec<String>,
    /// What was left out and why, a sentence each.
    pub ignored: Vec<String>,
}

impl Parcel<'_> {
    /// Refuses names that could be an option, a pattern or a way out of their place.
    fn check(&self) -> Result<(), RunError> {
        let names = self.runs.iter().map(String::as_str);
        for name in names.chain([self.task]).chain(self.branch.split('/')) {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.starts_with('-') || !name.chars().all(fits) {
                let whole = if name == self.task || self.runs.iter().any(|run| run == name) {
                    name
                } else {
                    self.branch
                };
                return Err(not_a_name(whole, "a task, a run or their branch"));
            }
        }
        if self.base.starts_with('-') {
            return Err(not_a_name(self.base, "a base branch"));
        }
        Ok(())
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the runs with the refs of their results.
    fn run_refs(&self) -> impl Iterator<Item = (&str, String)> {
        let name = |run: &String| format!("refs/callsheet/runs/{run}");
        self.runs.iter().map(move |run| (run.as_str(), name(run)))
    }

    /// Returns the names of all its refs.
    fn names(&self) -> Vec<String> {
        let runs = self.run_refs().map(|(_, name)| name);
        runs.chain([self.branch_ref()]).collect()
    }

    /// Returns the ref that keeps a tip of the branch that gave way.
    fn lost(&self, tip: &str) -> String {
        format!("refs/callsheet/lost/{}/{tip}", self.task)
    }
}

/// Returns the remote that tasks travel over: the one that is set, else `origin` where it exists, else none.
pub fn remote(repository: &Repository, setting: Option<&str>) -> Result<Option<String>, RunError> {
    let known = repository.run(&["remote"])?;
    let known: Vec<String> = String::from_utf8_lossy(&known)
        .lines()
        .map(str::to_owned)
        .collect();
    let name = setting.unwrap_or("origin");
    if setting.is_some() {
        check_remote(name)?;
    }
    match (known.iter().any(|known| known == name), setting) {
        (true, _) => Ok(Some(name.to_owned())),
        (false, None) => Ok(None),
        (false, Some(name)) => Err(RunError::Unknown {
            what: "remote",
            name: name.to_owned(),
            known,
        }),
    }
}

fn check_remote(name: &str) -> Result<(), RunError> {
    if name.is_empty() || name.starts_with('-') {
        return Err(not_a_name(name, "a remote"));
    }
    Ok(())
}

fn not_a_name(name: &str, of: &str) -> RunError {
    RunError::Input(format!("`{}` is not a name for {of}", name.escape_debug()))
}

/// How a commit stands to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Same,
    Behind,
    Ahead,
    Diverged,
}

fn relation(repository: &Repository, one: &str, other: &str) -> Result<Relation, RunError> {
    if one == other {
        return Ok(Relation::Same);
    }
    if is_ancestor(repository, one, other)? {
        return Ok(Relation::Behind);
    }
    let is_ahead = is_ancestor(repository, other, one)?;
    Ok(if is_ahead {
        Relation::Ahead
    } else {
        Relation::Diverged
    })
}

fn is_ancestor(repository: &Repository, one: &str, other: &str) -> Result<bool, RunError> {
    let command = git(repository, &["merge-base", "--is-ancestor", one, other]);
    match crate::ask(command, "git merge-base", QUICK, false) {
        Ok(_) => Ok(true),
        Err(RunError::Failed { code: Some(1), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns a git that sees history as it was written, whatever refs or files of the repository replace in it.
fn git(repository: &Repository, args: &[&str]) -> Command {
    let mut command = repository.command(args);
    command.env("GIT_NO_REPLACE_OBJECTS", "1");
    // Of a file that is there, git would say that it is deprecated.
    command.env("GIT_GRAFT_FILE", "/dev/null/none");
    command
}

/// Returns those refs of a parcel that this clone has.
fn refs_here(repository: &Repository, parcel: &Parcel<'_>) -> Result<Refs, RunError> {
    let names = parcel.names();
    let args = [
        "for-each-ref",
        "--format=%(if)%(symref)%(then)symbolic%(else)%(objectname)%(end)%09%(refname)",
        "--",
    ];
    let mut args = args.to_vec();
    args.extend(names.iter().map(String::as_str));
    let printed = repository.run(&args)?;
    // Whoever follows one would write or send a ref that is not the task's.
    for name in &names {
        let symbolic = format!("symbolic\t{name}");
        let mut lines = printed.split(|&byte| byte == b'\n');
        if lines.any(|line| line == symbolic.as_bytes()) {
            return Err(RunError::Input(format!(
                "`{name}` is a symbolic ref; delete it with `git symbolic-ref --delete {name}`"
            )));
        }
    }
    Ok(listed(&printed, |name| {
        names.iter().any(|known| known == name)
    }))
}

/// Reads lines of a hash, a tab and the name of a ref.
fn listed(printed: &[u8], is_wanted: impl Fn(&str) -> bool) -> Refs {
    let lines = String::from_utf8_lossy(printed);
    let entry = |line: &str| {
        let (hash, name) = line.split_once('\t')?;
        let fits = is_hash(hash) && is_wanted(name);
        fits.then(|| (name.to_owned(), hash.to_owned()))
    };
    lines.lines().filter_map(entry).collect()
}

fn is_hash(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    [40, 64].contains(&text.len()) && text.bytes().all(is_hex)
}

/// Returns those hashes that are not commits of this clone.
fn missing(repository: &Repository, hashes: &[&str]) -> Result<Vec<String>, RunError> {
    let args = ["cat-file", "--batch-check=%(objecttype)"];
    let printed = ask_on(repository, &args, lines(hashes).as_bytes())?;
    let printed = String::from_utf8_lossy(&printed);
    let found = hashes.iter().zip(printed.lines());
    let missing = found.filter(|(_, kind)| *kind != "commit");
    Ok(missing.map(|(hash, _)| (*hash).to_owned()).collect())
}

/// Tells whether commits are here with everything that they lead to.
///
/// A git that was killed leaves commits without their files, so it does not do to find a commit.
fn are_whole(repository: &Repository, tips: &[&str]) -> Result<bool, RunError> {
    if tips.is_empty() {
        return Ok(true);
    }
    if !missing(repository, tips)?.is_empty() {
        return Ok(false);
    }
    let args = [
        "rev-list",
        "--objects",
        "--quiet",
        "--exclude-promisor-objects",
        "--stdin",
        "--not",
        "--all",
    ];
    match ask_on(repository, &args, lines(tips).as_bytes()) {
        Ok(_) => Ok(true),
        Err(RunError::Failed { code: Some(_), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Runs git with bytes to read.
fn ask_on(repository: &Repository, args: &[&str], input: &[u8]) -> Result<Vec<u8>, RunError> {
    let what = format!("git {}", args[0]);
    ask_with(git(repository, args), file_of(input)?, &what, FAR, false)
}

/// Returns texts with a line end behind each.
fn lines(texts: &[&str]) -> String {
    texts.iter().flat_map(|text| [text, "\n"]).collect()
}

#[cfg(test)]
mod tests;
