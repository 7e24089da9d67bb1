//! Which violations of a task still count.
//!
//! A decision of a person counts. Beyond that, a later run can take a change back, and then nobody has to decide about it.
//! No run can do so for itself: what it did was observed, whatever its own result looks like.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::scope::ViolationReason;
use callsheet::task::{Approval, RunFacts};
use serde::Deserialize;

use super::chain;
use super::gather::Linked;
use super::status::Merged;
use crate::RunError;

/// Adds the violations that still count to the facts of their runs, which have to say already what is merged.
pub(super) fn add(
    runs: &[Linked<'_>],
    facts: &mut [RunFacts],
    merged: &impl Merged,
) -> Result<(), RunError> {
    let mut later = Later {
        runs,
        merged,
        changed: BTreeMap::new(),
    };
    for (at, run) in runs.iter().enumerate() {
        let found = run.document["violations"].as_array();
        for violation in found.into_iter().flatten() {
            let approval = Approval::deserialize(&violation["approval"]).unwrap_or_default();
            let path = violation["path"].as_str().unwrap_or_default();
            let could_be_undone = approval != Approval::Approved
                && ViolationReason::deserialize(&violation["reason"]).is_ok_and(is_in_the_result);
            if !could_be_undone || !later.took_back(at, path, facts)? {
                facts[at].violations.push(approval);
            }
        }
    }
    Ok(())
}

/// Tells whether a violation lies in what a run left in its worktree, and not in what it did elsewhere.
fn is_in_the_result(reason: ViolationReason) -> bool {
    matches!(
        reason,
        ViolationReason::OutsideWrite
            | ViolationReason::ExcludedPath
            | ViolationReason::LinkOutOfScope
    )
}

/// What later runs of a task changed.
struct Later<'a, M> {
    runs: &'a [Linked<'a>],
    merged: &'a M,
    /// The paths by the work that changed them; nothing where that cannot be told.
    changed: BTreeMap<(&'a str, &'a str), Option<BTreeSet<String>>>,
}

impl<M: Merged> Later<'_, M> {
    /// Tells whether later runs took back what a run did to a path.
    fn took_back(&mut self, at: usize, path: &str, facts: &[RunFacts]) -> Result<bool, RunError> {
        let of = |run: &Linked<'_>| run.link.chain;
        let chain = of(&self.runs[at]);
        if self.leaves_alone(at, chain, path)? {
            return Ok(true);
        }
        // The branch was made anew without the work of the run; that is over only if none of it got into the base.
        let newest = self.runs.last().map_or(chain, of);
        let mut of_chain = self
            .runs
            .iter()
            .zip(facts)
            .filter(|(run, _)| of(run) == chain);
        let is_merged = of_chain.any(|(_, facts)| facts.head_merged || facts.result_merged);
        Ok(newest != chain && !is_merged && self.leaves_alone(at, newest, path)?)
    }

    /// Tells whether the newest result of a chain, of a run after this one, does not change a path.
    fn leaves_alone(&mut self, at: usize, chain: usize, path: &str) -> Result<bool, RunError> {
        let mut newest_first = self.runs[at + 1..].iter().rev();
        let newest = newest_first.find_map(|run| {
            let result = chain::commit(run.document, "result")?;
            (run.link.chain == chain).then_some((run.link.origin?, result))
        });
        let Some((from, to)) = newest else {
            return Ok(false);
        };
        if !self.changed.contains_key(&(from, to)) {
            let changed = self.merged.changed(from, to)?;
            self.changed.insert((from, to), changed);
        }
        let changed = self.changed.get(&(from, to)).and_then(Option::as_ref);
        Ok(changed.is_some_and(|changed| !changed.contains(path)))
    }
}
