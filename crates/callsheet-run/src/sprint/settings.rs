//! What a project sets about its sprints.
//!
//! Only shapes are checked here. Whether a runner, a model or a file is there is found out when it is needed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use callsheet::sprint::machine::{Budget, Rules, StopPolicy};

/// What a project sets about its sprints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SprintSettings {
    /// The runner of its agents, instead of the project's.
    #[serde(deserialize_with = "some_name")]
    pub runner: Option<String>,
    /// The model of later code reviews, and of reviews in the background; by default `haiku`, where the runner's CLI knows it.
    #[serde(deserialize_with = "some_name")]
    pub review_model: Option<String>,
    /// The attempt from which on a code review has that model.
    pub haiku_after_review: u32,
    /// How many code reviews a story gets before it is blocked.
    pub max_code_review_attempts: u32,
    /// The age in hours above which the context of the project is written anew.
    pub project_context_max_age_hours: u64,
    /// The size in KiB above which an injection is reported.
    #[serde(deserialize_with = "positive")]
    pub injection_warning_kb: u64,
    /// The size in KiB above which an injection is refused.
    #[serde(deserialize_with = "positive")]
    pub injection_error_kb: u64,
    /// How many cycles a batch has where nobody says it.
    pub default_max_cycles: u32,
    /// What a stop does to agents that are running.
    pub stop: StopPolicy,
    /// The board, relative to the root, instead of the first one that is found.
    #[serde(deserialize_with = "path")]
    pub board: Option<String>,
    /// The directory of the project's own workflows, relative to the root.
    #[serde(deserialize_with = "path")]
    pub workflows: Option<String>,
    /// What a story may cost.
    pub story_budget: Budget,
    /// What a batch may cost.
    pub batch_budget: Budget,
    /// Where its files are.
    pub paths: SprintPaths,
}

impl Default for SprintSettings {
    fn default() -> Self {
        Self {
            runner: None,
            review_model: None,
            haiku_after_review: 2,
            max_code_review_attempts: 10,
            project_context_max_age_hours: 24,
            injection_warning_kb: 100,
            injection_error_kb: 150,
            default_max_cycles: 2,
            stop: StopPolicy::Drain,
            board: None,
            workflows: None,
            story_budget: Budget::default(),
            batch_budget: Budget::default(),
            paths: SprintPaths::default(),
        }
    }
}

impl SprintSettings {
    /// Returns what holds for a batch of these settings.
    pub fn rules(&self) -> Rules {
        Rules {
            max_cycles: Some(self.default_max_cycles),
            review_model_after: self.haiku_after_review,
            max_code_reviews: self.max_code_review_attempts,
            story_budget: self.story_budget,
            batch_budget: self.batch_budget,
            ..Rules::default()
        }
    }

    /// Returns what does not fit together in settings that fit one by one.
    pub fn contradiction(&self) -> Option<String> {
        let (warning, error) = (self.injection_warning_kb, self.injection_error_kb);
        (warning > error).then(|| {
            format!(
                "`sprint.injection_warning_kb` is {warning}, more than `sprint.injection_error_kb`, which is {error}"
            )
        })
    }
}

/// Where the files of a sprint are, relative to the root; what is not set is as it is everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SprintPaths {
    /// The directory of story files.
    #[serde(deserialize_with = "path")]
    pub implementation_artifacts: Option<String>,
    /// The directory of planning files.
    #[serde(deserialize_with = "path")]
    pub planning_artifacts: Option<String>,
    /// The directory that files of finished stories are moved to.
    #[serde(deserialize_with = "path")]
    pub archived_artifacts: Option<String>,
    /// The context of the project.
    #[serde(deserialize_with = "path")]
    pub project_context: Option<String>,
    /// The copy of it that a batch works with.
    #[serde(deserialize_with = "path")]
    pub sprint_project_context: Option<String>,
}

/// Where the files of a sprint are, with nothing left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The directory of story files.
    pub implementation_artifacts: String,
    /// The directory of planning files.
    pub planning_artifacts: String,
    /// The directory that files of finished stories are moved to.
    pub archived_artifacts: String,
    /// The context of the project.
    pub project_context: String,
    /// The copy of it that a batch works with.
    pub sprint_project_context: String,
}

impl SprintPaths {
    /// Returns these paths, and those of `shared` where there is none.
    #[must_use]
    pub fn or(self, shared: Self) -> Self {
        Self {
            implementation_artifacts: self
                .implementation_artifacts
                .or(shared.implementation_artifacts),
            planning_artifacts: self.planning_artifacts.or(shared.planning_artifacts),
            archived_artifacts: self.archived_artifacts.or(shared.archived_artifacts),
            project_context: self.project_context.or(shared.project_context),
            sprint_project_context: self
                .sprint_project_context
                .or(shared.sprint_project_context),
        }
    }

    /// Returns where everything is.
    pub fn layout(&self) -> Layout {
        let or = |path: &Option<String>, default: &str| {
            path.clone().unwrap_or_else(|| default.to_owned())
        };
        let planning = or(&self.planning_artifacts, "_bmad-output/planning-artifacts");
        let context = format!("{planning}/project-context.md");
        let frozen = format!("{planning}/sprint-project-context.md");
        Layout {
            implementation_artifacts: or(
                &self.implementation_artifacts,
                "_bmad-output/implementation-artifacts",
            ),
            archived_artifacts: or(&self.archived_artifacts, "_bmad-output/archived-artifacts"),
            project_context: or(&self.project_context, &context),
            sprint_project_context: or(&self.sprint_project_context, &frozen),
            planning_artifacts: planning,
        }
    }
}

/// Reads the name of a runner or a model, which is one line of text.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if name.trim().is_empty() || name.starts_with('-') || name.contains(char::is_control) {
        return Err(D::Error::custom(format!("`{name}` is not a valid name")));
    }
    Ok(name)
}

fn some_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    name(from).map(Some)
}

/// Reads a number that is at least 1.
fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        0 => Err(D::Error::custom("`0` is too small; use at least 1")),
        number => Ok(number),
    }
}

/// Reads a path below the root.
fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let path = String::deserialize(from)?;
    let bad = |why: &str| Err(D::Error::custom(format!("cannot use `{path}`: {why}")));
    if path.starts_with('/') {
        return bad("paths are relative to the root");
    }
    if path.split('/').any(|part| part == "..") {
        return bad("`..` would lead out of the root");
    }
    if path.contains(char::is_control) {
        return bad("it contains a control character");
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    match parts.first() {
        None => bad("it is not a file or directory below the root"),
        Some(&(".git" | ".callsheet")) => bad("nothing of a project is kept there"),
        Some(_) => Ok(Some(parts.join("/"))),
    }
}

#[cfg(test)]
mod tests;
