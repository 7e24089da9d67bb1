//! Why a state cannot be read or must not be written: a code for programs, a sentence for people.

use std::fmt;

use serde_json::{Value, json};

use crate::package::Issue;
use crate::{Error, ErrorKind};

/// What programs branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateCode {
    /// There is no `workflow.md`.
    StateFileNotFound,
    /// It cannot be read.
    StateFileReadFailed,
    /// It has no header that is YAML.
    FrontmatterParseFailed,
    /// Its header does not fit the schema.
    FrontmatterSchemaInvalid,
    /// There is no graph.
    GraphNotFound,
    /// The graph is no JSON.
    GraphJsonInvalid,
    /// The graph does not fit its schema.
    GraphSchemaInvalid,
    /// Nodes and edges of the graph do not fit together.
    GraphIntegrityInvalid,
    /// The current node is not in the graph.
    CurrentNodeInvalid,
    /// The new text has no header that is YAML.
    InvalidFrontmatter,
    /// The new header does not fit the schema, or drops completed steps.
    SchemaValidation,
    /// No edge leads from the old node to the new one.
    InvalidTransition,
    /// The state is not the one that the change was made for.
    PreconditionFailed,
}

impl StateCode {
    /// Returns the code as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StateFileNotFound => "STATE_FILE_NOT_FOUND",
            Self::StateFileReadFailed => "STATE_FILE_READ_FAILED",
            Self::FrontmatterParseFailed => "FRONTMATTER_PARSE_FAILED",
            Self::FrontmatterSchemaInvalid => "FRONTMATTER_SCHEMA_INVALID",
            Self::GraphNotFound => "GRAPH_NOT_FOUND",
            Self::GraphJsonInvalid => "GRAPH_JSON_INVALID",
            Self::GraphSchemaInvalid => "GRAPH_SCHEMA_INVALID",
            Self::GraphIntegrityInvalid => "GRAPH_INTEGRITY_INVALID",
            Self::CurrentNodeInvalid => "CURRENT_NODE_INVALID",
            Self::InvalidFrontmatter => "E_INVALID_FRONTMATTER",
            Self::SchemaValidation => "E_SCHEMA_VALIDATION",
            Self::InvalidTransition => "E_INVALID_TRANSITION",
            Self::PreconditionFailed => "E_PRECONDITION_FAILED",
        }
    }
}

/// Why a state cannot be read or must not be written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StateError {
    /// What programs branch on.
    pub code: StateCode,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What belongs to the code: `errors`, or `from`, `to` and `allowedNext`.
    pub details: Value,
}

impl StateError {
    /// Makes an error without details.
    pub fn new(code: StateCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Value::Null,
        }
    }

    pub(super) fn with(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// Makes the error of some problems; there is at least one.
    pub(super) fn of(code: StateCode, issues: &[Issue]) -> Self {
        let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
        Self::new(code, texts.join("; ")).with(json!({"errors": issues}))
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for StateError {}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        Self::new(ErrorKind::BadInput, error.to_string())
    }
}
