//! The checked input, by dotted paths.

use serde_json::{Map, Value};

use crate::source::{lookup, strings};
use crate::text::strip;
use crate::{Error, ErrorKind};

/// The fields of a checked input.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// Returns a value that is there and not null.
    pub(super) fn get(self, path: &str) -> Option<&'a Value> {
        lookup(self.0, path)
    }

    /// Returns a text that is not blank.
    pub(super) fn text(self, path: &str) -> Option<&'a str> {
        let text = self.get(path).and_then(Value::as_str);
        text.filter(|text| !strip(text).is_empty())
    }

    /// Returns a text that has to be there.
    pub(super) fn required(self, path: &str) -> Result<&'a str, Error> {
        self.text(path).ok_or_else(|| missing(path))
    }

    /// Tells whether a flag is set.
    pub(super) fn flag(self, path: &str) -> bool {
        self.get(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the texts of a list.
    pub(super) fn list(self, path: &str) -> Vec<&'a str> {
        strings(self.0, path)
    }
}

/// Makes the error of a field that is not there.
pub(super) fn missing(path: &str) -> Error {
    Error::new(ErrorKind::BadInput, format!("missing field `{path}`"))
}
