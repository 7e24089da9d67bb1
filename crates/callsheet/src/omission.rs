//! Omissions: what a prompt does not carry although it was asked for, and why.
//!
//! Nothing is lost silently: whatever was skipped, refused, dropped or cut is one of these, in the manifest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something is not in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// There is no such file.
    Missing,
    /// A folder stands where a file was expected.
    Folder,
    /// A pipe, socket or device stands where a file was expected.
    NotAFile,
    /// The path, or a link on it, leads out of the root.
    OutsideRoot,
    /// The file is over the configured size.
    TooLarge,
    /// The system refused to open or read it.
    Unreadable,
    /// The content is no UTF-8 text.
    NotUtf8,
    /// The name is no UTF-8 text.
    NameNotUtf8,
    /// The content is binary.
    Binary,
    /// The recipe leaves such files out.
    Excluded,
    /// A link that a walk does not follow.
    Link,
    /// A named glob matched nothing.
    NoMatch,
    /// The input has no value for it.
    NoValue,
    /// The budget was too small for it.
    OverBudget,
    /// The same text is there already.
    Duplicate,
    /// A file imports itself, directly or through others.
    Cycle,
    /// Imports are nested deeper than they are followed.
    TooDeep,
    /// The value or the list is longer than it may be.
    Capped,
    /// It is a real path, which no message may hold.
    Redacted,
    /// There is nobody to ask: no repository, or no such program.
    Unavailable,
    /// The program that was asked failed.
    Failed,
    /// The program that was asked took too long.
    TimedOut,
    /// The program that was asked printed more than it may.
    TooMuchOutput,
}

impl Reason {
    /// Tells whether something is usually lost that was asked for, rather than left out by a declared rule.
    pub fn is_loss(self) -> bool {
        !matches!(
            self,
            Self::Excluded
                | Self::Binary
                | Self::Link
                | Self::Duplicate
                | Self::Cycle
                | Self::Redacted
        )
    }

    /// Tells whether it means that there is nothing, rather than that something is in the way.
    pub fn is_absence(self) -> bool {
        matches!(
            self,
            Self::Missing | Self::NoMatch | Self::NoValue | Self::Unavailable
        )
    }

    /// Returns the sentence that people read.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "does not exist",
            Self::Folder => "is a folder",
            Self::NotAFile => "is not a regular file",
            Self::OutsideRoot => "leads out of the root",
            Self::TooLarge => "is over the file size limit",
            Self::Unreadable => "cannot be read",
            Self::NotUtf8 => "is not UTF-8 text",
            Self::NameNotUtf8 => "has a name that is not UTF-8 text",
            Self::Binary => "is binary",
            Self::Excluded => "is left out by the recipe",
            Self::Link => "is a link, which is not followed",
            Self::NoMatch => "matched no file",
            Self::NoValue => "has no value",
            Self::OverBudget => "did not fit the budget",
            Self::Duplicate => "is in the prompt already",
            Self::Cycle => "imports itself",
            Self::TooDeep => "is imported too deep",
            Self::Capped => "is cut at its limit",
            Self::Redacted => "names a real path, which is redacted",
            Self::Unavailable => "is not available",
            Self::Failed => "failed",
            Self::TimedOut => "took too long",
            Self::TooMuchOutput => "printed too much",
        }
    }
}

/// Why the disk gave no text for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// The size of what was refused, where it is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// What the system said, or the numbers behind the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.sentence())?;
        match self.detail.as_str() {
            "" => Ok(()),
            detail => write!(f, ": {detail}"),
        }
    }
}

impl Refusal {
    /// Makes a refusal without size and detail.
    pub fn new(reason: Reason) -> Self {
        Self {
            reason,
            bytes: 0,
            detail: String::new(),
        }
    }

    /// Adds a detail.
    #[must_use]
    pub fn because(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Adds the size.
    #[must_use]
    pub fn of_size(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }
}

/// Something that was asked for and is not in the prompt, wholly or in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Omission {
    /// The layer that asked for it.
    pub layer: String,
    /// The path of the file or the name of the section.
    pub name: String,
    /// Why it is not there.
    pub reason: Reason,
    /// How many bytes are not there.
    pub bytes: u64,
    /// How many tokens these are, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// More words on the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Whether it is a loss, where that is not as usual for its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<bool>,
}

impl Omission {
    /// Makes the omission that follows from a refusal.
    pub fn refused(layer: &str, name: impl Into<String>, refusal: Refusal) -> Self {
        Self {
            layer: layer.to_owned(),
            name: name.into(),
            reason: refusal.reason,
            bytes: refusal.bytes,
            tokens: None,
            detail: refusal.detail,
            loss: None,
        }
    }

    /// Tells whether something is lost that was asked for.
    pub fn is_loss(&self) -> bool {
        self.loss.unwrap_or_else(|| self.reason.is_loss())
    }

    /// Makes it a loss, whatever is usual for its reason: somebody named it.
    pub(crate) fn make_loss(&mut self) {
        self.loss = (!self.reason.is_loss()).then_some(true);
    }

    /// Makes it no loss if it is an absence: its layer can do without.
    pub(crate) fn make_optional(&mut self) {
        if self.reason.is_absence() {
            self.loss = Some(false);
        }
    }

    /// Makes the omission of a list of which only the first entries are shown; `rest` has the sizes of the others.
    pub(crate) fn capped(
        layer: &str,
        name: &str,
        shown: usize,
        rest: impl ExactSizeIterator<Item = usize>,
    ) -> Option<Self> {
        let all = shown + rest.len();
        (all > shown).then(|| Self {
            layer: layer.to_owned(),
            name: name.to_owned(),
            reason: Reason::Capped,
            bytes: rest.map(|bytes| bytes as u64).sum(),
            tokens: None,
            detail: format!("{shown} of {all} are shown"),
            loss: None,
        })
    }

    /// Returns the line that people read: what, why, and the detail.
    pub fn sentence(&self) -> String {
        let mut line = format!("`{}` {}", self.name, self.reason.sentence());
        if !self.detail.is_empty() {
            line.push_str(": ");
            line.push_str(&self.detail);
        }
        line
    }
}
