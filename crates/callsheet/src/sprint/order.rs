//! Orders: what one phase is asked for, as the input of its recipe.
//!
//! An order says only what it has to say. Everything else is a default of the recipe or a setting of the project, so
//! that a team changes them in one place. Which files exist is told from outside.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Phase;
use crate::story::Match;

/// What one phase is asked for.
///
/// ```
/// use callsheet::sprint::{Phase, PhaseOrder};
/// use serde_json::json;
///
/// let order = PhaseOrder {
///     attempt: Some(2),
///     ..PhaseOrder::new(Phase::CodeReview, ["2a-1"])
/// };
/// assert_eq!(order.recipe(), "sprint/code-review");
/// assert_eq!(json!(order.input()), json!({"story_keys": ["2a-1"], "review_attempt": 2}));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseOrder {
    /// The phase.
    pub phase: Phase,
    /// The stories, in the order in which they are worked on.
    pub story_keys: Vec<String>,
    /// Their epic; nothing means that of the first key.
    pub epic_id: Option<String>,
    /// Which review of the same stories this is, from 1.
    pub attempt: Option<u32>,
    /// Whether it runs in the background, after a first review that found something critical.
    pub chain: bool,
    /// What earlier reviews found, the oldest first.
    pub previous_findings: Vec<EarlierFinding>,
    /// The facts of the run that this one repeats.
    pub previous: Option<PreviousRun>,
    /// Patterns of the paths that may be written, where several batches run at the same time.
    pub write_scope: Vec<String>,
    /// More files to inject, relative to the root.
    pub additional_files: Vec<String>,
    /// Whether files give way, with a record, before their size is an error.
    pub degrade: bool,
    /// From which size on files are a warning, or an error.
    pub limits: PhaseLimits,
    /// Where the project keeps its files.
    pub paths: PhasePaths,
}

/// Something that an earlier review found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlierFinding {
    /// Which review found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How bad it is, as the marker has it.
    pub severity: String,
    /// What it is, on one line.
    pub text: String,
}

/// The facts of a run that is repeated; nothing that its agent said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PreviousRun {
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The exit code, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it ended: exit, signal, timeout, cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination: Option<String>,
    /// Whether it ended without the lines that its report needs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing_marker: bool,
    /// The paths that it changed and may not change, relative to the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// The paths that it changed, relative to the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
}

/// From which size on the files of a prompt are a warning, or an error; nothing means what the recipe says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PhaseLimits {
    /// More bytes than this are a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_bytes: Option<usize>,
    /// More bytes than this are an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_bytes: Option<usize>,
}

/// Where a project keeps the files of its sprints, relative to the root; nothing means what the recipe says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PhasePaths {
    /// The folder of story files, discovery files and tech specs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_artifacts: Option<String>,
    /// The folder of epics and of the project context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning_artifacts: Option<String>,
    /// The frozen project context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprint_project_context: Option<String>,
    /// The live project context; only the phase that writes it has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_context: Option<String>,
    /// The folder of the project's own workflows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflows: Option<String>,
}

impl PhaseOrder {
    /// Makes the order of a phase for some stories, with nothing else said.
    pub fn new<S: Into<String>>(phase: Phase, story_keys: impl IntoIterator<Item = S>) -> Self {
        Self {
            phase,
            story_keys: story_keys.into_iter().map(Into::into).collect(),
            epic_id: None,
            attempt: None,
            chain: false,
            previous_findings: Vec::new(),
            previous: None,
            write_scope: Vec::new(),
            additional_files: Vec::new(),
            degrade: false,
            limits: PhaseLimits::default(),
            paths: PhasePaths::default(),
        }
    }

    /// Returns the name of the recipe that makes the prompt.
    pub fn recipe(&self) -> String {
        self.phase.recipe()
    }

    /// Returns the input of that recipe.
    pub fn input(&self) -> Map<String, Value> {
        let mut input = Map::new();
        let mut set = |name: &str, value: Value| {
            if !is_nothing(&value) {
                input.insert(name.to_owned(), value);
            }
        };
        set("previous", json(&self.previous));
        set("write_scope", json(&self.write_scope));
        let mut paths = self.paths.clone();
        if self.phase == Phase::ProjectContext {
            set("paths", json(&paths));
            return input;
        }
        paths.project_context = None;
        set("paths", json(&paths));
        set("story_keys", json(&self.story_keys));
        set("epic_id", json(&self.epic_id));
        set("review_attempt", json(&self.attempt));
        set("background_chain", json(&self.chain));
        set("previous_findings", json(&self.previous_findings));
        set("additional_files", json(&self.additional_files));
        set("degrade", json(&self.degrade));
        set("limits", json(&self.limits));
        input
    }
}

/// Tells whether a value says nothing that a recipe does not say itself.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn json(value: &impl Serialize) -> Value {
    // Texts, numbers and switches only: serialising them cannot fail.
    serde_json::to_value(value).unwrap_or_default()
}

/// The folders of a project that the files beside a story come from: their paths, and the names of the files in them.
#[derive(Clone, Copy, Debug)]
pub struct Folders<'a> {
    /// The folder of the epics.
    pub planning: (&'a str, &'a [String]),
    /// The folder of the stories.
    pub implementation: (&'a str, &'a [String]),
}

/// Returns the files that whoever writes a story is given beside it: those of its epic, and that of the story before.
///
/// `before` is the key of the story that stands before the first one on the board, where it has the same epic.
pub fn story_context(epic: &str, before: Option<&str>, folders: Folders<'_>) -> Vec<String> {
    let (planning, names) = folders.planning;
    let mut epics: Vec<&String> = names.iter().filter(|name| is_epic(name, epic)).collect();
    epics.sort_by_cached_key(|name| (name.to_lowercase(), (*name).clone()));
    let mut files: Vec<String> = epics
        .into_iter()
        .map(|name| below(planning, name))
        .collect();
    let (implementation, names) = folders.implementation;
    if let Some(key) = before {
        let exact = format!("sprint-{key}.md").to_lowercase();
        let rule = Match::new(&[key], false);
        let is_story = |name: &str| {
            let beside = ["discovery", "tech-spec"]
                .iter()
                .any(|word| name.contains(word));
            name.ends_with(".md") && !beside
        };
        let mut stories: Vec<&String> = names
            .iter()
            .filter(|name| rule.hits(name) && is_story(&name.to_lowercase()))
            .collect();
        stories.sort_by_cached_key(|name| {
            let lower = name.to_lowercase();
            (lower != exact, lower, (*name).clone())
        });
        files.extend(stories.first().map(|name| below(implementation, name)));
    }
    files
}

/// Tells whether a file is about all epics, or about this one: `epics.md`, `epic-2a.md`, `epic-2a-login.md`.
fn is_epic(name: &str, epic: &str) -> bool {
    let name = name.to_lowercase();
    let stem = name.strip_suffix(".md").unwrap_or_default();
    let Some(rest) = stem.strip_prefix("epic") else {
        return false;
    };
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    if rest.is_empty() {
        return true;
    }
    let rest = rest.trim_start_matches(['-', '_', '.', ' ']);
    rest.strip_prefix(&epic.to_lowercase())
        .is_some_and(|after| !after.starts_with(char::is_alphanumeric))
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "" | "." => name.to_owned(),
        _ => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests;
