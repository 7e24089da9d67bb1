//! The one error type of the store: what a caller can branch on, the place, and a sentence.
//!
//! Hints are not made here. No text ever holds a password, because a store is only named by its
//! [`Location`](crate::Location), which does not print one.

use std::fmt;

/// Why the store did not do what was asked. Nothing is half done then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The world refused: the store cannot be opened, is locked, full or read-only, or its connection is gone.
    Unavailable {
        /// The store, as [`Location`](crate::Location) prints it.
        store: String,
        /// What happened.
        why: String,
    },
    /// What is stored breaks a rule of the store, or is not a database at all.
    Damaged {
        /// The store, or the thing in it.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// A newer program has written the store.
    Newer {
        /// The store, as [`Location`](crate::Location) prints it.
        store: String,
        /// The schema that was found.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// A build before the first release has made the store.
    Older {
        /// The store, as [`Location`](crate::Location) prints it, with `?schema=NAME` where its tables are in another schema
        /// of a server than the one that was asked for.
        store: String,
        /// The schema that was found.
        found: i64,
        /// The schema that this program needs.
        known: i64,
    },
    /// There is no such thing, or more than one that the name could mean.
    Unknown {
        /// What was looked for, such as `run`.
        what: &'static str,
        /// The name or prefix that was given.
        name: String,
        /// Some of those that the prefix could mean; empty where there is none.
        candidates: Vec<String>,
    },
    /// The store is fine and does not do this, such as finishing a run twice.
    Refused {
        /// What is in the way.
        why: String,
    },
}

impl StoreError {
    /// Makes the error of a store that cannot be reached or written.
    pub(crate) fn unavailable(store: &str, why: impl Into<String>) -> Self {
        Self::Unavailable {
            store: store.to_owned(),
            why: why.into(),
        }
    }

    /// Makes the error of contents that break a rule.
    pub(crate) fn damaged(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Damaged {
            place: place.into(),
            why: why.into(),
        }
    }

    /// Makes the error of something that does not exist.
    pub(crate) fn unknown(what: &'static str, name: impl Into<String>) -> Self {
        Self::Unknown {
            what,
            name: name.into(),
            candidates: Vec::new(),
        }
    }

    /// Makes the error of something that the store does not do.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { store, why } => write!(f, "the store `{store}` {why}"),
            Self::Damaged { place, why } => write!(f, "{place}: {why}"),
            Self::Newer {
                store,
                found,
                known,
            } => write!(
                f,
                "the store `{store}` has schema {found}, this program knows up to {known}"
            ),
            Self::Older {
                store,
                found,
                known,
            } => write!(
                f,
                "the store `{store}` was made by an older build of callsheet: its schema is {found}, \
                and this one needs {known}"
            ),
            Self::Unknown {
                what,
                name,
                candidates,
            } if candidates.is_empty() => write!(f, "no {what} `{name}`"),
            Self::Unknown {
                what,
                name,
                candidates,
            } => {
                let list = candidates.join("`, `");
                write!(f, "more than one {what} begins with `{name}`: `{list}`")
            }
            Self::Refused { why } => f.write_str(why),
        }
    }
}

impl std::error::Error for StoreError {}
