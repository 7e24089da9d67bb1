//! Who is asked for project context and rules.

use std::fmt;

use super::recipe;
use crate::Error;
use crate::prepare::{FileMemory, ProjectContext};

/// Knows projects.
pub trait MemorySource: fmt::Debug + Send + Sync {
    /// Returns what is known of a project, or nothing.
    fn project_context(&self, project_id: &str) -> Result<Option<ProjectContext>, Error>;
}

/// Knows rules.
pub trait RuleSource: fmt::Debug + Send + Sync {
    /// Returns the text of the rules that apply, or nothing.
    fn rules(&self, project_id: Option<&str>, query: &str) -> Result<Option<String>, Error>;
}

impl MemorySource for FileMemory {
    fn project_context(&self, _: &str) -> Result<Option<ProjectContext>, Error> {
        self.read_for(recipe()?).map(Some)
    }
}
