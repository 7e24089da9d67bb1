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
/// let edges = BTreeMap::from([("b", vec!["c"])]);
/// assert_eq!(cycle(&edges, &"a", &"b"), None);
/// assert_eq!(cycle(&edges, &"c", &"b").unwrap(), ["c", "b", "c"]);
/// ```
pub fn cycle<T: Ord + Clone>(edges: &BTreeMap<T, Vec<T>>, task: &T, on: &T) -> Option<Vec<T>> {
    // Which task a task was reached from; what begins the search was reached from nothing.
    let mut from: BTreeMap<&T, Option<&T>> = BTreeMap::from([(on, None)]);
    let mut waiting = VecDeque::from([on]);
    while let Some(at) = waiting.pop_front() {
        if at == task {
            let mut path = vec![at.clone()];
            let mut step = at;
            while let Some(Some(before)) = from.get(step) {
                path.push((*before).clone());
                step = before;
            }
            path.push(task.clone());
            path.reverse();
            return Some(path);
        }
        for next in edges.get(at).into_iter().flatten() {
            if !from.contains_key(next) {
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

    fn edges<T: Ord + Copy>(pairs: impl IntoIterator<Item = (T, T)>) -> BTreeMap<T, Vec<T>> {
        let mut edges: BTreeMap<T, Vec<T>> = BTreeMap::new();
        for (task, on) in pairs {
            edges.entry(task).or_default().push(on);
        }
        edges
    }

    #[test]
    fn the_path_that_closes_is_the_shortest() {
        let edges = edges([("b", "x"), ("x", "y"), ("y", "a"), ("b", "c"), ("c", "a")]);
        assert_eq!(cycle(&edges, &"a", &"a").unwrap(), ["a", "a"]);
        assert_eq!(cycle(&edges, &"a", &"c").unwrap(), ["a", "c", "a"]);
        assert_eq!(cycle(&edges, &"a", &"b").unwrap(), ["a", "b", "c", "a"]);
        assert_eq!(cycle(&edges, &"b", &"a"), None);
        assert_eq!(cycle(&edges, &"a", &"unknown"), None);
    }

    #[test]
    fn a_long_chain_is_followed_to_its_end() {
        let edges = edges((0..100_000).map(|number| (number, number + 1)));
        let path = cycle(&edges, &100_000, &0).unwrap();
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
            let edges = edges(pairs.iter().copied());
            let found = cycle(&edges, &task, &on);
            // The new edge lies on a cycle if its end leads back to its start.
            let closes = task == on || reached(&pairs, on).contains(&task);
            prop_assert_eq!(found.is_some(), closes);
            if let Some(path) = found {
                prop_assert_eq!((path[0], path[1]), (task, on));
                prop_assert_eq!(path.last(), Some(&task));
                for step in path[1..].windows(2) {
                    prop_assert!(edges[&step[0]].contains(&step[1]), "{:?}", path);
                }
            }
        }
    }
}
