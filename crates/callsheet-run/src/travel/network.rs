//! A parcel over a git remote, with the user's own credentials and nobody to ask.
//!
//! Refs are named one by one; neither the refspecs of the remote nor tags come along. A push is atomic and says of every ref where
//! it was seen, so that a host that was faster is noticed: then everything is looked at again.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::place::place;
use super::{
    Delivery, FAR, Parcel, Refs, Relation, Tip, are_whole, check_remote, git, listed, refs_here,
    relation,
};
use crate::asked::answer;
use crate::{Repository, RunError, ask};

/// How often a remote is looked at while other hosts are faster.
const TRIES: u32 = 12;

/// How often a remote may refuse while none of the refs has changed: another host may be about to write one.
const REFUSALS: u32 = 3;

/// The first pause after a refusal; the next ones are longer.
const PAUSE: Duration = Duration::from_millis(50);

/// What keeps a fetch to the objects of the refs that it names.
const FETCH: [&str; 11] = [
    "fetch",
    "--quiet",
    "--no-auto-maintenance",
    "--no-prune",
    "--no-recurse-submodules",
    "--no-show-forced-updates",
    "--no-tags",
    "--no-write-commit-graph",
    "--no-write-fetch-head",
    // Else the refspecs of the remote would have their say.
    "--refmap=",
    "--",
];

/// What keeps a push to the refs that it names.
const PUSH: [&str; 8] = [
    "push",
    "--porcelain",
    "--atomic",
    "--no-verify",
    "--no-follow-tags",
    "--no-signed",
    "--no-force-if-includes",
    "--recurse-submodules=no",
];

/// Sends a parcel to a remote; a branch that went another way there is replaced only by the owner of the newest run.
///
/// No ref of this clone is changed but the one by which git remembers the branch of the remote.
pub fn publish_to_remote(
    repository: &Repository,
    parcel: &Parcel<'_>,
    remote: &str,
    owns_newest: bool,
) -> Result<Delivery, RunError> {
    parcel.check()?;
    let branch = [parcel.branch_ref()];
    let (mut before, mut refusals) = (None, 0);
    for attempt in 0..TRIES {
        let there = look(repository, parcel, remote, &branch)?;
        let here = refs_here(repository, parcel)?;
        let (delivery, writes) = plan(repository, parcel, [&here, &there], owns_newest)?;
        let Some(refused) = push(repository, remote, &writes)? else {
            return Ok(delivery);
        };
        refusals = if before.as_ref() == Some(&there) {
            refusals + 1
        } else {
            1
        };
        if refusals == REFUSALS {
            return Err(refused);
        }
        before = Some(there);
        thread::sleep(PAUSE * (attempt + 1));
    }
    Err(too_busy(parcel, remote))
}

/// Takes a parcel from a remote; a branch that went another way here is kept aside and replaced.
pub fn bring_from_remote(
    repository: &Repository,
    home: &Path,
    parcel: &Parcel<'_>,
    remote: &str,
) -> Result<Delivery, RunError> {
    parcel.check()?;
    let names = parcel.names();
    let mut there = look(repository, parcel, remote, &names)?;
    // What gave way on the remote is kept there.
    there.retain(|name, _| names.contains(name));
    place(repository, home, parcel, &there)
}

/// Returns what a remote has of a parcel, with everything that the wanted refs lead to in this clone.
fn look(
    repository: &Repository,
    parcel: &Parcel<'_>,
    remote: &str,
    wanted: &[String],
) -> Result<Refs, RunError> {
    let mut before = None;
    for _ in 0..TRIES {
        let there = list(repository, parcel, remote)?;
        let wanted = there.iter().filter(|(name, _)| wanted.contains(name));
        let (names, tips): (Vec<&str>, Vec<&str>) = wanted
            .map(|(name, tip)| (name.as_str(), tip.as_str()))
            .unzip();
        if are_whole(repository, &tips)? {
            return Ok(there);
        }
        if before.as_ref() == Some(&there) {
            let task = parcel.task;
            return Err(RunError::Input(format!(
                "refs of task `{task}` on remote `{remote}` are not commits"
            )));
        }
        fetch(repository, remote, &names)?;
        if are_whole(repository, &tips)? {
            return Ok(there);
        }
        before = Some(there);
    }
    Err(too_busy(parcel, remote))
}

fn too_busy(parcel: &Parcel<'_>, remote: &str) -> RunError {
    let branch = parcel.branch;
    RunError::NotNow(format!(
        "other hosts keep changing `{branch}` on remote `{remote}`; try again"
    ))
}

/// Returns those refs of a parcel that a remote has, with what was kept aside there.
fn list(repository: &Repository, parcel: &Parcel<'_>, remote: &str) -> Result<Refs, RunError> {
    check_remote(remote)?;
    let (names, lost) = (parcel.names(), parcel.lost(""));
    let pattern = format!("{lost}*");
    let mut args = vec!["ls-remote", "--quiet", "--", remote, &pattern];
    args.extend(names.iter().map(String::as_str));
    let printed = ask(git(repository, &args), "git ls-remote", FAR, false)?;
    Ok(listed(&printed, |name| {
        name.starts_with(&lost) || names.iter().any(|known| known == name)
    }))
}

