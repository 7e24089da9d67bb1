//! Whether the work of a run is on its base branch, however it got there: merged, squashed, rebased or picked.
//!
//! Three questions, in this order: is the result an ancestor of the base; is its patch there, as one commit or commit
//! by commit; would merging it change nothing. The patches are looked for among the newest [`DEPTH`] commits of the base,
//! and there among those that are not merges and came after the branch forked off. Work without any change is never merged. Nothing in the
//! repository is written, and none of its programs is run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use callsheet::Fingerprint;
use tempfile::TempDir;

use crate::git::{line, unless_failed};
use crate::{Bounds, Git, RunError};

mod change;
mod log;
mod search;

use change::{Change, Names, input, is_hash, is_replayed, names, patches};
use log::{Log, changes};
use search::{Branch, Search};

/// How many commits of a base are looked at.
pub const DEPTH: usize = 2000;

/// What git may spend on one question.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 256 << 20,
};

/// How many patches are asked for at a time.
const CHUNK: usize = 256;

/// The names that changes have.
const NAMES: [&str; 8] = [
    "diff-tree",
    "--stdin",
    "--always",
    "--root",
    "--raw",
    "-r",
    "-z",
    "--no-renames",
];

/// The patches of changes, whatever the repository has set.
const PATCHES: [&str; 18] = [
    "diff-tree",
    "--stdin",
    "--always",
    "--root",
    "--patch",
    "--full-index",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--diff-algorithm=myers",
    "--unified=3",
    "--inter-hunk-context=0",
    "--submodule=short",
    "-O/dev/null",
    "--ws-error-highlight=none",
];

/// Work to ask about, as hashes of commits: where it began, and where it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work<'a> {
    /// The commit at which the run started.
    pub start: &'a str,
    /// The commit that the run resulted in.
    pub result: &'a str,
}

/// Tells whether a result is merged into a base; see [`MergeView::merged`].
pub fn is_merged(git: &Git, work: Work<'_>, base: &str) -> Result<bool, RunError> {
    let answers = MergeView::new(git, base)?.merged(&[work])?;
    Ok(answers == [true])
}

/// Returns the paths that a result changes since it forked off its base; all of its paths where they have nothing in common.
pub fn still_changed(git: &Git, base: &str, result: &str) -> Result<BTreeSet<String>, RunError> {
    let fork = merge_base(git, base, result)?;
    let printed = git.run_with(
        &input(&[Change::new(result, fork.as_deref())]),
        &NAMES,
        BOUNDS,
    )?;
    let found = names(&printed);
    let paths = found.iter().flat_map(Names::iter);
    Ok(paths
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect())
}

/// What a base looks like from the results of many runs; made once for a command, because most of it is shared.
#[derive(Debug)]
pub struct MergeView<'a> {
    git: &'a Git,
    base: String,
    patches: BTreeMap<Change, Option<Fingerprint>>,
    trial: Option<Trial>,
}

/// A place where merges are tried: objects go to a directory of its own.
#[derive(Debug)]
struct Trial {
    git: Git,
    tree: Vec<u8>,
    _objects: TempDir,
}

impl<'a> MergeView<'a> {
    /// Looks at a base, which is a branch or a commit.
    pub fn new(git: &'a Git, base: &str) -> Result<Self, RunError> {
        let name = format!("{base}^{{commit}}");
        let tip = unless_failed(git.run(&["rev-parse", "--verify", "--quiet", &name], BOUNDS))?;
        let Some(tip) = tip.filter(|_| !base.starts_with('-')) else {
            return Err(RunError::Input(format!("no branch or commit `{base}`")));
        };
        Ok(Self {
            git,
            base: line(tip).to_string_lossy().into_owned(),
            patches: BTreeMap::new(),
            trial: None,
        })
    }

