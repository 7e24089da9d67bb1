//! `schema`: the JSON Schema of a recipe's input, and of the files that people write.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::Output;
use crate::project::{Project, RECIPES};
use crate::schemas::Described;

/// Print the JSON Schema of a recipe's input, of recipe.toml or of callsheet.toml
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet schema injection         the input of a recipe
  callsheet schema recipe            the schema of recipe.toml
  callsheet schema settings          the schema of callsheet.toml")]
pub(crate) struct Args {
    /// The recipe: one of `callsheet recipe list`; or `recipe` or `settings`
    #[arg(value_name = "RECIPE", required_unless_present = "settings")]
    name: Option<String>,

    /// The former spelling of `callsheet schema settings`
    #[arg(long, conflicts_with = "name", hide = true)]
    settings: bool,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let name = self.name.as_deref().unwrap_or(Described::Settings.name());
        let mut document = match Described::named(name) {
            Some(described) => {
                note_recipe(project, name, out)?;
                // The text is part of the program and parsed by a test.
                serde_json::from_str(described.schema()).unwrap_or_default()
            }
            None => project.recipe(name)?.recipe().schema.document().clone(),
        };
        // A JSON Schema with one more keyword is a JSON Schema still.
        if let (true, Value::Object(fields)) = (out.json, &mut document) {
            fields.insert("schema".to_owned(), json!("callsheet.schema/1"));
        }
        out.document(&document)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Says that a recipe of the project has the name of a file that is described instead.
fn note_recipe(project: &Project, name: &str, out: Output) -> Result<(), Failure> {
    if project.own_recipes()?.contains_key(name) {
        let detail = format!(
            "this is not the schema of the recipe `{RECIPES}/{name}`; rename that to get its own"
        );
        out.note(&detail);
    }
    Ok(())
}
