//! Where on a base the patch of a branch may be; which patches are equal is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Names};
use super::log::Log;

/// Work that is not an ancestor of the base.
pub(super) struct Branch<'a> {
    pub(super) result: &'a str,
    pub(super) whole: Change,
    /// Its commits; nothing where one of them is a merge, which is not a patch of its own.
    pub(super) own: Option<Vec<Change>>,
}

/// Where a patch of a branch may be on the base.
pub(super) struct Search {
    pub(super) whole: Vec<Change>,
    /// The commits of the branch that change something, and where they may be; nothing where one cannot be there.
    pub(super) steps: Option<(Vec<Change>, Vec<Change>)>,
    /// Whether the base changed every file that the branch changes.
    pub(super) touched: bool,
}

impl Search {
    pub(super) fn new(branch: &Branch<'_>, named: &BTreeMap<Change, Names>, log: &Log) -> Self {
        let since = log.since(branch.whole.against.as_deref().unwrap_or_default());
        let names = &named[&branch.whole];
        let own = branch.own.as_ref().filter(|_| !names.is_empty());
        let steps = own.and_then(|own| {
            // A commit without a change is dropped on the way.
            let own: Vec<Change> = own
                .iter()
                .filter(|step| !named[step].is_empty())
                .cloned()
                .collect();
            let wanted: BTreeSet<&Names> = own.iter().map(|step| &named[step]).collect();
            let found = wanted.into_iter().map(|names| log.like(names, &since));
            let found: Vec<Vec<Change>> = found.collect();
            let is_possible = found.iter().all(|found| !found.is_empty());
            is_possible.then(|| (own, found.concat()))
        });
        Self {
            whole: log.like(names, &since),
            steps,
            touched: !names.is_empty() && log.touches_all(names, &since),
        }
    }

    /// Returns the changes whose patches decide.
    pub(super) fn needed<'s>(&'s self, branch: &'s Branch<'_>) -> impl Iterator<Item = &'s Change> {
        let whole = (!self.whole.is_empty()).then_some(&branch.whole);
        let steps = self
            .steps
            .iter()
            .flat_map(|(own, base)| own.iter().chain(base));
        whole.into_iter().chain(&self.whole).chain(steps)
    }
}
