//! The real agent CLIs against a model server of ours on the loopback.
//!
//! The CLIs are those of `scripts/agents`, whose directory is in `CALLSHEET_TEST_AGENTS`. Without it, every test says that it is
//! skipped, and fails where `CI` is set. No test needs a key, an account or the internet.

mod cli;
mod delivery;
mod desk;
mod failures;
mod model;
mod runner;
