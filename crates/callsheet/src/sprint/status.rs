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

    /// Tells whether a sprint has something to do for a story that is at it.
    pub fn is_runnable(self) -> bool {
        !matches!(self, Self::Done | Self::Blocked)
    }

    /// Tells whether going from here to `to` is a step back; whatever is blocked may go anywhere.
    pub(crate) fn goes_back(self, to: Self) -> bool {
        match (self, to) {
            (Self::Blocked, _) => false,
            (from, Self::Blocked) => from == Self::Done,
            (from, to) => to < from,
        }
    }

    /// Returns the status that a standard word names.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// The word that a board has for a story, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// The word as it stands there, without quotes and comment.
    pub text: String,
    /// What it means; nothing for a word that nobody knows, and whose story is never run.
    pub status: Option<Status>,
}

impl Word {
    /// Reads a word: blanks around it and its case do not count, and `_` is `-`.
    ///
    /// ```
    /// use callsheet::sprint::{Status, Word};
    ///
    /// assert_eq!(Word::parse("In_Progress").status, Some(Status::InProgress));
    /// assert_eq!(Word::parse("drafted").status, Some(Status::ReadyForDev));
    /// assert_eq!(Word::parse("superseded").status, None);
    /// ```
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let word = text.to_lowercase().replace('_', "-");
        let status = match word.as_str() {
            "drafted" | "ready" => Some(Status::ReadyForDev),
            "contexted" => Some(Status::InProgress),
            "completed" => Some(Status::Done),
            "todo" | "not-started" | "pending" => Some(Status::Backlog),
            word => Status::named(word),
        };
        Self {
            text: text.to_owned(),
            status,
        }
    }

    /// Tells whether a sprint has something to do for a story that has it.
    pub fn is_runnable(&self) -> bool {
        self.status.is_some_and(Status::is_runnable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_real_boards_are_understood_or_left_alone() {
        for (text, status) in [
            ("backlog", Some(Status::Backlog)),
            (" Todo ", Some(Status::Backlog)),
            ("not_started", Some(Status::Backlog)),
            ("pending", Some(Status::Backlog)),
            ("drafted", Some(Status::ReadyForDev)),
            ("ready", Some(Status::ReadyForDev)),
            ("Ready_For-Dev", Some(Status::ReadyForDev)),
            ("contexted", Some(Status::InProgress)),
            ("IN_PROGRESS", Some(Status::InProgress)),
            ("review", Some(Status::Review)),
            ("completed", Some(Status::Done)),
            ("Done", Some(Status::Done)),
            ("blocked", Some(Status::Blocked)),
            ("complete", None),
            ("optional", None),
            ("in-review", None),
            ("won't do", None),
            ("done ✅", None),
            ("", None),
        ] {
            let word = Word::parse(text);
            assert_eq!(word.status, status, "{text}");
            assert_eq!(word.text, text.trim());
        }
    }

    #[test]
    fn only_a_lower_rank_is_a_step_back() {
        let mut table = String::new();
        for from in Status::ALL {
            for to in Status::ALL {
                table.push(if from.goes_back(to) { 'x' } else { '.' });
            }
            table.push('\n');
        }
        assert_eq!(table, "......\nx.....\nxx....\nxxx...\nxxxx.x\n......\n");
    }
}
