//! Sprints, the doing half: the board on the disk, and what a project sets about them.
//!
//! What is decided is decided in [`callsheet::sprint`]; this reads, locks and writes.

mod board_file;
mod settings;

pub use board_file::{BoardFile, PLACES, Written};
pub use settings::{Layout, SprintPaths, SprintSettings};
