//! Renders the plain language: every placeholder becomes its value, once, and values are never looked into.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::file::Variable;
use super::scan::{Placeholder, placeholders};
use crate::Event;
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
pub struct Rendered {
    /// The text.
    pub body: Traced,
    /// The placeholders that got no value, in order of their first use.
    pub missing: Vec<String>,
    /// The placeholders that are prose: the template declares variables, and not these. They stay as they stand.
    pub prose: Vec<String>,
    /// The given values that were not used, in the order given.
    pub unused: Vec<String>,
}

impl Rendered {
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

/// Renders a plain body; never fails, so that [`Missing::Error`] acts like [`Missing::Empty`] here.
///
/// Where variables are `declared`, be it none, any other placeholder without a value is prose and stays as it stands.
pub fn render_plain(
    body: &Traced,
    values: Values<'_>,
    declared: Option<&[Variable]>,
    missing: Missing,
) -> Rendered {
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
    };
    let mut out = Traced::with_capacity(body.len());
    filler.fill(body, 0, &holes, &mut out);
    let unused = values
        .map
        .keys()
        .filter(|name| !filler.texts.contains_key(name.as_str()))
        .cloned()
        .collect();
    Rendered {
        body: out,
        missing: filler.missing,
        prose: filler.prose,
        unused,
    }
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
    texts: BTreeMap<String, Option<Traced>>,
    missing: Vec<String>,
    prose: Vec<String>,
}

impl Filler<'_> {
    /// Appends `text`, which starts at `base` of the body, with its `holes` filled.
    ///
    /// Halving, because cutting a span costs as much as counting the lines before the cut: from left to right,
    /// many holes in one long text would cost the square of it.
    fn fill(&mut self, text: &Traced, base: usize, holes: &[Placeholder], out: &mut Traced) {
        let (before, rest) = holes.split_at(holes.len() / 2);
        let Some((hole, after)) = rest.split_first() else {
            out.push(text);
            return;
        };
        let (start, end) = (hole.range.start - base, hole.range.end - base);
        self.fill(&text.slice(0..start), base, before, out);
        self.put(hole, &text.slice(start..end), out);
        self.fill(&text.slice(end..text.len()), hole.range.end, after, out);
    }

    fn put(&mut self, hole: &Placeholder, literal: &Traced, out: &mut Traced) {
        if !self.texts.contains_key(&hole.name) {
            let text = self.text_of(&hole.name);
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
            Some(Some(text)) => out.push(text),
            _ if self.keep || is_prose(&hole.name, self.declared) => out.push(literal),
            _ => {}
        }
    }

    fn text_of(&self, name: &str) -> Option<Traced> {
        if let Some(text) = self.values.map.get(name).and_then(value_text) {
            let path = format!("{}{name}", self.values.prefix);
            let origin = Origin::new(OriginKind::Input, path, &text);
            return Some(Traced::whole(text, &origin));
        }
        let default = *self.defaults.get(name)?;
        Some(match &self.origin {
            Some((origin, len)) => Traced::transformed(default, origin, *len, Transform::Converted),
            None => Traced::frame(default),
        })
    }
}
