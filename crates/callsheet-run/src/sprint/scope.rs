//! What stories declare that they write: found in their files, compared, and held against what an agent changed.

use std::path::Path;

use callsheet::Root;
use callsheet::scope::{ScopeGlobs, conflict_score};
use callsheet::sprint::story_file::{StoryFiles, write_scope};
use callsheet::sprint::{Epics, Phase};
use callsheet::task::{Clash, clash};

use super::Layout;
use super::files::Files;
use crate::RunError;

/// Returns what stories declare that they write, together; nothing where none of them does.
pub(super) fn declared(
    root: &Path,
    layout: &Layout,
    keys: &[String],
) -> Result<Vec<String>, RunError> {
    let input_error = |error: callsheet::Error| RunError::Input(error.to_string());
    let root = Root::open(root).map_err(input_error)?;
    let directory = &layout.implementation_artifacts;
    let listed = root.list(directory);
    let names = listed.map_or_else(|_| Vec::new(), |listing| listing.names);
    let files = StoryFiles::new(names.iter().map(|name| format!("{directory}/{name}")));
    let epics = Epics::default();
    let mut patterns = Vec::new();
    for key in keys {
        for path in files.of(key, &epics.place(key)) {
            let Ok(text) = root.read(path) else {
                continue;
            };
            let scope = write_scope(&String::from_utf8_lossy(&text));
            let scope = scope.map_err(|error| RunError::Input(format!("{path}: {error}")))?;
            patterns.extend(
                scope
                    .into_iter()
                    .filter(|one| !patterns.contains(one))
                    .collect::<Vec<_>>(),
            );
        }
    }
    Ok(patterns)
}

/// Tells whether two scopes keep their stories from being worked on at the same time.
pub(super) fn collide(one: &[String], other: &[String], threshold: f64) -> bool {
    // What cannot be compared is told when its story is worked on.
    let score = conflict_score(one, other).unwrap_or(0.0);
    clash(score, threshold) == Clash::Blocked
}

/// Tells whether a phase is held to what its stories declare.
pub(super) fn binds(phase: Phase) -> bool {
    matches!(phase, Phase::DevStory | Phase::CodeReview)
}

/// What an agent is held to.
pub(super) struct Bounds<'a> {
    /// What its stories may write; nothing says that they may write anywhere.
    pub(super) scope: &'a [String],
    /// What no agent may touch.
    pub(super) excluded: Option<&'a ScopeGlobs>,
    /// The files of the sprint, which every agent may write.
    pub(super) files: Files<'a>,
    /// What comes before a path of the project in the paths of its repository.
    pub(super) prefix: &'a str,
}

impl Bounds<'_> {
    /// Returns the paths that the agent may not change.
    pub(super) fn beyond(&self, changed: &[String]) -> Result<Vec<String>, RunError> {
        let globs = ScopeGlobs::new("write_scope", self.scope);
        let globs = globs.map_err(|error| RunError::Input(error.to_string()))?;
        let is_beyond = |path: &&String| {
            let inner = path.strip_prefix(self.prefix);
            let may = inner.is_some_and(|inner| globs.matches(inner) || self.files.has(inner));
            let excluded = self.excluded.is_some_and(|globs| globs.matches(path));
            excluded || (!globs.is_empty() && !may)
        };
        Ok(changed.iter().filter(is_beyond).cloned().collect())
    }
}
