//! `recipe`: list, show, eject and check recipes.

use std::process::ExitCode;

use callsheet::Recipe;
use callsheet::recipe::{built_in, built_in_names, is_name};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, make_below, one_line, write_below};
use crate::project::{Found, Project, RECIPES};
use crate::report::verdict;
use crate::table::{Align, Table};

/// List, show, eject and check recipes
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet recipe list
  callsheet recipe show injection
  callsheet recipe eject layers --as review
  callsheet recipe check")]
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
    /// Check the project's own recipes
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
                eject(project, &name, copy.as_deref().unwrap_or(&name), out)
            }
            Command::Check { names } => check(project, &names, out),
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

fn eject(project: &Project, name: &str, copy: &str, out: Output) -> Result<ExitCode, Failure> {
    let recipe: &Recipe = match built_in(name) {
        Some(recipe) => recipe?,
        None => {
            return Err(
                callsheet::Error::unknown("built-in recipe", name, built_in_names()).into(),
            );
        }
    };
    if !is_name(copy) || copy.split('/').any(|word| word.starts_with('.')) {
        return Err(Failure::input(format!("`{copy}` is no name for a recipe")));
    }
    let shown = format!("{RECIPES}/{copy}");
    let root = project.open()?;
    make_below(&root, RECIPES)?;
    if root.has(&shown) {
        return Err(
            Failure::input(format!("`{shown}` exists already; nothing was changed"))
                .hint("name the copy with `--as NAME`"),
        );
    }
    for (file, text) in recipe.folder() {
        write_below(&root, &format!("{shown}/{file}"), text)?;
        out.say(&format!("wrote {shown}/{file}"));
    }
    out.say(&format!("`callsheet compose {copy}` uses it from now on"));
    if out.json {
        let files: Vec<&String> = recipe.folder().keys().collect();
        out.document(&json!({"schema": "callsheet.ejected/1", "recipe": copy, "home": shown, "files": files}))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(project: &Project, names: &[String], out: Output) -> Result<ExitCode, Failure> {
    let own = project.own_recipes()?;
    let names: Vec<String> = if names.is_empty() {
        own.keys().cloned().collect()
    } else {
        names.to_vec()
    };
    let mut problems = Vec::new();
    for name in &names {
        let known = own.contains_key(name) || built_in(name).is_some();
        match project.recipe(name) {
            Err(failure) if !known => return Err(failure),
            Ok(found) => {
                let found = findings(found.recipe(), found.home()).into_iter();
                problems.extend(found.map(|problem| one_line(&problem)));
            }
            Err(failure) => problems.push(failure.text()),
        }
    }
    if out.json {
        out.document(
            &json!({"schema": "callsheet.check/1", "checked": names, "problems": problems}),
        )?;
    } else {
        for problem in &problems {
            out.text(&format!("{problem}\n"))?;
        }
    }
    verdict(names.len(), "recipe", problems.len(), out)
}

/// Returns what is suspicious about a recipe that can be read.
fn findings(recipe: &Recipe, home: &str) -> Vec<String> {
    let mut findings: Vec<String> = recipe
        .templates
        .check()
        .iter()
        .map(|problem| format!("{home}/{problem}"))
        .collect();
    let fields: Vec<&str> = recipe.schema.fields().collect();
    let added: Vec<&str> = recipe.prepare.adds().collect();
    for layer in &recipe.layers {
        let Some(when) = &layer.when else { continue };
        for name in when.names() {
            let known = fields.contains(&name.as_str()) || added.contains(&name.as_str());
            if !fields.is_empty() && !known {
                let line = when.line();
                let known = fields.join("`, `");
                findings.push(format!("{home}/recipe.toml:{line}: `{name}` in the condition is no field of the input (`{known}`)"));
            }
        }
    }
    findings
}
