//! Attacks: a project that somebody else made, and that means no good to whoever works in it.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../cli/bundles.rs"]
mod bundles;

mod projects;
mod race;
mod terminal;
