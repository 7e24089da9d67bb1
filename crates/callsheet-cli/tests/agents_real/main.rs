//! The real agent CLIs, run by `callsheet exec`, `callsheet run` and `callsheet sprint run`, against a model server of ours on the loopback.
//!
//! The CLIs are those of `scripts/agents`, whose directory is in `CALLSHEET_TEST_AGENTS`. Without it, every test says that it is
//! skipped, and fails where `CI` is set. No test needs a key, an account or the internet.

/// Makes a test of each check for every CLI.
macro_rules! every_cli {
    ($($check:ident),+ $(,)?) => {$(
        mod $check {
            use crate::cli::Cli;

            #[test]
            fn claude() {
                super::$check(Cli::Claude);
            }

            #[test]
            fn codex() {
                super::$check(Cli::Codex);
            }

            #[test]
            fn gemini() {
                super::$check(Cli::Gemini);
            }

            #[test]
            fn opencode() {
                super::$check(Cli::Opencode);
            }
        }
    )+};
}

mod answers;
mod cli;
mod desk;
mod failures;
mod model;
mod runner;
mod sandboxed;
mod sprint;
mod stops;
mod tasks;
mod users;
