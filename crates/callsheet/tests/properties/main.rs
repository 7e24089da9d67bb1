//! What holds for every composition, tried on random projects, inputs and budgets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod boards;
mod budget;
mod builder;
mod instructions;
mod maps;
mod messages;
mod phase;
mod pieces;
mod project;
mod redaction;
mod redaction_by_entropy;
mod run;
mod state;
mod templates;

use proptest::prelude::ProptestConfig;

/// Returns a configuration that leaves no files behind.
fn cases(number: u32) -> ProptestConfig {
    ProptestConfig {
        cases: number,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
