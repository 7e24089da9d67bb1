//! What a task asks for, as it is kept in the store.

use callsheet::scope::ScopeGlobs;
use callsheet_store::Task;
use serde::{Deserialize, Serialize};

use crate::RunError;

/// What a task asks for. It never changes after the task was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskBody {
    /// What is to be done, in as many words as it takes.
    pub description: Option<String>,
    /// Patterns of the paths that may be written.
    pub write_scope: Vec<String>,
    /// Patterns of the paths that may not be touched.
    pub exclude: Vec<String>,
    /// What holds when it is done, in the words of whoever added it.
    pub done_when: Vec<String>,
    /// The branch that it starts from and is merged into.
    pub base: Option<String>,
}

impl TaskBody {
    /// Reads what a stored task asks for.
    pub fn read(task: &Task) -> Result<Self, RunError> {
        serde_json::from_value(task.body.clone())
            .map_err(|error| RunError::Input(format!("task `{}`: {error}", task.id)))
    }

    /// Checks the patterns; `write` and `exclude` are what a user calls their lists.
    pub fn check(&self, write: &str, exclude: &str) -> Result<(), callsheet::Error> {
        ScopeGlobs::new(write, &self.write_scope)?;
        ScopeGlobs::new(exclude, &self.exclude)?;
        Ok(())
    }
}
