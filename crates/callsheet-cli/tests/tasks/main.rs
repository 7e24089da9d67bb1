//! `task`: what there is to do, what it is at, and why.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

mod add;
mod board;
mod depend;
mod status;
