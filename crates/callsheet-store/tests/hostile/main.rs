//! Hands that can write the database: every value of every table is changed, every row removed, added and swapped, on both
//! databases, and what `verify` does not find is on a short list.
//!
//! Tables and columns come from the catalogue, so that a new one is swept without anybody thinking of it.
//! `docs/guarantees.md` explains each entry of the list.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

mod database;
mod fill;
mod prompts;
mod sweep;
#[path = "../conformance/test_store.rs"]
#[expect(dead_code, reason = "the sweep needs a few of its functions")]
mod test_store;
