//! Sprints: the commands about them, and agents that play their phases.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../exec/desk.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod desk;

mod board;
mod log_event;
mod parallel;
mod parse;
mod phases;
