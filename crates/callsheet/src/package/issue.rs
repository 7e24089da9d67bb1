//! What is wrong with a package.

use std::fmt;

use serde::Serialize;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The package cannot be used like this.
    Error,
    /// The package works, though probably not as it was meant.
    Warning,
}

/// What kind of rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueKind {
    /// A file is missing or unreadable.
    File,
    /// A document is no JSON, or does not fit its schema.
    Schema,
    /// The header of a Markdown file is wrong.
    Frontmatter,
    /// Documents fit their schemas and do not fit together.
    Integrity,
}

/// One problem of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the package.
    pub file_path: String,
    /// What kind of rule is broken.
    pub kind: IssueKind,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The JSON pointer to the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_path: Option<String>,
    /// The JSON pointer to the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_path: Option<String>,
    /// What would be allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Issue {
    /// Makes an error without places and hint.
    pub(crate) fn error(file: &str, kind: IssueKind, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file_path: file.to_owned(),
            kind,
            message: message.into(),
            instance_path: None,
            schema_path: None,
            hint: None,
        }
    }

    /// Makes a problem of documents that do not fit together.
    pub(crate) fn integrity(file: &str, pointer: &str, message: impl Into<String>) -> Self {
        Self {
            instance_path: Some(pointer.to_owned()),
            ..Self::error(file, IssueKind::Integrity, message)
        }
    }

    /// Returns the same problem as a warning.
    pub(crate) fn into_warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// Adds the names that would be allowed.
    pub(crate) fn allowing<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names
            .into_iter()
            .map(|name| format!("`{}`", name.as_ref()))
            .collect();
        if !names.is_empty() {
            self.hint = Some(format!("allowed are {}", names.join(", ")));
        }
        self
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file_path)?;
        if let Some(path) = self
            .instance_path
            .as_deref()
            .filter(|path| !path.is_empty())
        {
            write!(f, "#{path}")?;
        }
        write!(f, ": {}", self.message)
    }
}