    /// Tells of each work whether it is merged.
    ///
    /// Work without a change is not, nor is work whose commits are not in this clone.
    pub fn merged(&mut self, asked: &[Work<'_>]) -> Result<Vec<bool>, RunError> {
        let changed = self.changed(asked)?;
        let results: BTreeSet<&str> = asked
            .iter()
            .zip(&changed)
            .filter(|(_, changed)| **changed)
            .map(|(work, _)| work.result)
            .collect();
        let apart = self.apart(&results)?;
        let mut answers: BTreeMap<&str, bool> = BTreeMap::new();
        let mut branches: Vec<Branch<'_>> = Vec::new();
        for result in results {
            answers.insert(result, !apart.contains_key(result));
            if apart.contains_key(result)
                && let Some(branch) = self.branch(result, &apart)?
            {
                branches.push(branch);
            }
        }
        for (result, is_there) in self.patched(&branches)? {
            answers.insert(result, is_there);
        }
        let answers = asked.iter().zip(changed).map(|(work, changed)| {
            changed && answers.get(work.result).copied().unwrap_or_default()
        });
        Ok(answers.collect())
    }

    /// Tells of each work whether both its ends are here and have different trees.
    fn changed(&self, asked: &[Work<'_>]) -> Result<Vec<bool>, RunError> {
        let mut names = String::new();
        for Work { start, result } in asked {
            // Anything but a hash is asked for as what is never there.
            let [start, result] =
                [start, result].map(|name| if is_hash(name.as_bytes()) { name } else { "-" });
            names.push_str(&format!(
                "{start}^{{tree}}\n{result}^{{tree}}\n{result}^{{commit}}\n"
            ));
        }
        let args = ["cat-file", "--batch-check=%(objectname)"];
        let found = self.git.run_with(names.as_bytes(), &args, BOUNDS)?;
        let found: Vec<&[u8]> = found.split(|&byte| byte == b'\n').collect();
        let changed = asked
            .iter()
            .zip(found.chunks_exact(3))
            .map(|(work, found)| {
                let is_here = found.iter().all(|found| is_hash(found));
                is_here && found[0] != found[1] && found[2] == work.result.as_bytes()
            });
        Ok(changed.collect())
    }

    /// Returns the commits that lead to the results and are not on the base, with the parents of each.
    fn apart(&self, results: &BTreeSet<&str>) -> Result<BTreeMap<String, Vec<String>>, RunError> {
        if results.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut lines = format!("^{}\n", self.base);
        for result in results {
            lines.push_str(&format!("{result}\n"));
        }
        let args = ["rev-list", "--parents", "--stdin"];
        let printed = self.git.run_with(lines.as_bytes(), &args, BOUNDS)?;
        Ok(with_parents(&printed).into_iter().collect())
    }

    /// Returns what a result brings since it forked off the base; nothing where it never did.
    fn branch<'r>(
        &self,
        result: &'r str,
        apart: &BTreeMap<String, Vec<String>>,
    ) -> Result<Option<Branch<'r>>, RunError> {
        let (mut own, mut forks) = (BTreeMap::new(), BTreeSet::new());
        let mut next = vec![result];
        while let Some(commit) = next.pop() {
            let Some(parents) = apart.get(commit) else {
                forks.insert(commit);
                continue;
            };
            if own.insert(commit.to_owned(), parents.clone()).is_none() {
                next.extend(parents.iter().map(String::as_str));
            }
        }
        let fork = match forks.len() {
            0 => None,
            1 => forks.first().map(|fork| (*fork).to_owned()),
            _ => merge_base(self.git, &self.base, result)?,
        };
        let own: Vec<(String, Vec<String>)> = own.into_iter().collect();
        let steps = changes(&own);
        Ok(fork.map(|fork| Branch {
            result,
            whole: Change::new(result, Some(&fork)),
            own: (steps.len() == own.len()).then_some(steps),
        }))
    }

