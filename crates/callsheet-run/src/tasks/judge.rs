//! What a run did beyond its scope, decided from facts alone.

use callsheet::scope::{ScopeGlobs, Violation, ViolationReason, link_leaves, violations};

use super::Terms;
use super::facts::Changes;

/// More entries than these of one kind say no more.
const MOST_OF_MAIN: usize = 50;

/// What was observed of a run, as far as its scope is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// What changed in the worktree.
    pub(crate) changes: &'a Changes,
    /// The branch that the agent had to stay on.
    pub(crate) branch: Option<&'a str>,
    /// What changed in the main checkout while the agent ran.
    pub(crate) main: &'a [String],
    /// Whether the agent could not have changed the main checkout.
    pub(crate) sandboxed: bool,
}

/// Returns what the scope does not allow, sorted by path and reason.
pub(crate) fn judge(seen: &Seen<'_>, terms: &Terms) -> Result<Vec<Violation>, callsheet::Error> {
    let changes = seen.changes;
    let mut found = violations(&changes.files, &terms.scope)?;
    let write = ScopeGlobs::new("write", &terms.scope.write)?;
    let exclude = ScopeGlobs::new("exclude", &terms.scope.exclude)?;
    let mut add = |path: &str, reason| {
        let path = path.to_owned();
        found.push(Violation { path, reason });
    };
    for link in &changes.links {
        if write.matches(&link.path) && link_leaves(&link.path, &link.target, &write, &exclude) {
            add(&link.path, ViolationReason::LinkOutOfScope);
        }
    }
    if !changes.is_there {
        add(".", ViolationReason::WorktreeMissing);
    }
    let ended_on = changes.branch.as_deref();
    if !terms.in_place && changes.is_there && ended_on != seen.branch {
        add(ended_on.unwrap_or("HEAD"), ViolationReason::BranchSwitched);
    }
    // In the sandbox the agent cannot have done it: somebody works there.
    if !seen.sandboxed && !terms.in_place {
        for what in seen.main.iter().take(MOST_OF_MAIN) {
            add(what, ViolationReason::MainCheckout);
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
