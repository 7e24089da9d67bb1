//! The recipes that come with the library.

use std::sync::OnceLock;

use super::{Folder, Recipe};
use crate::Error;

macro_rules! recipes {
    ($($name:literal: [$($file:literal),* $(,)?]),* $(,)?) => {
        [$(BuiltIn {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../recipes/", $name, "/", $file)))),*],
            parsed: OnceLock::new(),
        }),*]
    };
}

struct BuiltIn {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    parsed: OnceLock<Result<Recipe, Error>>,
}

static RECIPES: [BuiltIn; 6] = recipes! {
    "injection": ["input.schema.json", "recipe.toml"],
    "layers": ["input.schema.json", "recipe.toml"],
    "messages": [
        "base-rules-conversation.md", "base-rules-run.md", "data-context.md", "input.schema.json", "node-brief.md",
        "persona-profile.md", "protocol-active.md", "protocol-post-run.md", "recipe.toml", "run-directive.md",
        "tool-policy.md",
    ],
    "pack": ["input.schema.json", "recipe.toml"],
    "review": ["input.schema.json", "recipe.toml", "reviewer.md"],
    "run": [
        "approval.md",
        "default-role.md",
        "input.schema.json",
        "output-format.md",
        "prohibited.md",
        "read-first-nothing.md",
        "recipe.toml",
        "workspace.md",
    ],
};

/// Returns the names of the recipes that come with the library.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|recipe| recipe.name)
}

/// Returns a recipe that comes with the library; it is parsed once.
pub fn built_in(name: &str) -> Option<Result<&'static Recipe, Error>> {
    let recipe = RECIPES.iter().find(|recipe| recipe.name == name)?;
    let parsed = recipe.parsed.get_or_init(|| {
        let folder: Folder = recipe
            .files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        Recipe::parse(recipe.name, &format!("recipes/{}", recipe.name), folder)
    });
    Some(parsed.as_ref().map_err(Clone::clone))
}
