//! A recipe of one's own: from texts in memory, and the same from a folder of a project.
//!
//! `cargo run -p callsheet --example own_recipe` prints the prompt, and an error with its place.

use std::error::Error;
use std::io::Write as _;

use callsheet::recipe::{Folder, RECIPES, find};
use callsheet::{Inputs, Options, Recipe, Root, compose};
use serde_json::json;

/// The layers: a template of the folder, and a list that is there only if it has entries.
const RECIPE: &str = r#"
[[layers]]
name = "task"
template = "task.md"

[[layers]]
name = "points"
template = "points.md"
when = "points"
"#;

/// A template of the plain language: placeholders and nothing else.
const TASK: &str = "Review {{what}}.\n";

/// A template with a loop says in its header that it is one of jinja.
const POINTS: &str = "---\nengine: jinja\nvariables: [points]\n---\nLook at:\n{% for point in points %}\n- {{ point }}\n{%- endfor %}\n";

fn main() -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(run()?.as_bytes())?;
    Ok(())
}

/// Composes the recipe from both places and returns what there is to see.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let files = [
        ("recipe.toml", RECIPE),
        ("task.md", TASK),
        ("points.md", POINTS),
    ];
    let input = json!({"what": "the login", "points": ["errors", "names"]});

    let folder: Folder = files
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
    let in_memory = Recipe::parse("check", "recipes/check", folder)?;
    let composed = compose(&in_memory, &input, &Inputs::nowhere(), &Options::default())?;

    let project = tempfile::tempdir()?;
    let home = project.path().join(RECIPES).join("check");
    std::fs::create_dir_all(&home)?;
    for (name, text) in files {
        std::fs::write(home.join(name), text)?;
    }
    // A recipe of the project wins over a built-in one of the same name.
    let root = Root::open(project.path())?;
    let found = find("check", Some(&root))?;
    let inputs = Inputs::new(root);
    let again = compose(found.recipe(), &input, &inputs, &Options::default())?;
    let same = composed.text == again.text;

    // A field that nothing uses is an error, and so is a mistake in the recipe, with its line.
    let typo = json!({"waht": "the login"});
    let unknown = compose(&in_memory, &typo, &Inputs::nowhere(), &Options::default());
    let broken = Folder::from([("recipe.toml".to_owned(), RECIPE.replace("when", "wen"))]);
    let broken = Recipe::parse("check", "recipes/check", broken);
    let errors = [unknown.err(), broken.err()].into_iter().flatten();
    let errors: Vec<String> = errors.map(|error| error.headline()).collect();

    Ok(format!(
        "{}\n-- the same from the folder: {same}\n-- {}\n",
        composed.text,
        errors.join("\n-- ")
    ))
}
