//! Sprints: the commands about them, and agents that play their phases.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../exec/desk.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod desk;

#[path = "../cli/database.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod database;

mod around;
mod board;
mod commands;
mod demo;
mod failures;
mod golden;
mod killed;
mod log_event;
mod parallel;
mod parse;
mod phases;
mod play;
mod scope;
mod server;
mod stops;
mod variants;
