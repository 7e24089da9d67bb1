//! What a script is played for: the phase of a sprint, its stories and its attempt, by the variables that an agent has.

use std::collections::BTreeMap;

use crate::placeholder;

/// The phase of a sprint that a script is played for; nothing of it outside of a sprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cue {
    /// The name of the command.
    pub phase: Option<String>,
    /// The keys of the stories.
    pub stories: Vec<String>,
    /// Which attempt it is.
    pub attempt: Option<u32>,
    /// What the agent was given, where a scene asks about it.
    pub prompt: String,
}

impl Cue {
    /// Reads it from an environment.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let stories = get("CALLSHEET_STORIES").map(|keys| keys.split(',').map(str::to_owned));
        Self {
            phase: get("CALLSHEET_PHASE").cloned(),
            stories: stories.map(Iterator::collect).unwrap_or_default(),
            attempt: get("CALLSHEET_ATTEMPT").and_then(|attempt| attempt.parse().ok()),
            prompt: String::new(),
        }
    }

    /// Fills `{story}`, `{stories}` and `{attempt}` in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        let values = [
            ("{story}", self.stories.first().cloned().unwrap_or_default()),
            ("{stories}", self.stories.join(",")),
            ("{attempt}", self.attempt.unwrap_or(1).to_string()),
        ];
        placeholder::fill(text, &values)
    }

    /// Returns what it is, for an error.
    pub(super) fn shown(&self) -> String {
        let Some(phase) = &self.phase else {
            return "a run that is not a phase of a sprint".to_owned();
        };
        let mut shown = format!("phase `{phase}`");
        if !self.stories.is_empty() {
            shown.push_str(&format!(", stories `{}`", self.stories.join(",")));
        }
        if let Some(attempt) = self.attempt {
            shown.push_str(&format!(", attempt {attempt}"));
        }
        shown
    }
}
