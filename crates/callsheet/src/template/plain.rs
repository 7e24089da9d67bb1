//! Renders the plain language: every placeholder becomes its value, once, and values are never looked into.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::file::Variable;
use super::scan::{Placeholder, placeholders};
use super::traced::{Page, Text};
use crate::Event;
use crate::omission::Omission;
use crate::text::value_text;
use crate::trace::{Origin, OriginKind, Traced, Transform};

/// What becomes of a placeholder without a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// It becomes empty text.
    #[default]
    Empty,
    /// It stays as it stands in the template.
    Keep,
    /// The template is not rendered; all missing names are told.
    Error,
}

/// The values for a template and where they come from.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// The values by name; null is no value.
    pub map: &'a Map<String, Value>,
    /// What stands before a name to make the path of the input field, such as `identity.variables.`.
    pub prefix: &'a str,
}

/// A rendered template.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The text.
    pub body: Traced,
    /// The placeholders that got no value, in order of their first use.
    pub missing: Vec<String>,
    /// The placeholders that are prose: the template declares variables, and not these. They stay as they stand.
    pub prose: Vec<String>,
    /// The given values that were not used, in the order given.
    pub unused: Vec<String>,
    /// What filters left out, without the name of a layer.
    pub omissions: Vec<Omission>,
}

impl Rendered {
    /// Makes what a template in the jinja language was rendered to, in which nothing is missing.
    pub(super) fn jinja(body: Traced, omissions: Vec<Omission>) -> Self {
        Self {
            body,
            missing: Vec::new(),
            prose: Vec::new(),
            unused: Vec::new(),
            omissions,
        }
    }

    /// Returns an event for every placeholder of `file` that got no value.
    pub fn events(&self, file: &str) -> impl Iterator<Item = Event> {
        let event = move |kind, name: &String, what: &str| {
            let message = format!("`{{{{{name}}}}}` in `{file}` {what}");
            let facts = [
                ("template", Value::from(file)),
                ("name", Value::from(name.as_str())),
            ];
            Event::new(kind, facts, message)
        };
        let missing = self.missing.iter();
        let prose = self.prose.iter();
        missing
            .map(move |name| event("template:missing", name, "has no value"))
            .chain(prose.map(move |name| event("template:undeclared", name, STAYS)))
    }
}

/// What becomes of a placeholder that a template with declarations does not declare.
pub(super) const STAYS: &str = "is not declared and stays as it is";

/// Renders a plain body; never fails, so that [`Missing::Error`] acts like [`Missing::Empty`] here, and a long value that is
/// printed very often makes a very long text.
///
/// Where variables are `declared`, be it none, any other placeholder without a value is prose and stays as it stands.
pub fn render_plain(
    body: &Traced,
    values: Values<'_>,
    declared: Option<&[Variable]>,
    missing: Missing,
) -> Rendered {
    let page = (Page::default(), usize::MAX);
    let (rendered, _) = fill_plain(page, body, values, declared, missing);
    rendered
}

/// Does the same onto a page, which says what values may do and has room for so many bytes; tells whether all fit.
pub(crate) fn fill_plain(
    (page, room): (Page, usize),
    body: &Traced,
    values: Values<'_>,
    declared: Option<&[Variable]>,
    missing: Missing,
) -> (Rendered, bool) {
    let holes = placeholders(body.text());
    let mut filler = Filler {
        values,
        defaults: defaults_by_name(declared.unwrap_or_default()),
        declared,
        origin: header_of(body),
        keep: missing == Missing::Keep,
        texts: BTreeMap::new(),
        missing: Vec::new(),
        prose: Vec::new(),
        page,
        room,
        is_full: false,
    };
    filler.fill(body, &holes);
    let unused = values
        .map
        .keys()
        .filter(|name| !filler.texts.contains_key(name.as_str()))
        .cloned()
        .collect();
    let rendered = Rendered {
        body: filler.page.finish(),
        missing: filler.missing,
        prose: filler.prose,
        unused,
        omissions: Vec::new(),
    };
    (rendered, !filler.is_full)
}

