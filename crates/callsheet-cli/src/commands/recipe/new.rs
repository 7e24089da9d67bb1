//! `recipe new`: a recipe that works at once, to be changed.

use std::process::ExitCode;

use serde_json::json;

use super::eject::write;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;

/// The files of a new recipe, the first case of its tests among them.
const FILES: [(&str, &str); 6] = [
    ("recipe.toml", include_str!("new/recipe.toml")),
    ("task.md", include_str!("new/task.md")),
    ("points.md", include_str!("new/points.md")),
    ("input.schema.json", include_str!("new/input.schema.json")),
    ("sample.yaml", include_str!("new/sample.yaml")),
    ("tests/list.json", include_str!("new/list.json")),
];

pub(super) fn new(project: &Project, name: &str, out: Output) -> Result<ExitCode, Failure> {
    let home = write(project, name, &FILES, "choose another name", out)?;
    out.say("next:");
    for (command, what) in [
        (
            format!("callsheet compose {name} --input {home}/sample.yaml"),
            "prints the prompt",
        ),
        (
            format!("callsheet recipe check {name}"),
            "looks for mistakes, and composes the sample",
        ),
        (
            format!("callsheet recipe test {name}"),
            "runs the cases in its folder tests/; `--update` writes what is expected",
        ),
    ] {
        out.say(&format!("  `{command}` {what}"));
    }
    if out.json {
        let files = FILES.map(|(file, _)| file);
        out.document(
            &json!({"schema": "callsheet.new-recipe/1", "recipe": name, "home": home, "files": files}),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
