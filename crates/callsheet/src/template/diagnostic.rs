//! Diagnostics: what is wrong with a template file without stopping anybody.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Event;

/// What a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The header cannot be used, or a field of it cannot.
    Frontmatter,
    /// A template is named that does not exist.
    Unknown,
    /// A variable is declared and never used.
    Unused,
    /// A placeholder is used that the header does not declare.
    Undeclared,
    /// A name is taken twice.
    Duplicate,
    /// The file cannot be read.
    Unreadable,
    /// The body is not written as its language wants it.
    Syntax,
}

/// Something wrong with a template file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file it is in.
    pub file: String,
    /// The line in the file, counted from 1, where it is known.
    pub line: Option<usize>,
    /// What it is about.
    pub kind: DiagnosticKind,
    /// The sentence for people: lower case, no period, user values in backticks.
    pub message: String,
}

impl Diagnostic {
    /// Returns the event that tells of it during a composition.
    pub fn event(&self) -> Event {
        let facts = [("file", self.file.clone().into())];
        Event::new("template:diagnostic", facts, self.to_string())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}
