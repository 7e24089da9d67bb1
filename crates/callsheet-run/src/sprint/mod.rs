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
mod observed;
mod ours;
mod scope;
mod settings;
mod spot;
mod wait;

pub use archive::{Archived, archive};
pub use begin::{Begun, busy, end_left, fold, is_running, left, run};
pub use board_file::{BoardFile, PLACES, Put, Written};
pub use commit::top as repository;
pub use context::check as check_context;
pub use crew::{Brief, Briefed, Crew};
pub use driver::Stage;
pub use hand::spec_of;
pub use settings::{Layout, SprintPaths, SprintSettings};
