//! Tasks: what is agreed before a run, and what was observed after it.
//!
//! Facts come from git, from exit codes and from the scope that was frozen at the start. What an agent says of itself is
//! a claim: it is in the log and counts for nothing.

pub(crate) mod conclude;
pub(crate) mod facts;
mod judge;
mod rerun;
mod terms;

pub use rerun::Rerun;
pub(crate) use terms::beside;
pub use terms::{Meeting, Terms, meetings};

use crate::{Bounds, Git};

/// How much two commits differ: lines added and deleted, and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DiffStat {
    /// Lines added.
    pub added: u64,
    /// Lines deleted.
    pub deleted: u64,
    /// Files changed.
    pub files: u64,
}

/// Counts how much two commits differ; nothing where git does not have both.
pub fn diff_stat(git: &Git, from: &str, to: &str) -> Option<DiffStat> {
    const BOUNDS: Bounds = Bounds {
        time: std::time::Duration::from_mins(1),
        bytes: 64 << 20,
    };
    let said = git
        .diff(&["--numstat", "-z", "--no-renames", from, to, "--"], BOUNDS)
        .ok()?;
    let mut stat = DiffStat::default();
    for line in String::from_utf8_lossy(&said)
        .split('\0')
        .filter(|line| !line.is_empty())
    {
        let mut words = line.split('\t');
        // A file that is not text has a dash.
        let mut number = || {
            words
                .next()
                .and_then(|word| word.parse::<u64>().ok())
                .unwrap_or(0)
        };
        stat.added += number();
        stat.deleted += number();
        stat.files += 1;
    }
    Some(stat)
}