    /// Tells of each branch whether its patch is on the base, or has nothing to add to it.
    fn patched<'r>(&mut self, branches: &[Branch<'r>]) -> Result<Vec<(&'r str, bool)>, RunError> {
        if branches.is_empty() {
            return Ok(Vec::new());
        }
        let log = self.read_log(branches)?;
        let parts = branches.iter();
        let parts = parts.flat_map(|branch| branch.own.iter().flatten().chain([&branch.whole]));
        let parts: Vec<Change> = parts.cloned().collect();
        let named: BTreeMap<Change, Names> =
            parts.iter().cloned().zip(self.names(&parts)?).collect();
        let searches = branches.iter();
        let searches: Vec<Search> = searches
            .map(|branch| Search::new(branch, &named, &log))
            .collect();
        let needed = branches.iter().zip(&searches);
        let needed: BTreeSet<&Change> = needed
            .flat_map(|(branch, search)| search.needed(branch))
            .collect();
        self.read_patches(&needed)?;
        let mut answers = Vec::new();
        for (branch, search) in branches.iter().zip(&searches) {
            let is_there = self.is_found(branch, search)
                || (search.touched && self.adds_nothing(branch.result)?);
            answers.push((branch.result, is_there));
        }
        Ok(answers)
    }

    /// Tells whether the base has the patch of a branch, in one commit or commit by commit.
    fn is_found(&self, branch: &Branch<'_>, search: &Search) -> bool {
        let has_all = |own: &[Change], base: &[Change]| {
            let own: Option<Vec<Fingerprint>> =
                own.iter().map(|step| *self.patches.get(step)?).collect();
            let base = base.iter().filter_map(|step| *self.patches.get(step)?);
            own.is_some_and(|own| is_replayed(&own, &base.collect::<Vec<_>>()))
        };
        has_all(std::slice::from_ref(&branch.whole), &search.whole)
            || search.steps.iter().any(|(own, base)| has_all(own, base))
    }

    /// Reads what the base changed since the first of some branches forked off it.
    fn read_log(&self, branches: &[Branch<'_>]) -> Result<Log, RunError> {
        let depth = format!("--max-count={DEPTH}");
        let args = ["rev-list", "--parents", &depth, &self.base, "--"];
        let commits = with_parents(&self.git.run(&args, BOUNDS)?);
        let mut log = Log::new(&commits);
        let forks = branches.iter();
        let forks: BTreeSet<&str> = forks
            .map(|branch| branch.whole.against.as_deref().unwrap_or_default())
            .collect();
        let since = log.since_any(forks);
        let mut changes = changes(&commits);
        changes.retain(|change| log.is_among(&change.commit, &since));
        let names = self.names(&changes)?;
        log.add(changes, names);
        Ok(log)
    }

    fn names(&self, changes: &[Change]) -> Result<Vec<Names>, RunError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        Ok(names(&self.git.run_with(
            &input(changes),
            &NAMES,
            BOUNDS,
        )?))
    }

    fn read_patches(&mut self, needed: &BTreeSet<&Change>) -> Result<(), RunError> {
        let new = needed
            .iter()
            .filter(|change| !self.patches.contains_key(**change));
        let new: Vec<Change> = new.map(|change| (*change).clone()).collect();
        for chunk in new.chunks(CHUNK) {
            self.read_chunk(chunk)?;
        }
        Ok(())
    }

    /// Reads patches; one that is too large to compare equals none.
    fn read_chunk(&mut self, changes: &[Change]) -> Result<(), RunError> {
        match self.git.run_with(&input(changes), &PATCHES, BOUNDS) {
            Ok(printed) => {
                let found = changes.iter().cloned().zip(patches(&printed));
                let found = found.map(|(change, patch)| (change, Some(patch)));
                self.patches.extend(found);
                Ok(())
            }
            Err(RunError::TooMuch { .. }) if changes.len() > 1 => {
                let (left, right) = changes.split_at(changes.len() / 2);
                self.read_chunk(left)?;
                self.read_chunk(right)
            }
            Err(RunError::TooMuch { .. }) => {
                let huge = changes.iter().cloned().map(|change| (change, None));
                self.patches.extend(huge);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Tells whether merging a result leaves the base as it is.
    fn adds_nothing(&mut self, result: &str) -> Result<bool, RunError> {
        let trial = match self.trial.take() {
            Some(trial) => trial,
            None => self.start_trial()?,
        };
        let args = ["merge-tree", "--write-tree", &self.base, result];
        let merged = unless_failed(trial.git.run(&args, BOUNDS))?;
        let adds_nothing = merged.as_ref() == Some(&trial.tree);
        self.trial = Some(trial);
        Ok(adds_nothing)
    }

    fn start_trial(&self) -> Result<Trial, RunError> {
        let objects = TempDir::new()
            .map_err(|cause| RunError::refused("cannot make a temporary directory", cause))?;
        let tree = format!("{}^{{tree}}", self.base);
        Ok(Trial {
            git: self.git.apart(objects.path())?,
            tree: self.git.run(&["rev-parse", "--verify", &tree], BOUNDS)?,
            _objects: objects,
        })
    }
}

/// Reads what `git rev-list --parents` prints.
fn with_parents(printed: &[u8]) -> Vec<(String, Vec<String>)> {
    let printed = String::from_utf8_lossy(printed);
    let commits = printed.lines().filter_map(|line| {
        let mut hashes = line.split(' ').map(str::to_owned);
        Some((hashes.next()?, hashes.collect()))
    });
    commits.collect()
}

fn merge_base(git: &Git, base: &str, result: &str) -> Result<Option<String>, RunError> {
    let found = unless_failed(git.run(&["merge-base", "--", base, result], BOUNDS))?;
    Ok(found.map(|found| line(found).to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests;
