//! `recipe test`: the cases of recipes, each an input with the exact result.
//!
//! A case is composed in a folder of its own, with the files that it brings along: neither the project nor its settings
//! have a say in the result.

use std::path::Path;
use std::process::ExitCode;

use callsheet::case::{Case, Entry, ROOT};
use callsheet::inputs::Disk;
use callsheet::{Composition, Error, Inputs, Recipe, Root, compose, recipe};
use callsheet_run::below::Below;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, one_line, unwritten, write_below};
use crate::project::{Project, RECIPES};

/// The folder of the cases within that of a recipe.
const TESTS: &str = "tests";

/// A case with what became of it.
struct Ran {
    recipe: String,
    name: String,
    description: String,
    differences: Vec<String>,
    /// Whether its file has what was composed now.
    updated: bool,
}

pub(super) fn test(
    project: &Project,
    names: &[String],
    update: bool,
    out: Output,
) -> Result<ExitCode, Failure> {
    let own = project.own_recipes()?;
    let names: Vec<String> = if names.is_empty() {
        own.keys().cloned().collect()
    } else {
        names.to_vec()
    };
    let root = project.open()?;
    let mut all = Vec::new();
    for name in &names {
        // An unknown name is told with those that are known.
        recipe::known(name, Some(&root)).map_err(Failure::from)?;
        let read = recipe::find(name, Some(&root));
        let recipe = read.as_ref().map(recipe::Found::recipe);
        let cases = cases(&root, name)?;
        if cases.is_empty() && names.len() == 1 {
            out.note(&format!(
                "recipe `{name}` has no cases; write one to {RECIPES}/{name}/{TESTS}/NAME.json"
            ));
        }
        for case in cases {
            let ran = run(&root, name, &case, recipe, update)?;
            if !out.json {
                out.text(&case_text(&ran))?;
            }
            all.push(ran);
        }
    }
    if out.json {
        out.document(&document(&all))?;
    }
    verdict(&all, out)
}

/// Returns the files with the cases of a recipe, sorted.
fn cases(root: &Root, recipe: &str) -> Result<Vec<String>, Failure> {
    let folder = format!("{RECIPES}/{recipe}/{TESTS}");
    if !root.has(&folder) {
        return Ok(Vec::new());
    }
    let listed = root.list_where(&folder, |name| name.ends_with(".json"));
    let listed = listed.map_err(|refusal| unread(&folder, &refusal.to_string()))?;
    let mut names = listed.names;
    names.sort_unstable();
    Ok(names
        .iter()
        .map(|name| format!("{folder}/{name}"))
        .collect())
}

fn unread(path: &str, why: &str) -> Failure {
    Failure::input(format!("{path}: {why}"))
}

