//! Sprints as a user sees them.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

mod board;
