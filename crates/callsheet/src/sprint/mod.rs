//! Sprints: stories of a board, and the phases that take each of them from `backlog` to `done`.
//!
//! Everything here decides and nothing does: no clock, no disk, no process. `callsheet-run` does what was decided.

pub mod log_line;
pub mod markers;
mod phase;
mod status;

pub use log_line::LogLine;
pub use markers::Markers;
pub use phase::{ContextFlags, Phase};
pub use status::{Status, Word};
