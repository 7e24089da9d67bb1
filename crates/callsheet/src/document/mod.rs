//! Documents that people write: JSON and YAML as values that print as they were written.
//!
//! What is wrong with a document is said here, in our own words and with its line; what parsers say of themselves reaches
//! nobody.

mod json;
mod merge;
mod number;
mod toml;
mod words;
pub(crate) mod yaml;

use std::fmt;

use serde_json::Value;

use crate::{Error, ErrorKind};

pub use json::json;
pub use merge::{Given, merge};
pub use number::number;
pub use toml::keep_digits;
pub use words::{plain_words, tagged, typed};
pub use yaml::yaml;

/// How many levels of lists and objects a value may have, whatever it comes from.
///
/// It leaves room for the documents that a value is put into, and for what reads those.
pub const DEPTH_LIMIT: usize = 32;

/// Returns what is wrong with a value that is nested too deep.
pub fn too_deep() -> String {
    format!("nested more than {DEPTH_LIMIT} levels deep")
}

/// Fails for an input that is nested too deep, with the name of the field.
pub(crate) fn check_depth(input: &Value) -> Result<(), Error> {
    fn exceeds(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left == 0 || items.iter().any(|item| exceeds(item, left - 1)),
            Value::Object(fields) => {
                left == 0 || fields.values().any(|field| exceeds(field, left - 1))
            }
            _ => false,
        }
    }
    let mut fields = input.as_object().into_iter().flatten();
    match fields.find(|(_, field)| exceeds(field, DEPTH_LIMIT - 1)) {
        Some((name, _)) => {
            let detail = format!("`{name}`: {}", too_deep());
            Err(Error::new(ErrorKind::BadInput, detail))
        }
        None => Ok(()),
    }
}

/// Why a text is not a document, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
    /// The sentence for people: lower case, no period, user values in backticks.
    pub reason: String,
    /// What a caller can branch on.
    pub fault: Fault,
}

/// What kind of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The text is not written as its format wants it.
    Syntax,
    /// A key is there twice, so that one of its values would be lost.
    DuplicateKey,
}

impl Malformed {
    /// Makes the one of a text that is not written as its format wants it.
    pub(crate) fn at(line: impl Into<Option<usize>>, reason: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            reason: reason.into(),
            fault: Fault::Syntax,
        }
    }

    /// Makes the one of a key that is there twice.
    pub(crate) fn twice(key: &str, first: Option<usize>, line: Option<usize>) -> Self {
        let first = first.map(|line| format!(", first in line {line}"));
        let first = first.unwrap_or_default();
        Self {
            fault: Fault::DuplicateKey,
            ..Self::at(line, format!("the key `{key}` is there twice{first}"))
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests;
