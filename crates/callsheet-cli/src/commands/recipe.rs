//! `recipe`: list, show, eject, write, check and test recipes.

mod check;
mod eject;
mod new;
mod test;

use std::process::ExitCode;

use callsheet::recipe::built_in_names;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::{Found, Project, RECIPES};
use crate::table::{Align, Table};

/// List, show, eject, write, check and test recipes
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet recipe list
  callsheet recipe show injection
  callsheet recipe new triage
  callsheet recipe eject layers --as review
  callsheet recipe check
  callsheet recipe test triage --update")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the recipes: built in, and the project's own
    List,
    /// Show the layers of a recipe
    Show {
        /// The recipe
        name: String,
    },
    /// Copy a built-in recipe into the project, to change it
    Eject {
        /// The built-in recipe
        name: String,
        /// The name of the copy [default: the same, which then wins over the built-in one]
        #[arg(long = "as", value_name = "NAME")]
        copy: Option<String>,
    },
    /// Write a recipe that works at once into the project, to change it
    ///
    /// A recipe.toml with templates, the JSON Schema of its input, a sample input and a first case for `callsheet recipe test`.
    /// Nothing is overwritten.
    #[command(after_help = "\
Examples:
  callsheet recipe new triage
  callsheet compose triage --input callsheet/recipes/triage/sample.yaml")]
    New {
        /// The name: a word, or two with a `/` between them
        name: String,
    },
    /// Run the cases of the project's own recipes: callsheet/recipes/NAME/tests/CASE.json
    ///
    /// A case has the files that it reads, an input, and the exact result. Exits with 1 if a result differs.
    #[command(after_help = "\
Examples:
  callsheet recipe test
  callsheet recipe test triage
  callsheet recipe test triage --update      take over what is composed now")]
    Test {
        /// The recipes [default: all of the project's own]
        names: Vec<String>,
        /// Write what is composed now into the cases that differ
        #[arg(long)]
        update: bool,
    },
    /// Check the project's own recipes, and compose each with its sample.yaml
    Check {
        /// The recipes [default: all of the project's own]
        names: Vec<String>,
    },
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        match self.command {
            Command::List => list(project, out),
            Command::Show { name } => show(&project.recipe(&name)?, out),
            Command::Eject { name, copy } => {
                eject::eject(project, &name, copy.as_deref().unwrap_or(&name), out)
            }
            Command::New { name } => new::new(project, &name, out),
            Command::Test { names, update } => test::test(project, &names, update, out),
            Command::Check { names } => check::check(project, &names, out),
        }
    }
}

fn list(project: &Project, out: Output) -> Result<ExitCode, Failure> {
    let own = project.own_recipes()?;
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for name in own.keys() {
        let home = format!("{RECIPES}/{name}");
        let description = match project.own_recipe(name) {
            Ok(recipe) => recipe.description,
            Err(_) => format!("(cannot be read: `callsheet recipe check {name}` says why)"),
        };
        rows.push((name.clone(), home, description));
    }
    for name in built_in_names().filter(|name| !own.contains_key(*name)) {
        if let Found::BuiltIn(recipe) = project.recipe(name)? {
            rows.push((
                name.to_owned(),
                "built in".to_owned(),
                recipe.description.clone(),
            ));
        }
    }
    rows.sort();
    if out.json {
        let recipes = rows.iter().map(|(name, home, description)| json!({"name": name, "home": home, "description": description}));
        out.document(
            &json!({"schema": "callsheet.recipes/1", "recipes": recipes.collect::<Vec<_>>()}),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("HOME", Align::Left),
        ("DESCRIPTION", Align::Left),
    ]);
    for (name, home, description) in rows {
        table.row([name, home, description]);
    }
    out.text(&table.render())?;
    Ok(ExitCode::SUCCESS)
}

fn show(found: &Found, out: Output) -> Result<ExitCode, Failure> {
    let recipe = found.recipe();
    let layers: Vec<Value> = recipe
        .layers
        .iter()
        .map(|layer| {
            json!({
                "name": layer.name, "role": layer.role, "when": layer.when.as_ref().map(callsheet::recipe::Condition::expression),
                "priority": priority(layer.priority), "volatility": layer.volatility, "trust": layer.trust, "cut": layer.may_cut, "optional": layer.optional,
            })
        })
        .collect();
    if out.json {
        let files: Vec<&String> = recipe.folder().keys().collect();
        out.document(&json!({
            "schema": "callsheet.recipe/1", "name": recipe.name, "home": found.home(), "description": recipe.description,
            "fingerprint": recipe.fingerprint, "shape": recipe.shape, "separator": recipe.separator, "files": files, "layers": layers,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("LAYER", Align::Left),
        ("ROLE", Align::Left),
        ("PRIORITY", Align::Left),
        ("CHANGES", Align::Left),
        ("TRUST", Align::Left),
        ("WHEN", Align::Left),
    ]);
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    for layer in &layers {
        let when = if layer["when"].is_null() {
            "always".to_owned()
        } else {
            text(&layer["when"])
        };
        let cells =
            ["name", "role", "priority", "volatility", "trust"].map(|key| text(&layer[key]));
        table.row(cells.into_iter().chain([when]));
    }
    let files: Vec<&str> = recipe.folder().keys().map(String::as_str).collect();
    let head = format!("{} ({}): {}", recipe.name, found.home(), recipe.description);
    out.text(&format!(
        "{}\n{}\nfiles: {}\n\n{}",
        one_line(&head),
        recipe.fingerprint,
        one_line(&files.join(", ")),
        table.render()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn priority(priority: callsheet::Priority) -> Value {
    match priority {
        callsheet::Priority::Required => json!("required"),
        callsheet::Priority::Optional(number) => json!(number),
    }
}
