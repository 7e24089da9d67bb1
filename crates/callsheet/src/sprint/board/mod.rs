//! Boards: `sprint-status.yaml`, read line by line and changed one line at a time.
//!
//! A file is never written anew from what was understood of it. A change replaces the bytes of one value, so that
//! comments, order, quotes, line ends and unknown keys stay as people left them. What cannot be read safely is refused.

pub(super) mod line;
mod list;
mod read;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

pub use list::{Listed, list};

use super::{Status, Word};
use crate::Error;

/// The key that makes a file a board.
pub(crate) const BLOCK: &str = "development_status";

/// The most bytes that a key may have.
pub(crate) const KEY_LIMIT: usize = 500;

/// What stands on a line of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A group of stories, with or without `epic-` in front.
    Epic,
    /// What is looked back at when an epic is over.
    Retrospective,
    /// Everything else.
    Story,
}

impl Kind {
    /// Returns what a key stands for.
    ///
    /// A key without a story number whose last word is `epic`, `sprint` or `phase` is an epic, too: `supp-epic-1`,
    /// `cleanup-sprint`, `mvp-phase1`.
    pub fn of(key: &str) -> Self {
        if key.ends_with("-retrospective") {
            return Self::Retrospective;
        }
        let stem = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut parts = stem.trim_end_matches('-').split('-');
        let numbered = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        let group = parts
            .next_back()
            .is_some_and(|last| matches!(last, "epic" | "sprint" | "phase"));
        if key.starts_with("epic-") || group && !parts.any(numbered) {
            return Self::Epic;
        }
        Self::Story
    }
}

/// A line of a board that has a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, without quotes.
    pub key: String,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// What the board says of it; the empty word where it says nothing.
    pub word: Word,
    /// What it stands for.
    pub kind: Kind,
    /// The line of the status and its bytes; nothing in a map without `status`.
    value: Option<(usize, Range<usize>)>,
}

impl Entry {
    /// Tells whether it is a story that a sprint has something to do for.
    pub fn is_runnable(&self) -> bool {
        self.kind == Kind::Story && self.word.is_runnable()
    }

    /// Says why a status may not be written in the place of the one in `line`.
    pub fn may_become(&self, to: Status, force: bool, line: usize) -> Result<(), SetError> {
        let (key, word) = (self.key.clone(), self.word.text.clone());
        // A retrospective starts as `optional`, which is not a status of stories.
        let optional = self.kind == Kind::Retrospective && word == "optional";
        match self.word.status {
            _ if force => Ok(()),
            Some(from) if from.goes_back(to) => Err(SetError::Downgrade {
                key,
                line,
                from: word,
                to,
            }),
            None if !optional => Err(SetError::UnknownWord { key, line, word }),
            _ => Ok(()),
        }
    }
}

/// Something in a file that is read although another reader may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1.
    pub line: usize,
    /// The sentence for people.
    pub message: String,
}

/// A board as it stands in a file.
#[derive(Clone, Debug)]
pub struct Board {
    text: String,
    entries: Vec<Entry>,
    index: BTreeMap<String, usize>,
    warnings: Vec<Warning>,
    is_list: bool,
}

/// Why a status is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetError {
    /// The board has no such key.
    NoEntry {
        /// The key that was looked for.
        key: String,
    },
    /// The entry is a map without `status`.
    NoStatus {
        /// The key.
        key: String,
        /// Its line.
        line: usize,
    },
    /// The story is further along already.
    Downgrade {
        /// The key.
        key: String,
        /// The line of its status.
        line: usize,
        /// The word that stands there.
        from: String,
        /// What should be written.
        to: Status,
    },
    /// The word would be read as something else.
    BadWord {
        /// The word.
        word: String,
        /// The line that it was for.
        line: usize,
    },
    /// Nobody knows what the word there means.
    UnknownWord {
        /// The key.
        key: String,
        /// The line of its status.
        line: usize,
        /// The word that stands there.
        word: String,
    },
}

impl SetError {
    /// Tells whether an explicit order would write the status.
    pub fn yields_to_force(&self) -> bool {
        matches!(self, Self::Downgrade { .. } | Self::UnknownWord { .. })
    }