/// Gets the objects of refs; no ref is changed.
fn fetch(repository: &Repository, remote: &str, names: &[&str]) -> Result<(), RunError> {
    let args = [&FETCH[..], &[remote], names].concat();
    ask(git(repository, &args), "git fetch", FAR, false)?;
    Ok(())
}

/// A ref to write on a remote, and the commit that it has to be at before; nothing means that it is not there.
#[derive(Debug)]
struct Write {
    name: String,
    new: String,
    old: Option<String>,
}

impl Write {
    fn new(name: &str, new: &str, old: Option<&String>) -> Self {
        Self {
            name: name.to_owned(),
            new: new.to_owned(),
            old: old.cloned(),
        }
    }
}

/// Decides what a remote lacks, and what it means for the parcel once it is written.
fn plan(
    repository: &Repository,
    parcel: &Parcel<'_>,
    [here, there]: [&Refs; 2],
    owns_newest: bool,
) -> Result<(Delivery, Vec<Write>), RunError> {
    let (mut runs, mut ignored, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (run, name) in parcel.run_refs() {
        match (here.get(&name), there.get(&name)) {
            (Some(new), None) => {
                writes.push(Write::new(&name, new, None));
                runs.push(run.to_owned());
            }
            (Some(new), Some(old)) if new != old => {
                ignored.push(format!(
                    "`{name}` is `{old}` on the remote; `{new}` is left out"
                ));
            }
            _ => {}
        }
    }
    let name = parcel.branch_ref();
    let old = there.get(&name);
    let branch = match (here.get(&name), old) {
        (None, _) => Tip::Absent,
        (Some(new), None) => {
            writes.push(Write::new(&name, new, None));
            Tip::Moved
        }
        (Some(new), Some(tip)) => match relation(repository, new, tip)? {
            Relation::Same => Tip::Same,
            Relation::Behind => Tip::Newer,
            Relation::Ahead => {
                writes.push(Write::new(&name, new, old));
                Tip::Moved
            }
            Relation::Diverged if owns_newest => {
                let lost = parcel.lost(tip);
                if !there.contains_key(&lost) {
                    writes.push(Write::new(&lost, tip, None));
                }
                writes.push(Write::new(&name, new, old));
                Tip::Replaced { lost }
            }
            Relation::Diverged => Tip::Diverged { tip: tip.clone() },
        },
    };
    let delivery = Delivery {
        branch,
        runs,
        ignored,
    };
    Ok((delivery, writes))
}

/// Writes refs of a remote, all of them or none, and returns why the remote refused, if it did.
fn push(
    repository: &Repository,
    remote: &str,
    writes: &[Write],
) -> Result<Option<RunError>, RunError> {
    if writes.is_empty() {
        return Ok(None);
    }
    let lease = |write: &Write| {
        let old = write.old.as_deref().unwrap_or_default();
        format!("--force-with-lease={}:{old}", write.name)
    };
    let leases: Vec<String> = writes.iter().map(lease).collect();
    let refspec = |write: &Write| format!("{}:{}", write.new, write.name);
    let refspecs: Vec<String> = writes.iter().map(refspec).collect();
    let mut args = PUSH.to_vec();
    args.extend(leases.iter().map(String::as_str));
    args.extend(["--", remote]);
    args.extend(refspecs.iter().map(String::as_str));
    let answer = answer(git(repository, &args), Stdio::null(), "git push", FAR)?;
    match (answer.failed, refusal(&answer.printed)) {
        (None, _) => Ok(None),
        (Some(error), None) => Err(error),
        (Some(RunError::Failed { what, code, said }), Some(refusal)) => {
            // The first word of a hook of the remote tells more than git does.
            let hook = said.starts_with("remote:").then(|| format!("; {said}"));
            let said = refusal + hook.as_deref().unwrap_or_default();
            Ok(Some(RunError::Failed { what, code, said }))
        }
        (Some(error), Some(_)) => Err(error),
    }
}

/// Reads why a ref was refused from what `git push --porcelain` prints; those that only share its fate come last.
fn refusal(printed: &[u8]) -> Option<String> {
    let printed = String::from_utf8_lossy(printed);
    let refused = |line: &str| {
        let (refspec, why) = line.strip_prefix("!\t")?.split_once('\t')?;
        let (_, name) = refspec.split_once(':')?;
        let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        Some(format!("`{name}`: {why}").chars().map(shown).collect())
    };
    let mut refused: Vec<String> = printed.lines().filter_map(refused).collect();
    refused.sort_by_key(|why| why.contains("(atomic push failed)"));
    refused.into_iter().next()
}