/// Replaces the placeholders of a text by what `lookup` gives; a name it does not know stays as it stands.
pub fn interpolate(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for hole in placeholders(text) {
        if let Some(value) = lookup(&hole.name) {
            out.push_str(&text[copied..hole.range.start]);
            out.push_str(&value);
            copied = hole.range.end;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Tells whether a placeholder without a value is prose: variables are declared, and it is none of them.
pub(super) fn is_prose(name: &str, declared: Option<&[Variable]>) -> bool {
    declared.is_some_and(|declared| !declared.iter().any(|variable| variable.name == name))
}

/// Returns the defaults that can stand in for a value; of equal names the first one counts.
pub(super) fn defaults_by_name(variables: &[Variable]) -> BTreeMap<&str, &str> {
    variables
        .iter()
        .rev()
        .filter_map(|variable| Some((variable.name.as_str(), variable.default.as_deref()?)))
        .filter(|(_, default)| !default.is_empty())
        .collect()
}

/// Returns the file a body comes from, and how far into it the body reaches: a default was written in there.
fn header_of(body: &Traced) -> Option<(Arc<Origin>, usize)> {
    let mut links = body.spans().iter().filter_map(|span| span.link.as_ref());
    let first = links.next()?;
    let end = links
        .filter(|link| Arc::ptr_eq(&link.origin, &first.origin))
        .map(|link| link.range.end)
        .fold(first.range.end, usize::max);
    Some((Arc::clone(&first.origin), end))
}

struct Filler<'a> {
    values: Values<'a>,
    defaults: BTreeMap<&'a str, &'a str>,
    declared: Option<&'a [Variable]>,
    origin: Option<(Arc<Origin>, usize)>,
    keep: bool,
    texts: BTreeMap<String, Option<Arc<Text>>>,
    missing: Vec<String>,
    prose: Vec<String>,
    page: Page,
    /// How many bytes the page may have.
    room: usize,
    /// Whether a value did not fit; nothing is printed from there on.
    is_full: bool,
}

impl Filler<'_> {
    /// Prints a text with its holes filled.
    fn fill(&mut self, text: &Traced, holes: &[Placeholder]) {
        let ends = holes
            .iter()
            .flat_map(|hole| [hole.range.start, hole.range.end]);
        let ends: Vec<usize> = ends.collect();
        for (nth, piece) in text.cut(&ends).iter().enumerate() {
            match holes.get(nth / 2).filter(|_| nth % 2 == 1) {
                Some(hole) => self.put(hole, piece),
                None => self.page.own(piece),
            }
        }
    }

    fn put(&mut self, hole: &Placeholder, literal: &Traced) {
        if !self.texts.contains_key(&hole.name) {
            let text = self.text_of(&hole.name).map(Arc::new);
            if text.is_none() {
                let told = if is_prose(&hole.name, self.declared) {
                    &mut self.prose
                } else {
                    &mut self.missing
                };
                told.push(hole.name.clone());
            }
            self.texts.insert(hole.name.clone(), text);
        }
        match self.texts.get(&hole.name) {
            Some(Some(text))
                if self.is_full || text.len() > self.room.saturating_sub(self.page.len()) =>
            {
                self.is_full = true;
            }
            Some(Some(text)) => self.page.put(text),
            _ if self.keep || is_prose(&hole.name, self.declared) => self.page.own(literal),
            _ => {}
        }
    }

    fn text_of(&self, name: &str) -> Option<Text> {
        if let Some(text) = self.values.map.get(name).and_then(value_text) {
            let path = format!("{}{name}", self.values.prefix);
            let origin = Origin::new(OriginKind::Input, &path, &text);
            let kind = self.page.kind_of(&path);
            return Some(Text::new(Traced::whole(text, &origin), kind));
        }
        let default = *self.defaults.get(name)?;
        Some(Text::own(match &self.origin {
            Some((origin, len)) => Traced::transformed(default, origin, *len, Transform::Converted),
            None => Traced::frame(default),
        }))
    }
}
