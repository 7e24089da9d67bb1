//! `recipe eject`: a copy of a built-in recipe in the project, and the first line by which an editor finds its schema.

use std::process::ExitCode;

use callsheet::Recipe;
use callsheet::recipe::{
    RECIPE_FILE, SAMPLE_FILE, built_in, built_in_names, built_in_sample, is_name,
};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, make_below, write_below};
use crate::project::{Project, RECIPES};
use crate::schemas::Described;

pub(super) fn eject(
    project: &Project,
    name: &str,
    copy: &str,
    out: Output,
) -> Result<ExitCode, Failure> {
    let recipe: &Recipe = match built_in(name) {
        Some(recipe) => recipe?,
        None => {
            return Err(
                callsheet::Error::unknown("built-in recipe", name, built_in_names()).into(),
            );
        }
    };
    let folder = recipe.folder().iter();
    let files: Vec<(&str, &str)> = folder
        .map(|(file, text)| (file.as_str(), text.as_str()))
        .chain(built_in_sample(name).map(|text| (SAMPLE_FILE, text)))
        .collect();
    let home = write(project, copy, &files, "name the copy with `--as NAME`", out)?;
    out.say(&format!("`callsheet compose {copy}` uses it from now on"));
    if out.json {
        let files: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
        out.document(
            &json!({"schema": "callsheet.ejected/1", "recipe": copy, "home": home, "files": files}),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of a recipe that is not there yet, and the schema of recipe files; returns its folder.
pub(super) fn write(
    project: &Project,
    name: &str,
    files: &[(&str, &str)],
    hint: &str,
    out: Output,
) -> Result<String, Failure> {
    if !is_name(name) || name.split('/').any(|word| word.starts_with('.')) {
        return Err(Failure::input(format!(
            "`{name}` is not a valid name for a recipe"
        )));
    }
    if Described::named(name).is_some() {
        let detail = format!("`{name}` is not a valid name for a recipe");
        return Err(Failure::input(detail).hint(format!(
            "`callsheet schema {name}` prints the schema of a file; choose another name"
        )));
    }
    let home = format!("{RECIPES}/{name}");
    let root = project.open()?;
    make_below(&root, RECIPES)?;
    if root.has(&home) {
        let detail = format!("`{home}` exists already; nothing was changed");
        return Err(Failure::input(detail).hint(hint));
    }
    if Described::Recipe.write(&root)? {
        out.say(&format!("wrote {}", Described::Recipe.path()));
    }
    for (file, text) in files {
        let path = format!("{home}/{file}");
        if *file == RECIPE_FILE {
            write_below(&root, &path, &Described::Recipe.linked(&path, text))?;
        } else {
            write_below(&root, &path, text)?;
        }
        out.say(&format!("wrote {path}"));
    }
    Ok(home)
}
