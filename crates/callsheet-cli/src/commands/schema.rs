//! `schema`: the JSON Schema of a recipe's input.

use std::process::ExitCode;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::settings;

/// Print the JSON Schema of a recipe's input
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet schema injection
  callsheet schema --settings        the schema of callsheet.toml")]
pub(crate) struct Args {
    /// The recipe: one of `callsheet recipe list`
    #[arg(required_unless_present = "settings")]
    recipe: Option<String>,

    /// Print the schema of callsheet.toml instead
    #[arg(long, conflicts_with = "recipe")]
    settings: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        match self.recipe {
            Some(name) => out.document(project.recipe(&name)?.recipe().schema.document())?,
            None => out.data(settings::SCHEMA)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
