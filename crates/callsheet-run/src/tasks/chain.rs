//! Which runs of a task build on each other, and on which commit they all rest.
//!
//! Runs of a task share a branch, and each starts where the one before has left it. Only a branch that was made anew begins
//! somewhere else. Whatever is compared with the base has to be compared with the commit that its chain began at: the base
//! itself moves on, and has the work of the task in it once that is merged.

use std::collections::BTreeSet;

use serde_json::Value;

/// Where a run stands among the runs of its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link<'a> {
    /// The number of its chain.
    pub(super) chain: usize,
    /// The commit that the chain began at.
    pub(super) origin: Option<&'a str>,
}

/// Returns the commit that a field of a run document names.
pub(super) fn commit<'a>(document: &'a Value, field: &str) -> Option<&'a str> {
    document.get(field)?.as_str()
}

/// Returns where each run stands; `documents` are those of all runs of a task, the oldest first.
pub(super) fn links<'a>(documents: &[&'a Value]) -> Vec<Link<'a>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut link = Link::default();
    let mut links = Vec::with_capacity(documents.len());
    for document in documents {
        if let Some(start) = commit(document, "start_head") {
            if link.origin.is_none() {
                link.origin = Some(start);
            } else if link.origin != Some(start) && !seen.contains(start) {
                link = Link {
                    chain: link.chain + 1,
                    origin: Some(start),
                };
            }
        }
        seen.extend(
            ["head", "result"]
                .iter()
                .filter_map(|field| commit(document, field)),
        );
        links.push(link);
    }
    links
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_that_starts_where_no_run_has_ended_begins_a_chain() {
        let run = |start: &str, head: &str, result: &str| json!({"start_head": start, "head": head, "result": result});
        let documents = [
            json!({}),
            run("base1", "base1", "k1"),
            // What was not committed lies in the worktree, so the run goes on from it.
            run("base1", "c2", "c2"),
            json!({"start_head": null}),
            run("c2", "c3", "k3"),
            // The worktree was made anew.
            run("base2", "c4", "c4"),
            run("c4", "c5", "c5"),
        ];
        let documents: Vec<&Value> = documents.iter().collect();
        let links: Vec<(usize, Option<&str>)> = links(&documents)
            .into_iter()
            .map(|link| (link.chain, link.origin))
            .collect();
        assert_eq!(
            links,
            [
                (0, None),
                (0, Some("base1")),
                (0, Some("base1")),
                (0, Some("base1")),
                (0, Some("base1")),
                (1, Some("base2")),
                (1, Some("base2")),
            ]
        );
    }
}
