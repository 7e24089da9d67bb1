//! What the repository of a project says of the work of its tasks. It is looked at, and nothing in it changes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::Merged;
use crate::merged::{MergeView, Work};
use crate::{Bounds, Git, RunError};

/// What git may spend on one answer.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 64 << 20,
};

/// A look at a repository; one that is not there has nothing to say.
#[derive(Debug)]
pub struct View(Option<Git>);

/// How much two commits differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    /// Lines added.
    pub added: u64,
    /// Lines deleted.
    pub deleted: u64,
    /// Files changed.
    pub files: u64,
}

impl View {
    /// Looks at the repository of a project.
    pub fn of(root: &Path) -> Self {
        Self(Git::open(root).ok())
    }

    /// Counts how much two commits differ; nothing where they are not here.
    pub fn diff_stat(&self, from: &str, to: &str) -> Option<DiffStat> {
        let said = self.diff(&["--numstat", "-z", "--no-renames"], from, to)?;
        let mut stat = DiffStat::default();
        for line in said.split('\0').filter(|line| !line.is_empty()) {
            let mut words = line.split('\t');
            // A file that is not text has a dash.
            let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            stat.added += number();
            stat.deleted += number();
            stat.files += 1;
        }
        Some(stat)
    }

    fn diff(&self, how: &[&str], from: &str, to: &str) -> Option<String> {
        let args = [how, &[from, to, "--"]].concat();
        let said = self.0.as_ref()?.diff(&args, BOUNDS).ok()?;
        Some(String::from_utf8_lossy(&said).into_owned())
    }
}

impl Merged for View {
    fn merged(&self, base: &str, work: &[(&str, &str)]) -> Result<Vec<bool>, RunError> {
        let none = Ok(vec![false; work.len()]);
        let Some(git) = self.0.as_ref().filter(|_| !work.is_empty()) else {
            return none;
        };
        let mut view = match MergeView::new(git, &format!("refs/heads/{base}")) {
            Ok(view) => view,
            // The branch is not here.
            Err(RunError::Input(_)) => return none,
            Err(error) => return Err(error),
        };
        let asked: Vec<Work<'_>> = work
            .iter()
            .map(|(start, result)| Work { start, result })
            .collect();
        view.merged(&asked)
    }

    fn changed(&self, from: &str, to: &str) -> Result<Option<BTreeSet<String>>, RunError> {
        let said = self.diff(&["--name-only", "-z", "--no-renames"], from, to);
        Ok(said.map(|said| {
            let names = said.split('\0').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        }))
    }
}
