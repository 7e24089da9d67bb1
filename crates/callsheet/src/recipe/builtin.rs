//! The recipes that come with the library.

use std::sync::OnceLock;

use super::{Folder, Recipe};
use crate::Error;

macro_rules! recipes {
    ($($name:literal: [$($file:literal),* $(,)?]),* $(,)?) => {
        [$(BuiltIn {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../recipes/", $name, "/", $file)))),*],
            shared: &[],
            sample: Some(include_str!(concat!("../../recipes/", $name, "/sample.yaml"))),
            parsed: OnceLock::new(),
        }),*]
    };
}

/// The phases of a sprint: what differs between them stands in their folders, the rest beside these.
macro_rules! phases {
    ($($name:literal),* $(,)?) => {
        [$(BuiltIn {
            name: concat!("sprint/", $name),
            files: &[
                ("recipe.toml", concat!(
                    include_str!(concat!("../../recipes/sprint/", $name, "/phase.toml")),
                    include_str!("../../recipes/sprint/layers.toml"),
                )),
                ("report.md", include_str!(concat!("../../recipes/sprint/", $name, "/report.md"))),
                ("steps.md", include_str!(concat!("../../recipes/sprint/", $name, "/steps.md"))),
                ("findings.md", include_str!("../../recipes/sprint/findings.md")),
                ("head.md", include_str!("../../recipes/sprint/head.md")),
                ("input.schema.json", include_str!("../../recipes/sprint/input.schema.json")),
            ],
            shared: &SPRINT,
            sample: None,
            parsed: OnceLock::new(),
        }),*]
    };
}

struct BuiltIn {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Files that stand in the folders of several recipes.
    shared: &'static [(&'static str, &'static str)],
    /// An input that shows what the recipe takes.
    sample: Option<&'static str>,
    parsed: OnceLock<Result<Recipe, Error>>,
}

/// The recipe that composes what an agent gets for a task; a project has its own by ejecting it.
pub const FOR_TASKS: &str = "run";

static RECIPES: [BuiltIn; 6] = recipes! {
    "injection": ["input.schema.json", "recipe.toml"],
    "layers": ["input.schema.json", "recipe.toml"],
    "messages": [
        "base-rules-conversation.md", "base-rules-run.md", "data-context.md", "input.schema.json", "node-brief.md",
        "persona-profile.md", "protocol-active.md", "protocol-post-run.md", "recipe.toml", "run-directive.md",
        "tool-policy.md", "user-input.md",
    ],
    "pack": ["input.schema.json", "recipe.toml"],
    "review": ["input.schema.json", "recipe.toml", "reviewer.md"],
    "run": [
        "additional-input.md",
        "approval-here.md",
        "approval.md",
        "changed-files.md",
        "changed-paths.md",
        "constraints.md",
        "default-role.md",
        "description.md",
        "digest.md",
        "done-when.md",
        "input.schema.json",
        "output-format.md",
        "prohibited-here.md",
        "prohibited.md",
        "read-first-nothing.md",
        "read-first-paths.md",
        "recipe.toml",
        "role.md",
        "task.md",
        "violation-paths.md",
        "violations.md",
        "workspace.md",
    ],
};

static PHASES: [BuiltIn; 9] = phases![
    "code-review",
    "commit",
    "create-story",
    "dev-story",
    "discovery",
    "resolve-conflict",
    "story-review",
    "tech-spec",
    "tech-spec-review",
];

static PROJECT_CONTEXT: BuiltIn = BuiltIn {
    name: "sprint/project-context",
    files: &[
        (
            "input.schema.json",
            include_str!("../../recipes/sprint/project-context/input.schema.json"),
        ),
        (
            "recipe.toml",
            include_str!("../../recipes/sprint/project-context/recipe.toml"),
        ),
        (
            "report.md",
            include_str!("../../recipes/sprint/project-context/report.md"),
        ),
        (
            "steps.md",
            include_str!("../../recipes/sprint/project-context/steps.md"),
        ),
    ],
    shared: &SPRINT,
    sample: None,
    parsed: OnceLock::new(),
};

/// What all phases of a sprint have.
static SPRINT: [(&str, &str); 4] = [
    (
        "previous.md",
        include_str!("../../recipes/sprint/previous.md"),
    ),
    ("rules.md", include_str!("../../recipes/sprint/rules.md")),
    ("scope.md", include_str!("../../recipes/sprint/scope.md")),
    (
        "workflow.md",
        include_str!("../../recipes/sprint/workflow.md"),
    ),
];

fn all() -> impl Iterator<Item = &'static BuiltIn> {
    RECIPES.iter().chain(&PHASES).chain([&PROJECT_CONTEXT])
}

/// Returns the names of the recipes that come with the library.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    all().map(|recipe| recipe.name)
}

/// Returns a recipe that comes with the library; it is parsed once.
pub fn built_in(name: &str) -> Option<Result<&'static Recipe, Error>> {
    let recipe = all().find(|recipe| recipe.name == name)?;
    let parsed = recipe.parsed.get_or_init(|| {
        let folder: Folder = recipe
            .files
            .iter()
            .chain(recipe.shared)
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        Recipe::parse(recipe.name, &format!("recipes/{}", recipe.name), folder)
    });
    Some(parsed.as_ref().map_err(Clone::clone))
}

/// Returns the sample input of a recipe that comes with the library, where it has one.
pub fn built_in_sample(name: &str) -> Option<&'static str> {
    all().find(|recipe| recipe.name == name)?.sample
}
