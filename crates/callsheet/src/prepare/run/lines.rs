//! Lines of a section: labels of ours around values of the input.

use std::collections::BTreeMap;

use crate::freetext::{inline, neutralised};
use crate::prepare::Piece;
use crate::trace::{Origin, OriginKind, Traced, Transform};

/// A value of the input, with the path of its field.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    field: String,
    text: String,
    /// What stood in the field, where it was another text.
    original: Option<String>,
}

impl Entry {
    pub(super) fn new(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            text: text.into(),
            original: None,
        }
    }

    /// Makes the entry of a value that stood in its field in another form.
    pub(super) fn converted(field: impl Into<String>, original: &str, text: &str) -> Self {
        let original = (original != text).then(|| original.to_owned());
        Self {
            original,
            ..Self::new(field, text)
        }
    }

    /// Returns the texts of a list, each once, in its order.
    pub(super) fn list(field: &str, texts: &[String]) -> Vec<Self> {
        let mut entries: Vec<Self> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for (at, text) in texts.iter().enumerate() {
            if seen.insert(text) {
                entries.push(Self::new(format!("{field}[{at}]"), text));
            }
        }
        entries
    }

    /// Returns entries sorted by the bytes of their texts, the first of each text.
    pub(super) fn sorted(entries: Vec<Self>) -> Vec<Self> {
        let mut sorted: BTreeMap<String, Self> = BTreeMap::new();
        for entry in entries {
            sorted.entry(entry.text.clone()).or_insert(entry);
        }
        sorted.into_values().collect()
    }

    /// Returns the value on one line.
    pub(super) fn inline(&self) -> Traced {
        let original = self.original.as_ref().unwrap_or(&self.text);
        let origin = Origin::new(OriginKind::Input, &self.field, original);
        let text = self.text.as_str();
        inline(&match &self.original {
            None => Traced::whole(text, &origin),
            Some(_) => Traced::transformed(text, &origin, origin.len, Transform::Converted),
        })
    }
}

/// Lines that are put together one by one, without a line break at the end.
#[derive(Debug, Default)]
pub(super) struct Lines(Traced);

impl Lines {
    fn begin(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push_frame("\n");
        }
        self.0.push_frame(text);
    }

    /// Adds a line of ours.
    pub(super) fn fixed(&mut self, text: &str) {
        self.begin(text);
    }

    /// Adds a line with a value behind a label.
    pub(super) fn value(&mut self, label: &str, entry: &Entry) {
        self.begin(label);
        self.0.push(&entry.inline());
    }

    /// Adds a line with several values behind a label.
    pub(super) fn joined(&mut self, label: &str, entries: &[Entry]) {
        let between = std::iter::once(label).chain(std::iter::repeat(", "));
        for (nth, (before, entry)) in between.zip(entries).enumerate() {
            if nth == 0 {
                self.begin(before);
            } else {
                self.0.push_frame(before);
            }
            self.0.push(&entry.inline());
        }
    }

    /// Adds a line of several parts, in which nothing is put between them.
    pub(super) fn parts(&mut self, parts: &[&Traced]) {
        self.begin("");
        for part in parts {
            self.0.push(part);
        }
    }

    /// Returns the lines as a piece that is named after the fields it came from.
    pub(super) fn piece(self, field: &str) -> Piece {
        let source = Origin::new(OriginKind::Derived, field, self.0.text());
        Piece {
            name: field.to_owned(),
            body: self.0,
            source,
        }
    }

    /// Returns the lines as a piece, if there are any.
    pub(super) fn some(self, field: &str) -> Option<Piece> {
        (!self.0.is_empty()).then(|| self.piece(field))
    }
}

/// Returns a text of several lines, without white space around it, unless it is blank.
pub(super) fn block(field: &str, text: &str) -> Option<Piece> {
    let mut piece = verbatim(field, text);
    piece.body = piece.body.strip();
    (!piece.body.is_empty()).then_some(piece)
}

/// Returns a text of several lines, harmless and otherwise as it is.
pub(super) fn verbatim(field: &str, text: &str) -> Piece {
    let source = Origin::new(OriginKind::Input, field, text);
    let body = Traced::normalised(text.to_owned(), &source);
    Piece {
        name: field.to_owned(),
        body: neutralised(&body),
        source,
    }
}