/// Runs one case, and writes down what was composed if that is asked for.
fn run(
    root: &Root,
    name: &str,
    path: &str,
    recipe: Result<&Recipe, &Error>,
    update: bool,
) -> Result<Ran, Failure> {
    let bytes = root.read(path);
    let bytes = bytes.map_err(|refusal| unread(path, &refusal.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unread(path, "not UTF-8 text"))?;
    let mut ran = Ran {
        recipe: name.to_owned(),
        name: stem(path).to_owned(),
        description: String::new(),
        differences: Vec::new(),
        updated: false,
    };
    let case = match Case::parse(&text, path) {
        Ok(case) if case.recipe.is_empty() => case,
        Ok(_) => {
            ran.differences = vec![format!(
                "{path}: a case of a recipe has no `recipe` of its own"
            )];
            return Ok(ran);
        }
        Err(error) => {
            // A name in it may hold line breaks, and is not a line of ours.
            ran.differences = vec![one_line(&error.to_string())];
            return Ok(ran);
        }
    };
    ran.description.clone_from(&case.description);
    let composed = composed(&case, recipe)?;
    ran.differences = case.differences(composed.as_ref());
    if update && !ran.differences.is_empty() {
        write_below(root, path, &Case::updated(&text, composed.as_ref()))?;
        ran.differences.clear();
        ran.updated = true;
    }
    Ok(ran)
}

/// Composes a case in a new folder; the outer failure is the machine's.
fn composed(
    case: &Case,
    recipe: Result<&Recipe, &Error>,
) -> Result<Result<Composition, Error>, Failure> {
    let cannot =
        |cause: &std::io::Error| Failure::refused("cannot make the folder of a case", cause);
    let place = tempfile::tempdir().map_err(|cause| cannot(&cause))?;
    lay_out(case, place.path())?;
    let recipe = match recipe {
        Ok(recipe) => recipe,
        Err(error) => return Ok(Err(error.clone())),
    };
    let root = Disk::default().open(place.path().join(ROOT))?;
    let inputs = Inputs::new(root).with_observer(case.witness());
    Ok(compose(recipe, &case.input, &inputs, &case.options()))
}

/// Makes what a case wants to find; nothing is written out of the folder.
fn lay_out(case: &Case, place: &Path) -> Result<(), Failure> {
    let ground = Root::open(place)?;
    let failed = |path: &str, why| unwritten(path, why);
    Below::make(&ground, ROOT).map_err(|why| failed(ROOT, why))?;
    for (path, entry) in case.entries() {
        let inner = match path.strip_prefix("../") {
            Some(beside) => beside.to_owned(),
            None => format!("{ROOT}/{path}"),
        };
        match entry {
            Entry::Folder => drop(Below::make(&ground, &inner).map_err(|why| failed(path, why))?),
            Entry::File(bytes) => callsheet_run::below::write(&ground, &inner, bytes)
                .map_err(|why| failed(path, why))?,
            Entry::Link(target) => {
                let (folder, _) = callsheet_run::below::split(&inner);
                Below::make(&ground, folder).map_err(|why| failed(path, why))?;
                std::os::unix::fs::symlink(target, place.join(&inner))
                    .map_err(|cause| Failure::refused(&format!("cannot write `{path}`"), &cause))?;
            }
        }
    }
    Ok(())
}

fn stem(path: &str) -> &str {
    let (_, name) = callsheet_run::below::split(path);
    name.trim_end_matches(".json")
}

/// Returns what is said of a case: one line, and where it differs the lines that do.
fn case_text(ran: &Ran) -> String {
    let name = one_line(&format!("{}/{}", ran.recipe, ran.name));
    let word = match (ran.updated, ran.differences.is_empty()) {
        (true, _) => "updated",
        (false, true) => "ok",
        (false, false) => "FAILED",
    };
    let mut text = format!("{word:<7} {name}");
    if !ran.description.is_empty() && word == "FAILED" {
        text.push_str(&format!(": {}", one_line(&ran.description)));
    }
    text.push('\n');
    for line in ran.differences.iter().flat_map(|one| one.lines()) {
        text.push_str(&format!("  {}\n", one_line(line.trim_start())));
    }
    text
}

fn document(all: &[Ran]) -> Value {
    let cases = all.iter().map(|ran| {
        json!({
            "recipe": ran.recipe, "case": ran.name, "description": ran.description,
            "passed": ran.differences.is_empty(), "updated": ran.updated, "differences": ran.differences,
        })
    });
    json!({"schema": "callsheet.recipe-test/1", "cases": cases.collect::<Vec<_>>()})
}

fn verdict(all: &[Ran], out: Output) -> Result<ExitCode, Failure> {
    let count = all.len();
    let cases = if count == 1 { "case" } else { "cases" };
    let failed = all.iter().filter(|ran| !ran.differences.is_empty()).count();
    if failed == 0 {
        out.say(&format!("{count} {cases} run, none failed"));
        return Ok(ExitCode::SUCCESS);
    }
    Err(
        Failure::negative(format!("{count} {cases} run, {failed} failed"))
            .hint("`--update` writes what is composed now into the cases; look at the difference"),
    )
}