    /// Returns the line that it is about.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::NoEntry { .. } => None,
            Self::NoStatus { line, .. }
            | Self::BadWord { line, .. }
            | Self::Downgrade { line, .. }
            | Self::UnknownWord { line, .. } => Some(*line),
        }
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEntry { key } => write!(f, "no entry `{key}` below `{BLOCK}`"),
            Self::NoStatus { key, .. } => write!(f, "`{key}` has no `status`"),
            Self::BadWord { word, .. } => {
                write!(f, "`{word}` cannot stand there as a status")
            }
            Self::Downgrade { key, from, to, .. } => {
                write!(f, "`{key}` is `{from}`, which is past `{}`", to.as_str())
            }
            Self::UnknownWord { key, word, .. } if word.is_empty() => {
                write!(f, "`{key}` has an empty status")
            }
            Self::UnknownWord { key, word, .. } => {
                write!(f, "`{key}` is `{word}`, which is not a known status")
            }
        }
    }
}

impl std::error::Error for SetError {}

impl Board {
    /// Reads a board; `file` is how a user names it.
    pub fn parse(text: impl Into<String>, file: &str) -> Result<Self, Error> {
        let text = text.into();
        let read = read::read(&text, file)?;
        Ok(Self::new(text, read.entries, read.warnings, false))
    }

    /// Makes the board of a [list] of stories, whose words stand in the files of the stories.
    pub fn of_list(text: impl Into<String>, stories: Vec<(Listed, Word)>) -> Self {
        let entries = stories.into_iter().map(|(story, word)| Entry {
            key: story.id,
            line: story.line,
            word,
            kind: Kind::Story,
            value: None,
        });
        Self::new(text.into(), entries.collect(), Vec::new(), true)
    }

    fn new(text: String, entries: Vec<Entry>, warnings: Vec<Warning>, is_list: bool) -> Self {
        let index = (0..).zip(&entries);
        let index = index.map(|(at, entry)| (entry.key.clone(), at)).collect();
        Self {
            text,
            entries,
            index,
            warnings,
            is_list,
        }
    }

    /// Tells whether it is a list whose order is that of the work.
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// Returns the whole file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what stands on it, in file order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the stories, in file order.
    pub fn stories(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.kind == Kind::Story)
    }

    /// Returns the stories whose word nobody knows; they are never run.
    pub fn unknown(&self) -> impl Iterator<Item = &Entry> {
        self.stories().filter(|story| story.word.status.is_none())
    }

    /// Returns what was read although another reader may not.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the entry with a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.index.get(key).map(|at| &self.entries[*at])
    }

    /// Returns the file with another status of one entry; exactly one line differs.
    ///
    /// The standard word is written, in the quotes that are there. Without `force` a story never goes back, and a word
    /// that nobody knows stays.
    pub fn set(&self, key: &str, to: Status, force: bool) -> Result<String, SetError> {
        let (entry, line, bytes) = self.place(key)?;
        entry.may_become(to, force, line)?;
        Ok(self.with_value(bytes, to.as_str()))
    }

    /// Returns the text with any word for an entry, as somebody has given it; nothing else may be read differently then.
    pub fn put(&self, key: &str, word: &str) -> Result<String, SetError> {
        let (_, line, bytes) = self.place(key)?;
        let new = self.with_value(bytes, word);
        let read = Self::parse(new.clone(), "").ok();
        let is_read = |board: &Self| {
            let mut pairs = board.entries.iter().zip(&self.entries);
            board.entries.len() == self.entries.len()
                && board.text.lines().count() == self.text.lines().count()
                && pairs.all(|(new, old)| {
                    let wanted = if old.key == key { word } else { &old.word.text };
                    new.key == old.key && new.word.text == wanted
                })
        };
        if !word.is_empty() && read.as_ref().is_some_and(is_read) {
            return Ok(new);
        }
        let word = word.to_owned();
        Err(SetError::BadWord { word, line })
    }

    /// Returns an entry, with the line of its status and where that stands.
    fn place(&self, key: &str) -> Result<(&Entry, usize, &Range<usize>), SetError> {
        let key = key.to_owned();
        let Some(entry) = self.get(&key) else {
            return Err(SetError::NoEntry { key });
        };
        match &entry.value {
            Some((line, bytes)) => Ok((entry, *line, bytes)),
            None => Err(SetError::NoStatus {
                key,
                line: entry.line,
            }),
        }
    }

    fn with_value(&self, bytes: &Range<usize>, word: &str) -> String {
        let (before, after) = (&self.text[..bytes.start], &self.text[bytes.end..]);
        let blank = if before.ends_with(':') { " " } else { "" };
        [before, blank, word, after].concat()
    }
}

#[cfg(test)]
mod tests;
