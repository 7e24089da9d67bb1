//! What explains a prompt: the manifest, and the source map that says where a byte comes from.
//!
//! `cargo run -p callsheet --example origins` prints the sections, then the origin of one word of each.

use std::error::Error;
use std::io::Write as _;

use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, Root, compose};
use serde_json::json;

/// A template, a field of the input and a file.
const RECIPE: &str = r#"
[[layers]]
name = "task"
template = "task.md"

[[layers]]
name = "rules"
file = "rules.md"
frame = "xml"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(run()?.as_bytes())?;
    Ok(())
}

/// Composes a prompt and returns what explains it.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("rules.md"), "Be brief.\nNever push.\n")?;
    let folder = Folder::from([
        ("recipe.toml".to_owned(), RECIPE.to_owned()),
        ("task.md".to_owned(), "Read this.\nFix {{what}}.".to_owned()),
    ]);
    let recipe = Recipe::parse("fix", "recipes/fix", folder)?;
    let inputs = Inputs::new(Root::open(project.path())?);
    let input = json!({"what": "the login"});
    let composition = compose(&recipe, &input, &inputs, &Options::default())?;

    let mut out = String::new();
    for section in &composition.manifest.sections {
        out.push_str(&format!(
            "{}: {} bytes from {}, {:?}\n",
            section.layer, section.bytes, section.source, section.trust
        ));
    }
    // Every byte has an origin; what has no other one is frame, text of the recipe itself.
    for word in ["Fix", "login", "push", "<file"] {
        let at = composition.text.find(word).ok_or("the word is there")?;
        let span = composition.source_map.at(at).ok_or("every byte has one")?;
        let line = span.line_at(&composition.text, at);
        let line = line.map_or_else(String::new, |line| format!(", line {line}"));
        out.push_str(&format!("`{word}` at byte {at}: {}{line}\n", span.source));
    }
    Ok(out)
}
