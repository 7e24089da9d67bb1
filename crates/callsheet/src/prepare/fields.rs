//! Fields by their dotted paths, and the texts in them with where they came from.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Prepared;
use crate::source::lookup;
use crate::text::strip;
use crate::trace::{Origin, OriginKind, Traced};
use crate::{Error, ErrorKind};

/// The fields that a function reads.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    values: &'a Map<String, Value>,
    traces: &'a BTreeMap<String, Traced>,
}

/// A text, with the path of the field that an error about it names.
pub(super) struct FieldText {
    pub(super) path: String,
    pub(super) text: Traced,
}

impl Prepared {
    /// Returns the fields as a function reads them.
    pub(super) fn read(&self) -> Fields<'_> {
        Fields {
            values: &self.fields,
            traces: &self.traces,
        }
    }
}

impl<'a> Fields<'a> {
    /// Returns a value that is there and not null.
    pub(super) fn get(self, path: &str) -> Option<&'a Value> {
        lookup(self.values, path)
    }

    /// Returns a text that is not blank.
    pub(super) fn text(self, path: &str) -> Option<&'a str> {
        let text = self.get(path).and_then(Value::as_str);
        text.filter(|text| !strip(text).is_empty())
    }

    /// Returns a text that is not blank, with where it came from.
    pub(super) fn field_text(self, path: &str) -> Option<FieldText> {
        self.text(path)
            .map(|text| self.known(path.to_owned(), text))
    }

    /// Returns a text that has to be there.
    pub(super) fn required(self, path: &str) -> Result<FieldText, Error> {
        self.field_text(path).ok_or_else(|| missing(path))
    }

    /// Returns a text that may be blank; one that is not there is empty.
    pub(super) fn any_text(self, path: &str) -> FieldText {
        let text = self.get(path).and_then(Value::as_str);
        self.known(path.to_owned(), text.unwrap_or_default())
    }

    /// Returns the text that stands at a path, with where it came from.
    pub(super) fn known(self, path: String, text: &str) -> FieldText {
        let known = self.traces.get(&path).filter(|known| known.text() == text);
        let text = known.cloned().unwrap_or_else(|| {
            let origin = Origin::new(OriginKind::Input, &path, text);
            Traced::whole(text, &origin)
        });
        FieldText { path, text }
    }

    /// Tells whether a flag is set.
    pub(super) fn flag(self, path: &str) -> bool {
        self.get(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the items of a list, with their paths.
    pub(super) fn items(self, path: &str) -> impl Iterator<Item = (String, &'a Value)> {
        let items = self.get(path).and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        items.map(move |(nth, item)| (format!("{path}[{nth}]"), item))
    }

    /// Returns the texts of a list.
    pub(super) fn list(self, path: &str) -> impl Iterator<Item = FieldText> {
        self.items(path)
            .filter_map(move |(path, item)| Some(self.known(path, item.as_str()?)))
    }

    /// Tells whether this is about a run, as it is where nothing says what it is about.
    pub(super) fn is_run(self) -> bool {
        self.text("mode").is_none_or(|mode| mode == "run")
    }

    /// Tells whether this is about a chat, which has no agent.
    pub(super) fn is_chat(self) -> bool {
        self.text("mode") == Some("chat")
    }
}

/// Makes the error of a field that is not there.
pub(super) fn missing(path: &str) -> Error {
    Error::new(ErrorKind::BadInput, format!("missing field `{path}`"))
}
