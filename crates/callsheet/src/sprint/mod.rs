//! Sprints: stories of a board, and the phases that take each of them from `backlog` to `done`.
//!
//! Everything here decides and nothing does: no clock, no disk, no process. `callsheet-run` does what was decided.

mod order;
mod phase;
mod status;

pub use order::{
    EarlierFinding, Folders, PhaseLimits, PhaseOrder, PhasePaths, PreviousRun, story_context,
};
pub use phase::{ContextFlags, Phase};
pub use status::{Status, Word};
