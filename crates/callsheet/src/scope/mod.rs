//! Scope: which paths a task may write, and what a run did beyond it.
//!
//! A snapshot is frozen when a run starts, so that later changes of settings or profiles judge no earlier run. The rule
//! is about paths that changed: each must match a write pattern and no exclude pattern. Nothing here looks at a disk.

mod conflict;
mod dialect;
mod link;
mod pattern;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use conflict::conflict_score;
pub use dialect::ScopeGlobs;
pub(crate) use dialect::{URL, compile};
pub use link::link_leaves;

use crate::Error;

/// The version of the shape of a snapshot.
pub(crate) const SNAPSHOT_VERSION: u32 = 1;

/// Where the patterns of a snapshot come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeSources {
    /// What the settings of the project exclude.
    pub project: Vec<String>,
    /// What the profile excludes.
    pub profile: Vec<String>,
    /// What the task may write.
    pub task: Vec<String>,
    /// What the task excludes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub task_exclude: Vec<String>,
}

/// The scope of one run, frozen when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScopeSnapshot {
    /// The version of this shape.
    pub version: u32,
    /// What may be written, in the order of the task.
    pub write: Vec<String>,
    /// What may not be touched, sorted by bytes; it wins over `write`.
    pub exclude: Vec<String>,
    /// Where the patterns come from.
    pub sources: ScopeSources,
}

impl ScopeSnapshot {
    /// Makes the snapshot of a run: the excludes of project, profile and task together, and the write scope of the task.
    ///
    /// ```
    /// use callsheet::scope::{ScopeSnapshot, ScopeSources, violations};
    ///
    /// let list = |globs: &[&str]| globs.iter().map(|glob| glob.to_string()).collect::<Vec<_>>();
    /// let snapshot = ScopeSnapshot::new(ScopeSources {
    ///     project: list(&["**/*.env"]),
    ///     profile: list(&["infra/**", "**/*.env"]),
    ///     task: list(&["src/**"]),
    ///     task_exclude: list(&[]),
    /// })?;
    /// assert_eq!(snapshot.exclude, ["**/*.env", "infra/**"]);
    ///
    /// let found = violations(["src/main.rs", "src/prod.env", "README.md"], &snapshot)?;
    /// let found: Vec<String> = found.iter().map(|one| format!("{} {}", one.path, one.reason)).collect();
    /// assert_eq!(found, ["README.md outside_write", "src/prod.env excluded_path"]);
    /// # Ok::<(), callsheet::Error>(())
    /// ```
    pub fn new(sources: ScopeSources) -> Result<Self, Error> {
        ScopeGlobs::new("scope.default_exclude", &sources.project)?;
        ScopeGlobs::new("profile.default_exclude", &sources.profile)?;
        ScopeGlobs::new("task.write_scope", &sources.task)?;
        ScopeGlobs::new("task.exclude", &sources.task_exclude)?;
        let exclude = [&sources.project, &sources.profile, &sources.task_exclude];
        let exclude: BTreeSet<&String> = exclude.into_iter().flatten().collect();
        let mut seen = BTreeSet::new();
        let write = sources.task.iter().filter(|glob| seen.insert(*glob));
        Ok(Self {
            version: SNAPSHOT_VERSION,
            write: write.cloned().collect(),
            exclude: exclude.into_iter().cloned().collect(),
            sources,
        })
    }
}

/// Why a change is not one that the task may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ViolationReason {
    /// No write pattern matches.
    OutsideWrite,
    /// An exclude pattern matches, whatever else does.
    ExcludedPath,
    /// A symbolic link leads to something that the task may not write.
    LinkOutOfScope,
    /// The project's own checkout was changed, and not the worktree of the task.
    MainCheckout,
    /// Another branch than that of the task is checked out.
    BranchSwitched,
    /// The worktree is gone, or is not one any more.
    WorktreeMissing,
}

impl std::fmt::Display for ViolationReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OutsideWrite => "outside_write",
            Self::ExcludedPath => "excluded_path",
            Self::LinkOutOfScope => "link_out_of_scope",
            Self::MainCheckout => "main_checkout",
            Self::BranchSwitched => "branch_switched",
            Self::WorktreeMissing => "worktree_missing",
        })
    }
}

/// A changed path that the scope does not allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// The path, relative to the root.
    pub path: String,
    /// Why it is one.
    pub reason: ViolationReason,
}

/// Returns what the scope does not allow among changed paths, each once and sorted by bytes.
///
/// A path that is not relative and normalised matches no pattern, so it is outside of the write scope.
pub fn violations<S: AsRef<str>>(
    changed: impl IntoIterator<Item = S>,
    snapshot: &ScopeSnapshot,
) -> Result<Vec<Violation>, Error> {
    let write = ScopeGlobs::new("write", &snapshot.write)?;
    let exclude = ScopeGlobs::new("exclude", &snapshot.exclude)?;
    let mut found = BTreeSet::new();
    for path in changed {
        let path = path.as_ref();
        let reason = if exclude.matches(path) {
            ViolationReason::ExcludedPath
        } else if write.matches(path) {
            continue;
        } else {
            ViolationReason::OutsideWrite
        };
        found.insert(Violation {
            path: path.to_owned(),
            reason,
        });
    }
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests;
