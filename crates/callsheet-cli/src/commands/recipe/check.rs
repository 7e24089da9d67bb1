//! `recipe check`: what is wrong, or suspicious, about recipes.

use std::process::ExitCode;

use callsheet::Recipe;
use callsheet::recipe::built_in;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::report::verdict;

pub(super) fn check(project: &Project, names: &[String], out: Output) -> Result<ExitCode, Failure> {
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
    let added = recipe.prepare.adds();
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
