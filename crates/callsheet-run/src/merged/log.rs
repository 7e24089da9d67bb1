//! The newest commits of a base: what each changes, and which of them came after a commit of it.

use std::collections::BTreeMap;

use super::change::{Change, Names};

/// The newest commits of a base.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The places of the parents of each commit, as far as they are in the log.
    parents: Vec<Vec<usize>>,
    places: BTreeMap<String, usize>,
    by_names: BTreeMap<Names, Vec<(usize, Change)>>,
    by_path: BTreeMap<Vec<u8>, Vec<usize>>,
}

/// Which commits of a log came after a commit of the base.
pub(super) struct Since(Vec<bool>);

impl Log {
    /// Makes a log of commits with their parents; what they change has to be added.
    pub(super) fn new(commits: &[(String, Vec<String>)]) -> Self {
        let places = commits.iter().enumerate();
        let places: BTreeMap<String, usize> = places
            .map(|(place, (commit, _))| (commit.clone(), place))
            .collect();
        let known = |parent: &String| places.get(parent).copied();
        let parents = commits.iter();
        Self {
            parents: parents
                .map(|(_, parents)| parents.iter().filter_map(known).collect())
                .collect(),
            places,
            ..Self::default()
        }
    }

    /// Adds what commits change.
    pub(super) fn add(&mut self, changes: Vec<Change>, names: Vec<Names>) {
        for (change, names) in changes.into_iter().zip(names) {
            let Some(&place) = self.places.get(&change.commit) else {
                continue;
            };
            for path in names.iter() {
                self.by_path.entry(path.to_vec()).or_default().push(place);
            }
            if !names.is_empty() {
                let like = self.by_names.entry(names).or_default();
                like.push((place, change));
            }
        }
    }

    /// Returns which commits came after one of several commits of the base.
    pub(super) fn since_any<'f>(&self, forks: impl IntoIterator<Item = &'f str>) -> Since {
        let mut since = vec![false; self.parents.len()];
        for fork in forks {
            for (any, one) in since.iter_mut().zip(self.since(fork).0) {
                *any |= one;
            }
        }
        Since(since)
    }

    /// Tells whether a commit is among those that came after.
    pub(super) fn is_among(&self, commit: &str, since: &Since) -> bool {
        let place = self.places.get(commit);
        place.is_some_and(|place| since.0[*place])
    }

    /// Returns which commits are not ancestors of a commit of the base, nor itself; all where it is older than the log.
    pub(super) fn since(&self, fork: &str) -> Since {
        let mut since = vec![true; self.parents.len()];
        let mut next: Vec<usize> = self.places.get(fork).copied().into_iter().collect();
        while let Some(place) = next.pop() {
            if since[place] {
                since[place] = false;
                next.extend(&self.parents[place]);
            }
        }
        Since(since)
    }

    /// Returns the commits that change exactly these files.
    pub(super) fn like(&self, names: &Names, since: &Since) -> Vec<Change> {
        let found = self.by_names.get(names).into_iter().flatten();
        let found = found.filter(|(place, _)| since.0[*place]);
        found.map(|(_, change)| change.clone()).collect()
    }

    /// Tells whether every one of these files was changed.
    pub(super) fn touches_all(&self, names: &Names, since: &Since) -> bool {
        let is_touched = |path| {
            let places = self.by_path.get(path);
            places.is_some_and(|places| places.iter().any(|place| since.0[*place]))
        };
        names.iter().all(is_touched)
    }
}

/// Returns the changes of commits that are not merges.
pub(super) fn changes(commits: &[(String, Vec<String>)]) -> Vec<Change> {
    let change = |(commit, parents): &(String, Vec<String>)| match &parents[..] {
        [] => Some(Change::new(commit, None)),
        [parent] => Some(Change::new(commit, Some(parent))),
        _ => None,
    };
    commits.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merged::change::names;

    #[test]
    fn what_came_before_a_fork_does_not_count() {
        let hash = |n: u32| format!("{n:040}");
        let commit = |n, parents: &[u32]| (hash(n), parents.iter().copied().map(hash).collect());
        // 5 merges 4 and 3, which both come from 2.
        let commits: [(String, Vec<String>); 4] = [
            commit(5, &[4, 3]),
            commit(4, &[2]),
            commit(3, &[2]),
            commit(2, &[1]),
        ];
        let named = |n| format!("{}\0:M\0a\0", hash(n));
        let printed: String = [4, 3, 2].map(named).concat();
        let names = names(printed.as_bytes());
        let mut log = Log::new(&commits);
        log.add(changes(&commits), names.clone());
        let like = |fork| -> Vec<String> {
            let found = log.like(&names[0], &log.since(&hash(fork)));
            found.into_iter().map(|change| change.commit).collect()
        };
        assert_eq!(like(1), [hash(4), hash(3), hash(2)]);
        assert_eq!(like(2), [hash(4), hash(3)]);
        assert_eq!(like(3), [hash(4)]);
        assert_eq!(like(5), [""; 0]);
        let after = |forks: &[u32]| -> Vec<bool> {
            let forks: Vec<String> = forks.iter().copied().map(hash).collect();
            let since = log.since_any(forks.iter().map(String::as_str));
            let commits = [5, 4, 3, 2].map(hash);
            let is_among = commits.iter().map(|commit| log.is_among(commit, &since));
            is_among.collect()
        };
        assert_eq!(after(&[3]), [true, true, false, false]);
        assert_eq!(after(&[4, 3]), [true, true, true, false]);
        assert_eq!(after(&[4, 1]), [true; 4]);
        assert_eq!(after(&[]), [false; 4]);
        assert!(log.touches_all(&names[0], &log.since(&hash(3))));
        assert!(!log.touches_all(&names[0], &log.since(&hash(5))));
    }
}
