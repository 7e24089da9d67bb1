//! Sprints, the doing half: the board on the disk, and what a project sets about them.
//!
//! What is decided is decided in [`callsheet::sprint`]; this reads, locks and writes.

mod agent;
mod archive;
mod begin;
mod board_file;
mod commit;
mod conflict;
mod context;
mod crew;
mod driver;
mod errand;
mod files;
mod hand;
mod land;
mod ours;
mod scope;
mod settings;
mod spot;
mod wait;

pub use archive::{Archived, archive};
pub use begin::{Begun, fold, is_running, run};
pub use board_file::{BoardFile, PLACES, Written};
pub use crew::{Brief, Briefed, Crew};
pub use driver::Stage;
pub use settings::{Layout, SprintPaths, SprintSettings};
