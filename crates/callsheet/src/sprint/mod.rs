//! Sprints: stories of a board, and the phases that take each of them from `backlog` to `done`.
//!
//! Everything here decides and nothing does: no clock, no disk, no process. `callsheet-run` does what was decided.

pub mod board;
pub mod check;
pub mod log_line;
pub mod machine;
pub mod markers;
mod order;
mod phase;
mod select;
mod status;
pub mod story_file;

pub use board::{Board, Entry, Kind};
pub use log_line::LogLine;
pub use markers::{Finding, Markers, TechSpec};
pub use order::{
    EarlierFinding, Folders, PhaseLimits, PhaseOrder, PhasePaths, PreviousRun, story_context,
};
pub use phase::{ContextFlags, Phase};
pub use select::{Choice, Epics, NotFound, StoryPosition, find, next, next_where};
pub use status::{Status, Word};
