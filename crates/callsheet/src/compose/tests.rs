//! The engine over user recipes: budgets, frames, source maps, losses.

use serde_json::json;

use super::*;
use crate::recipe::Folder;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn recipe(toml: &str) -> Recipe {
    let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    Recipe::parse("mine", "callsheet/recipes/mine", folder).unwrap()
}

#[test]
fn pack_prints_tree_and_files() {
    let project = folder(&[
        ("b/c.rs", "fn c() {}\n"),
        ("a.md", "```\nx\n```"),
        ("Cargo.lock", "x"),
    ]);
    let inputs = Inputs::new(Root::open(project.path()).unwrap());
    let pack = crate::recipe::built_in("pack").unwrap().unwrap();
    let xml = compose(pack, &json!({}), &inputs, &Options::default()).unwrap();
    assert_eq!(
        xml.text,
        "<tree>\na.md\nb/\n  c.rs\n</tree>\n<file path=\"a.md\">\n```\nx\n```\n</file>\n<file path=\"b/c.rs\">\nfn c() {}\n\n</file>\n"
    );
    let omitted: Vec<_> = xml
        .manifest
        .omissions
        .iter()
        .map(Omission::sentence)
        .collect();
    assert_eq!(omitted, ["`Cargo.lock` is left out by the recipe"]);
    let markdown = compose(
        pack,
        &json!({"format": "markdown", "globs": ["*.md"]}),
        &inputs,
        &Options::default(),
    )
    .unwrap();
    assert_eq!(
        markdown.text,
        "## Tree\n\n```\na.md\n```\n\n## a.md\n\n````md\n```\nx\n```\n````\n"
    );
    let json_text = compose(
        pack,
        &json!({"format": "json"}),
        &inputs,
        &Options::default(),
    )
    .unwrap()
    .text;
    let parsed: Value = serde_json::from_str(&json_text).unwrap();
    assert_eq!(
        parsed,
        json!({"tree": "a.md\nb/\n  c.rs", "files": [
            {"path": "a.md", "content": "```\nx\n```"}, {"path": "b/c.rs", "content": "fn c() {}\n"}]})
    );
}
use crate::omission::Omission;
