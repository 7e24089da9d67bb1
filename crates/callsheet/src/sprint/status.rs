//! The status of a story, and the words that real boards have for it.

use serde::{Deserialize, Serialize};

/// What a story is at. The order is that of the work; `Blocked` stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Nothing is written yet.
    Backlog,
    /// Its story file is ready.
    ReadyForDev,
    /// Somebody implements it.
    InProgress,
    /// Its code waits for a review, or is being reviewed.
    Review,
    /// It is finished.
    Done,
    /// A person has to look at it.
    Blocked,
}

impl Status {
    /// Every status, in the order of the work.
    pub const ALL: [Self; 6] = [
        Self::Backlog,
        Self::ReadyForDev,
        Self::InProgress,
        Self::Review,
        Self::Done,
        Self::Blocked,
    ];

    /// Returns the standard word, which is the one that is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::ReadyForDev => "ready-for-dev",
            Self::InProgress => "in-progress",
            Self::Review => "review",
            Self::Done => "done",
            Self::Blocked => "blocked",
        }
    }

    /// Returns the status that a standard word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// The word that a board has for a story, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as it stands there, without quotes and comment.
    pub text: String,
    /// What it means; nothing for a word that nobody knows, and whose story is never run.
    pub status: Option<Status>,
}
