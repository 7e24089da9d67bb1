//! `recipe check`: what is wrong, or suspicious, about recipes.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callsheet::inputs::Disk;
use callsheet::observe::{Observer, Question};
use callsheet::omission::Refusal;
use callsheet::recipe::{SAMPLE_FILE, built_in, built_in_sample};
use callsheet::{ErrorKind, Options, Recipe, Root, draft, recipe};
use callsheet_run::ProjectObserver;
use serde_json::json;

use crate::failure::Failure;
use crate::input;
use crate::output::{Output, Talk, one_line};
use crate::project::{Project, RECIPES};
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
                let findings = findings(found.recipe(), found.home()).into_iter();
                let findings: Vec<String> = findings.map(|problem| one_line(&problem)).collect();
                // A template with a mistake in it cannot be composed for the same reason.
                let sample = sample(project, found.recipe(), out)?.filter(|text| {
                    !findings
                        .iter()
                        .any(|found| text.starts_with(found.as_str()))
                });
                problems.extend(findings.into_iter().chain(sample));
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
                findings.push(format!("{home}/recipe.toml:{line}: `{name}` in the condition is not a field of the input (`{known}`)"));
            }
        }
    }
    findings
}

/// Composes a recipe with its sample, where it has one; returns what is wrong.
fn sample(project: &Project, recipe: &Recipe, out: Output) -> Result<Option<String>, Failure> {
    let path = format!("{RECIPES}/{}/{SAMPLE_FILE}", recipe.name);
    let text = match sample_text(&project.open()?, &recipe.name, &path) {
        Ok(Some(text)) => text,
        Ok(None) => {
            if out.talk == Talk::Verbose {
                out.note(&format!("there is no {path} to compose the recipe with"));
            }
            return Ok(None);
        }
        Err(why) => return Ok(Some(format!("{path}: {why}"))),
    };
    let input = input::sample(&path, &text).and_then(|read| read.complete(project, recipe));
    let input = match input {
        Ok(input) => input,
        Err(failure) => return Ok(Some(failure.text())),
    };
    let observer = Noting::new(project);
    let refused = Arc::clone(&observer.refused);
    let inputs = project.inputs(&Disk::default())?.with_observer(observer);
    let Err(error) = draft(recipe, &input, inputs, &Options::default()) else {
        return Ok(None);
    };
    let kind = error.kind();
    let failure = Failure::from(match kind {
        ErrorKind::BadInput => error.at(path.as_str(), None),
        _ => error,
    });
    // What is not there yet, or has not changed, is not a mistake of the recipe.
    let of_project = [
        ErrorKind::Unreadable,
        ErrorKind::NoChange,
        ErrorKind::NoMatch,
    ];
    if of_project.contains(&kind) || refused.load(Ordering::Relaxed) {
        out.note(&format!(
            "{path} cannot be composed here: {}",
            failure.text()
        ));
        return Ok(None);
    }
    Ok(Some(failure.text()))
}

/// Asks the repository and runs commands, and remembers whether that was refused.
#[derive(Debug)]
struct Noting {
    inner: ProjectObserver,
    refused: Arc<AtomicBool>,
}

impl Noting {
    fn new(project: &Project) -> Self {
        Self {
            inner: project.observer(),
            refused: Arc::default(),
        }
    }
}

impl Observer for Noting {
    fn observe(&self, question: &Question, most: u64) -> Result<Vec<u8>, Refusal> {
        let answer = self.inner.observe(question, most);
        self.refused.fetch_or(answer.is_err(), Ordering::Relaxed);
        answer
    }

    fn commands(&self) -> Vec<String> {
        self.inner.commands()
    }
}

/// Returns the sample of a recipe of the project, or of one that comes along.
fn sample_text(root: &Root, name: &str, path: &str) -> Result<Option<String>, String> {
    if !recipe::is_own(name, root) {
        return Ok(built_in_sample(name).map(str::to_owned));
    }
    if !root.has(path) {
        return Ok(None);
    }
    let bytes = root.read(path).map_err(|refusal| refusal.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    Ok(Some(text))
}
