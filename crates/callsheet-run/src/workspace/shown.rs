//! Other files for a while: a worktree shows the tree of a merge while checks run on it.
//!
//! A note beside the worktree says which files belong there, so that a process that is killed meanwhile leaves nothing
//! that could be taken for work of an agent.

use super::Ground;
use crate::RunError;
use crate::tasks::tidy::{Left, tidy};

/// A worktree that shows other files than its own.
#[derive(Debug)]
#[must_use]
pub(crate) struct Shown<'a>(&'a Ground);

impl<'a> Shown<'a> {
    /// Shows the files of a commit; `own` is the commit with the files that belong there.
    pub(crate) fn show(ground: &'a Ground, commit: &str, own: &str) -> Result<Self, RunError> {
        let shown = Self::note(ground, commit, own)?;
        ground.git(&["read-tree", "--reset", "-u", commit])?;
        Ok(shown)
    }

    /// Shows the files that are there, which are those that belong there; somebody may change them.
    pub(crate) fn stay(ground: &'a Ground, own: &str) -> Result<Self, RunError> {
        Self::note(ground, own, own)
    }

    fn note(ground: &'a Ground, commit: &str, own: &str) -> Result<Self, RunError> {
        let refused =
            |cause| RunError::refused("cannot note which files belong to the worktree", cause);
        // It is there as a whole or not at all.
        let new = ground.note("shown.new");
        callsheet_store::write_private(&new, format!("{own} {commit}\n")).map_err(refused)?;
        std::fs::rename(&new, ground.note(NOTE)).map_err(refused)?;
        Ok(Self(ground))
    }

    /// Leaves the files as they are: they are still those that belong there.
    pub(crate) fn leave(self) -> Result<(), RunError> {
        forget(self.0)
    }

    /// Brings the own files back.
    pub(crate) fn back(self) -> Result<(), RunError> {
        bring_back(self.0)
    }
}

/// Brings the own files of a worktree back, where somebody was killed while it showed others.
///
/// Neither the index nor the files are known to be whole. What else is found is kept.
pub(super) fn bring_back(ground: &Ground) -> Result<(), RunError> {
    let Ok(text) = std::fs::read_to_string(ground.note(NOTE)) else {
        return Ok(());
    };
    if let Some((own, shown)) = text.trim_end().split_once(' ') {
        let left = Left {
            tree: own,
            name: ground.name(),
            known: Some(shown),
        };
        tidy(ground, ground.hold().scratch()?.path(), &left)?;
        ground.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
    }
    forget(ground)
}

fn forget(ground: &Ground) -> Result<(), RunError> {
    let note = ground.note(NOTE);
    std::fs::remove_file(&note)
        .map_err(|cause| RunError::refused(format!("cannot remove `{}`", note.display()), cause))
}

/// What ends the name of the note.
const NOTE: &str = "shown";
