//! The merge from its beginning to its end: objects, checks, and the move of the base.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use super::advance::{Advanced, Step, advance, is_below, obstacle};
use crate::RunError;
use crate::asked::ask_with;
use crate::git::{unless_failed, values};
use crate::repository::{QUICK, Repository, Worktree};

/// How often a base may move while a merge is checked.
const ATTEMPTS: usize = 5;

/// How many characters of a title stand in a message.
const TITLE: usize = 100;

/// What to merge.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The `.callsheet` of the project.
    pub home: &'a Path,
    /// An empty directory for what is needed meanwhile.
    pub scratch: &'a Path,
    /// The branch that gets the result, without `refs/heads/`.
    pub base: &'a str,
    /// The commit to merge.
    pub result: &'a str,
    /// The branch that it comes from, for the log of the base.
    pub branch: &'a str,
    /// The message of the merge; see [`message`].
    pub message: &'a str,
}

/// How a merge ended. Unless it is done, the base, its worktree and its index are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The base is at the merge.
    Done {
        /// The merge.
        commit: String,
        /// Where the base was.
        before: String,
    },
    /// The base has everything that the result would bring.
    Already {
        /// Where the base is.
        base: String,
    },
    /// The two do not go together without a decision.
    Conflict {
        /// The files that both changed.
        paths: BTreeSet<String>,
    },
    /// The checks did not pass on the merge.
    Refused {
        /// The merge, which is on no branch.
        commit: String,
        /// What the checks said.
        why: String,
    },
    /// The worktree that has the base cannot follow, such as with local changes in the way.
    Blocked {
        /// What is in the way.
        why: String,
    },
}

/// Returns the message of a merge: one line, whatever the title has in it.
pub fn message(task: &str, title: &str) -> String {
    titled(&format!("Merge task {task}"), title)
}

/// Returns one line of a beginning and whatever a title has in it.
pub(crate) fn titled(what: &str, title: &str) -> String {
    let words = title.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let title = words.join(" ");
    match title.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{what}: {}…", title[..end].trim_end()),
        None if title.is_empty() => what.to_owned(),
        None => format!("{what}: {title}"),
    }
}

/// Merges a result into its base.
///
/// `check` gets the commit of the merge before the base moves, and says why it is refused. If the base moves meanwhile, the
/// merge is made and checked again. The repository must not be locked by the caller: it is locked for the move alone.
pub fn merge(
    repository: &Repository,
    order: &Order<'_>,
    mut check: impl FnMut(&str) -> Result<Result<(), String>, RunError>,
) -> Result<Merged, RunError> {
    let Some(result) = repository.rev(order.result)? else {
        return Err(RunError::Input(format!("no commit `{}`", order.result)));
    };
    if let Some(why) = task_on(repository, order)? {
        return Ok(Merged::Blocked { why });
    }
    let reason = format!("merge {}: Fast-forward", order.branch);
    for _ in 0..ATTEMPTS {
        super::heal(&repository.lock(order.home)?, order.home)?;
        let tip = tip(repository, order.base)?;
        let tree = match trial(repository, &tip, &result)? {
            Trial::Nothing => return Ok(Merged::Already { base: tip }),
            Trial::Conflict(paths) => return Ok(Merged::Conflict { paths }),
            Trial::Tree(tree) => tree,
        };
        let identity = repository.identity()?;
        let parents = [tip.as_str(), &result];
        let commit = repository.commit_tree(&tree, &parents, order.message, &identity)?;
        let step = Step {
            branch: order.base,
            old: &tip,
            new: &commit,
            reason: &reason,
        };
        // Told before the checks, which can take long.
        if let Some(why) = obstacle(repository, &step, order.scratch)? {
            return Ok(Merged::Blocked { why });
        }
        if let Err(why) = check(&commit)? {
            return Ok(Merged::Refused { commit, why });
        }
        match advance(&repository.lock(order.home)?, order.home, &step)? {
            Advanced::Done => {
                return Ok(Merged::Done {
                    commit,
                    before: tip,
                });
            }
            Advanced::Blocked(why) => return Ok(Merged::Blocked { why }),
            Advanced::Elsewhere => {}
        }
    }
    Err(RunError::NotNow(format!(
        "`{}` moved {ATTEMPTS} times while the merge was checked; try again when it is quiet",
        order.base
    )))
}

fn tip(repository: &Repository, base: &str) -> Result<String, RunError> {
    let tip = repository.rev(&format!("refs/heads/{base}"))?;
    tip.ok_or_else(|| RunError::Input(format!("no branch `{base}`")))
}

/// Tells of a task's worktree that has the base: what an agent works in does not follow a base.
fn task_on(repository: &Repository, order: &Order<'_>) -> Result<Option<String>, RunError> {
    let worktrees = repository.worktrees()?;
    let is_on = |found: &&Worktree| found.branch.as_deref() == Some(order.base);
    let mut on = worktrees.iter().filter(is_on);
    let found = on.find(|found| is_below(&found.path, order.home));
    Ok(found.map(|found| {
        let (base, path) = (order.base, found.path.display());
        format!("`{base}` is checked out in `{path}`, the worktree of a task")
    }))
}

/// What a merge would be.
enum Trial {
    /// The base has it all.
    Nothing,
    Conflict(BTreeSet<String>),
    Tree(String),
}

/// Merges two commits into a tree; only objects are written.
fn trial(repository: &Repository, base: &str, result: &str) -> Result<Trial, RunError> {
    let ancestor = ["merge-base", "--is-ancestor", result, base];
    if unless_failed(repository.run(&ancestor))?.is_some() {
        return Ok(Trial::Nothing);
    }
    let args = [
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
    ];
    let args = [&args[..], &[base, result]].concat();
    let ask = |any_exit| {
        let command = repository.command(&args);
        let said = ask_with(command, Stdio::null(), "git merge-tree", QUICK, any_exit)?;
        let said = values(&said).into_iter();
        Ok(said
            .map(|value| value.to_string_lossy().into_owned())
            .collect::<Vec<_>>())
    };
    // The exit code tells of a conflict, of which there are some without a file; an error has no tree.
    let tree = match ask(false) {
        Ok(said) => said.into_iter().next().unwrap_or_default(),
        Err(error @ RunError::Failed { code: Some(1), .. }) => {
            let said = ask(true)?;
            let paths = said.iter().skip(1).cloned().collect();
            return if said.is_empty() {
                Err(error)
            } else {
                Ok(Trial::Conflict(paths))
            };
        }
        Err(error) => return Err(error),
    };
    let before = repository.one(&["rev-parse", "--verify", &format!("{base}^{{tree}}")])?;
    Ok(if before.as_deref() == Some(&tree) {
        Trial::Nothing
    } else {
        Trial::Tree(tree)
    })
}
