//! A parcel in a git bundle, for clones that share no remote.
//!
//! A bundle has what the base branch does not have; the commits of the base that it builds on have to be in the clone that takes it.
//! git itself reads these bundles, too. One that comes in is hostile: every object is checked, and refs of anything else than
//! the parcel are left out and reported.

use std::collections::BTreeSet;
use std::path::Path;

use super::header::Header;
use super::place::place;
use super::{Delivery, Parcel, Refs, Tip, are_whole, ask_on, lines, missing, refs_here};
use crate::{Repository, RunError};

/// How many refs of others are named one by one.
const NAMED: usize = 10;

/// How much of the name of a foreign ref is told.
const NAME_CHARS: usize = 100;

/// Puts the refs of a parcel into a bundle; nothing where this clone has none of them.
pub fn pack(repository: &Repository, parcel: &Parcel<'_>) -> Result<Option<Vec<u8>>, RunError> {
    parcel.check()?;
    let refs = refs_here(repository, parcel)?;
    if refs.is_empty() {
        return Ok(None);
    }
    let needs = needs(repository, parcel, &refs)?;
    let words = refs.values().chain(&needs).map(String::as_str);
    let mut words: Vec<&str> = words.collect();
    words.insert(refs.len(), "--not");
    let args = ["pack-objects", "--quiet", "--revs", "--thin", "--stdout"];
    let args = [&args[..], &["--delta-base-offset"]].concat();
    let pack = ask_on(repository, &args, lines(&words).as_bytes())?;
    let refs = refs.into_iter().collect();
    let header = Header { needs, refs };
    Ok(Some([header.to_bytes(), pack].concat()))
}

/// Takes the refs of a parcel out of a bundle; a branch that went another way here is kept aside and replaced.
pub fn unpack(
    repository: &Repository,
    home: &Path,
    parcel: &Parcel<'_>,
    bytes: &[u8],
) -> Result<Delivery, RunError> {
    take((repository, home), parcel, bytes, |_| true)
}

/// Takes the results of runs out of a bundle, and leaves the branch as it is here.
pub fn unpack_results(
    repository: &Repository,
    home: &Path,
    parcel: &Parcel<'_>,
    bytes: &[u8],
) -> Result<Delivery, RunError> {
    let branch = parcel.branch_ref();
    take((repository, home), parcel, bytes, |name| *name != branch)
}

fn take(
    (repository, home): (&Repository, &Path),
    parcel: &Parcel<'_>,
    bytes: &[u8],
    is_wanted: impl Fn(&String) -> bool,
) -> Result<Delivery, RunError> {
    parcel.check()?;
    let damaged = |why: &str| {
        let task = parcel.task;
        RunError::Input(format!("the bundle of task `{task}` is damaged: {why}"))
    };
    let (header, pack) = Header::read(bytes).map_err(damaged)?;
    let (mut refs, ignored) = sort(parcel, &header)?;
    refs.retain(|name, _| is_wanted(name));
    if refs.is_empty() {
        return Ok(Delivery {
            branch: Tip::Absent,
            runs: Vec::new(),
            ignored,
        });
    }
    let tips: Vec<&str> = refs.values().map(String::as_str).collect();
    if !are_whole(repository, &tips)? {
        check_needs(repository, parcel, &header.needs)?;
        let args = ["index-pack", "--stdin", "--fix-thin", "--strict"];
        match ask_on(repository, &args, pack) {
            Err(RunError::Failed { said, .. }) => return Err(damaged(&said)),
            other => other?,
        };
        if !are_whole(repository, &tips)? {
            return Err(damaged("its refs lead to objects that are not in it"));
        }
    }
    let mut delivery = place(repository, home, parcel, &refs)?;
    delivery.ignored.splice(..0, ignored);
    Ok(delivery)
}

/// Returns the commits of the base that refs build on: where they left it, or what they are at.
fn needs(
    repository: &Repository,
    parcel: &Parcel<'_>,
    refs: &Refs,
) -> Result<Vec<String>, RunError> {
    // Without a base everything travels.
    let Some(base) = repository.rev(parcel.base)? else {
        return Ok(Vec::new());
    };
    let not_base = format!("^{base}");
    let tips = refs.values().map(String::as_str);
    let words: Vec<&str> = tips.chain([not_base.as_str()]).collect();
    let args = ["rev-list", "--boundary", "--stdin"];
    let printed = ask_on(repository, &args, lines(&words).as_bytes())?;
    let printed = String::from_utf8_lossy(&printed);
    let own: BTreeSet<&str> = printed.lines().collect();
    let left = own.iter().filter_map(|line| line.strip_prefix('-'));
    let at = refs.values().map(String::as_str);
    let at = at.filter(|tip| !own.contains(tip));
    let needs: BTreeSet<&str> = left.chain(at).collect();
    Ok(needs.into_iter().map(str::to_owned).collect())
}

/// Takes the refs of a parcel from those of a bundle, and tells of the others.
fn sort(parcel: &Parcel<'_>, header: &Header) -> Result<(Refs, Vec<String>), RunError> {
    let (task, names) = (parcel.task, parcel.names());
    let (mut refs, mut ignored, mut foreign) = (Refs::new(), Vec::new(), 0);
    for (name, hash) in &header.refs {
        if !names.contains(name) {
            foreign += 1;
            if foreign <= NAMED {
                let name: String = name.chars().take(NAME_CHARS).collect();
                let name = name.escape_debug();
                ignored.push(format!("`{name}` is not a ref of task `{task}`"));
            }
        } else if refs.insert(name.clone(), hash.clone()).is_some() {
            return Err(RunError::Input(format!(
                "the bundle of task `{task}` is damaged: it has `{name}` twice"
            )));
        }
    }
    if foreign > NAMED {
        let more = foreign - NAMED;
        ignored.push(format!("{more} more are not refs of task `{task}`"));
    }
    Ok((refs, ignored))
}

/// Refuses a bundle that builds on commits that are not here.
fn check_needs(
    repository: &Repository,
    parcel: &Parcel<'_>,
    needs: &[String],
) -> Result<(), RunError> {
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    let missing = missing(repository, &needs)?;
    let Some((first, others)) = missing.split_first() else {
        return Ok(());
    };
    let more = match others.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let (task, base) = (parcel.task, parcel.base);
    Err(RunError::Input(format!(
        "task `{task}` builds on commit `{first}`{more} of `{base}`, which is not in this clone; get it with `git fetch` or `git pull`, then try again"
    )))
}
