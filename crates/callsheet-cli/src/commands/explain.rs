//! `explain`: which section costs what, and what gave way.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::options::{BudgetArgs, InputArgs};
use crate::output::Output;
use crate::project::Project;
use crate::report;

/// Show the sections of a prompt: layer, source, bytes, tokens, share, and what was left out
///
/// Takes what `callsheet compose` takes, and prints a table instead of the prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet explain layers --input input.yaml
  callsheet explain pack -D globs:='[\"src\"]' --token-budget 8k
  callsheet explain injection --input input.json --json")]
pub(crate) struct Args {
    /// The recipe: one of `callsheet recipe list`
    recipe: String,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    budget: BudgetArgs,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let composition = self
            .input
            .compose(project, &self.recipe, &self.budget.options(true))?;
        for event in &composition.events {
            out.warn(&format!("{}: {}", event.kind, event.message()));
        }
        if out.json {
            out.document(&report::explanation(&composition.manifest))?;
        } else {
            out.text(&report::table(&composition.manifest))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
