//! `schema`: the JSON Schema of a recipe's input.

use std::process::ExitCode;

use serde_json::{Value, json};

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
        let found = self.recipe.map(|name| project.recipe(&name)).transpose()?;
        let mut document = match &found {
            Some(found) => found.recipe().schema.document().clone(),
            // The text is part of the program and parsed by a test.
            None => serde_json::from_str(settings::SCHEMA).unwrap_or_default(),
        };
        // A JSON Schema with one more keyword is a JSON Schema still.
        if let (true, Value::Object(fields)) = (out.json, &mut document) {
            fields.insert("schema".to_owned(), json!("callsheet.schema/1"));
        }
        out.document(&document)?;
        Ok(ExitCode::SUCCESS)
    }
}
