//! The phases of a story, and the names that each of them has.

use serde::{Deserialize, Serialize};

/// What one agent does in a sprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Writes the context of the project that all other phases are given.
    ProjectContext,
    /// Writes the story files, and decides which story needs a tech spec.
    CreateStory,
    /// Explores what the stories touch, beside the phase that writes them.
    Discovery,
    /// Reviews the story files and fixes them.
    StoryReview,
    /// Writes tech specs.
    TechSpec,
    /// Reviews the tech specs and fixes them.
    TechSpecReview,
    /// Implements one story.
    DevStory,
    /// Reviews the code of one story and fixes it.
    CodeReview,
    /// Commits the stories that are done.
    Commit,
    /// Resolves the conflicts of a merge.
    ResolveConflict,
}

/// Which groups of files a phase is given beside the story files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFlags {
    /// The frozen context of the project.
    pub project_context: bool,
    /// What the discovery found.
    pub discovery: bool,
    /// Tech specs.
    pub tech_spec: bool,
}

impl Phase {
    /// Every phase, in the order of a cycle.
    pub const ALL: [Self; 10] = [
        Self::ProjectContext,
        Self::CreateStory,
        Self::Discovery,
        Self::StoryReview,
        Self::TechSpec,
        Self::TechSpecReview,
        Self::DevStory,
        Self::CodeReview,
        Self::Commit,
        Self::ResolveConflict,
    ];

    /// Returns the short name: what `sprint parse --phase` takes, and what a recipe is called below `sprint/`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProjectContext => "project-context",
            Self::CreateStory => "create-story",
            Self::Discovery => "discovery",
            Self::StoryReview => "story-review",
            Self::TechSpec => "tech-spec",
            Self::TechSpecReview => "tech-spec-review",
            Self::DevStory => "dev-story",
            Self::CodeReview => "code-review",
            Self::Commit => "commit",
            Self::ResolveConflict => "resolve-conflict",
        }
    }

    /// Returns the name of the command, as agents see it in `CALLSHEET_PHASE` and in injection events.
    pub fn command(self) -> &'static str {
        match self {
            Self::ProjectContext => "generate-project-context",
            Self::CreateStory => "sprint-create-story",
            Self::Discovery => "sprint-create-story-discovery",
            Self::StoryReview => "sprint-story-review",
            Self::TechSpec => "sprint-create-tech-spec",
            Self::TechSpecReview => "sprint-tech-spec-review",
            Self::DevStory => "sprint-dev-story",
            Self::CodeReview => "sprint-code-review",
            Self::Commit => "sprint-commit",
            Self::ResolveConflict => "sprint-resolve-conflict",
        }
    }

    /// Returns the name of the recipe of its prompt.
    pub fn recipe(self) -> String {
        format!("sprint/{}", self.as_str())
    }

    /// Returns the phase with a short name or a command name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.as_str() == name || phase.command() == name)
    }

    /// Returns which groups of files it is given; nothing where it is given no files at all.
    pub fn context(self) -> Option<ContextFlags> {
        let (project_context, discovery, tech_spec) = match self {
            Self::ProjectContext => return None,
            Self::CreateStory | Self::Discovery => (true, false, false),
            Self::StoryReview | Self::TechSpec => (true, true, false),
            Self::TechSpecReview | Self::DevStory | Self::CodeReview | Self::ResolveConflict => {
                (true, true, true)
            }
            Self::Commit => (false, false, false),
        };
        Some(ContextFlags {
            project_context,
            discovery,
            tech_spec,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_found_by_both_of_its_names() {
        for phase in Phase::ALL {
            assert_eq!(Phase::named(phase.as_str()), Some(phase));
            assert_eq!(Phase::named(phase.command()), Some(phase));
        }
        assert_eq!(Phase::named("dev"), None);
    }
}
