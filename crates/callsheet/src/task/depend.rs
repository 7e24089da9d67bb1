//! Dependencies of tasks: no task may wait for itself, however long the way around is.

use std::collections::{BTreeMap, VecDeque};

/// Returns the cycle that would close if `task` depended on `on`, as the shortest path from `task` back to itself.
///
/// `edges` has, for each task, the tasks that it depends on. What is not in it depends on nothing.
///
/// ```
/// use std::collections::BTreeMap;
/// use callsheet::task::cycle;
///
/// let edges = BTreeMap::from([("b".to_owned(), vec!["c".to_owned()])]);
/// assert_eq!(cycle(&edges, "a", "b"), None);
/// assert_eq!(cycle(&edges, "c", "b").unwrap(), ["c", "b", "c"]);
/// ```
pub fn cycle(edges: &BTreeMap<String, Vec<String>>, task: &str, on: &str) -> Option<Vec<String>> {
    // Which task a task was reached from; what begins the search was reached from nothing.
    let mut from: BTreeMap<&str, Option<&str>> = BTreeMap::from([(on, None)]);
    let mut waiting = VecDeque::from([on]);
    while let Some(at) = waiting.pop_front() {
        if at == task {
            let mut path = vec![at.to_owned()];
            let mut step = at;
            while let Some(Some(before)) = from.get(step) {
                path.push((*before).to_owned());
                step = before;
            }
            path.push(task.to_owned());
            path.reverse();
            return Some(path);
        }
        for next in edges.get(at).into_iter().flatten() {
            if !from.contains_key(next.as_str()) {
                from.insert(next, Some(at));
                waiting.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn edges(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
        let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (task, on) in pairs {
            let depends = edges.entry((*task).to_owned()).or_default();
            depends.push((*on).to_owned());
        }
        edges
    }

    #[test]
    fn the_path_that_closes_is_the_shortest() {
        let edges = edges(&[("b", "x"), ("x", "y"), ("y", "a"), ("b", "c"), ("c", "a")]);
        assert_eq!(cycle(&edges, "a", "a").unwrap(), ["a", "a"]);
        assert_eq!(cycle(&edges, "a", "c").unwrap(), ["a", "c", "a"]);
        assert_eq!(cycle(&edges, "a", "b").unwrap(), ["a", "b", "c", "a"]);
        assert_eq!(cycle(&edges, "b", "a"), None);
        assert_eq!(cycle(&edges, "a", "unknown"), None);
    }

    #[test]
    fn a_long_chain_is_followed_to_its_end() {
        let name = |number: usize| format!("{number:06}");
        let chain = (0..100_000).map(|number| (name(number), vec![name(number + 1)]));
        let edges: BTreeMap<String, Vec<String>> = chain.collect();
        let path = cycle(&edges, &name(100_000), &name(0)).unwrap();
        assert_eq!(path.len(), 100_002);
    }

    /// Returns what can be reached over at least one edge, by adding what is one edge away until nothing is new.
    fn reached(pairs: &BTreeSet<(u8, u8)>, start: u8) -> BTreeSet<u8> {
        let mut reached = BTreeSet::new();
        loop {
            let next: BTreeSet<u8> = pairs
                .iter()
                .filter(|(task, _)| *task == start || reached.contains(task))
                .map(|(_, on)| *on)
                .collect();
            if next == reached {
                return reached;
            }
            reached = next;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_cycle_is_found_if_and_only_if_the_edge_closes_one(
            pairs in prop::collection::btree_set((0..7_u8, 0..7_u8), 0..12),
            task in 0..7_u8,
            on in 0..7_u8,
        ) {
            let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (task, on) in &pairs {
                edges.entry(task.to_string()).or_default().push(on.to_string());
            }
            let found = cycle(&edges, &task.to_string(), &on.to_string());
            // The new edge lies on a cycle if its end leads back to its start.
            let closes = task == on || reached(&pairs, on).contains(&task);
            prop_assert_eq!(found.is_some(), closes);
            if let Some(path) = found {
                prop_assert_eq!(&path[0], &task.to_string());
                prop_assert_eq!(&path[1], &on.to_string());
                prop_assert_eq!(path.last().unwrap(), &task.to_string());
                for step in path[1..].windows(2) {
                    prop_assert!(edges[&step[0]].contains(&step[1]), "{:?}", path);
                }
            }
        }
    }
}
