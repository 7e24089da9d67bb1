//! The dashboard in a real Chromium, on the project that `callsheet demo --serve` makes.
//!
//! Each test ends by making sure that no page has said an error, thrown an exception or asked anybody but our server. The
//! screenshots are in `target/screenshots/`. Where Chromium is missing, a line says that the tests are skipped, which is a
//! failure where `CI` is set.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

mod access;
mod accessible;
mod actions;
mod board;
mod chromium;
mod hostile;
mod keys;
mod large;
mod live;
mod looks;
mod page;
mod pictures;
mod run;
mod stage;
mod wire;
