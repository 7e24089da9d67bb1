//! The values of an input as the engine wants them, and its numbers as they were written.
//!
//! The engine counts in 64 bits and prints what it counted: `1.10` as `1.1`. So a number whose digits it would change is
//! given to it in two ways: as a number that it can count with, and as a thing that prints as it was written.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Kwargs, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind};
use serde_json::{Number, Value};

/// How numbers are given that are not whole, or too large for the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// As a number.
    Counted,
    /// As a thing that prints what the engine would.
    Alike,
    /// As a thing that prints as it was written.
    Written,
}

/// Returns fields as a value of the engine, in their order.
pub(crate) fn fields<'a>(
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    digits: impl Fn(&str) -> Digits,
) -> minijinja::Value {
    let fields = fields.into_iter();
    let pairs = fields.map(|(name, field)| (name.as_str(), value(field, digits(name))));
    minijinja::Value::from_pairs(pairs)
}

fn value(value: &Value, digits: Digits) -> minijinja::Value {
    match value {
        Value::Null => ().into(),
        Value::Bool(truth) => (*truth).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => self::number(number, digits),
        Value::Array(items) => items.iter().map(|item| self::value(item, digits)).collect(),
        Value::Object(object) => fields(object, |_| digits),
    }
}

pub(super) fn number(number: &Number, digits: Digits) -> minijinja::Value {
    let count = counted(number);
    match digits {
        Digits::Counted => count,
        _ if count.is_integer() => count,
        Digits::Alike => minijinja::Value::from_object(Figure {
            json: tojson_text(&count),
            text: count.to_string(),
        }),
        Digits::Written => minijinja::Value::from_object(Figure {
            json: number.to_string(),
            text: number.to_string(),
        }),
    }
}

fn counted(number: &Number) -> minijinja::Value {
    match number.as_i128() {
        // An integer has no negative zero.
        Some(count) if number.as_str() != "-0" => count.into(),
        _ => number.as_str().parse().unwrap_or(f64::NAN).into(),
    }
}

/// The numbers of an input whose digits the engine would change, by what it counts.
///
/// Nothing stands in for a count that was written in two ways.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures(BTreeMap<u64, Option<String>>);

impl Figures {
    pub(super) fn of<'a>(fields: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut figures = Self::default();
        fields.into_iter().for_each(|field| figures.add(field));
        figures.0.retain(|bits, text| {
            let printed = minijinja::Value::from(f64::from_bits(*bits)).to_string();
            text.as_ref() != Some(&printed)
        });
        figures
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether a value has numbers of the kind that can be here.
    pub(super) fn can_hold(value: &Value) -> bool {
        let mut figures = Self::default();
        figures.add(value);
        !figures.is_empty()
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Number(number) if !counted(number).is_integer() => {
                let bits = number.as_str().parse().unwrap_or(f64::NAN).to_bits();
                let written = self
                    .0
                    .entry(bits)
                    .or_insert_with(|| Some(number.to_string()));
                if written.as_deref() != Some(number.as_str()) {
                    *written = None;
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            _ => {}
        }
    }

    fn found(&self, value: &minijinja::Value) -> Option<&Option<String>> {
        if self.is_empty() || !value.is_number() || value.is_integer() {
            return None;
        }
        let count = f64::try_from(value.clone()).ok()?;
        self.0.get(&count.to_bits())
    }

    /// Returns a number as it was written, where the engine would print it in another way.
    pub(super) fn written(&self, value: &minijinja::Value) -> Option<&str> {
        self.found(value)?.as_deref()
    }

    /// Fails for a number that was written in two ways.
    pub(super) fn check(&self, value: &minijinja::Value) -> Result<(), Error> {
        match self.found(value) {
            Some(None) => Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("the number `{value}` is given in two ways of writing; put them in quotes"),
            )),
            _ => Ok(()),
        }
    }
}

fn tojson_text(count: &minijinja::Value) -> String {
    let no_args = std::iter::empty::<(String, minijinja::Value)>().collect();
    let text = minijinja::filters::tojson(count, None, no_args);
    text.map(|text| text.to_string()).unwrap_or_default()
}

/// A number as text, which the engine can print and cannot count with.
#[derive(Debug)]
struct Figure {
    text: String,
    /// What the filter `tojson` makes of it.
    json: String,
}

impl Object for Figure {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.text.parse::<f64>().is_ok_and(|count| count != 0.0)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The filter `tojson` of the engine, for values with numbers that print as they were written.
pub(super) fn tojson(
    value: &minijinja::Value,
    indent: Option<minijinja::Value>,
    args: Kwargs,
) -> Result<minijinja::Value, Error> {
    if !holds_figures(value) {
        return minijinja::filters::tojson(value, indent, args);
    }
    let whole = minijinja::filters::tojson(value, indent.clone(), args.clone())?.to_string();
    let mut mark = "number".to_owned();
    while whole.contains(&mark) {
        mark.push('_');
    }
    let mut figures = Vec::new();
    let marked = marked(value, &mark, &mut figures);
    let text = minijinja::filters::tojson(&marked, indent, args)?.to_string();
    let mut out = String::with_capacity(text.len());
    let mut figures = figures.into_iter();
    for (at, piece) in text.split(&format!("\"{mark}\"")).enumerate() {
        if at > 0 {
            out.push_str(&figures.next().unwrap_or_default());
        }
        out.push_str(piece);
    }
    Ok(minijinja::Value::from_safe_string(out))
}

fn holds_figures(value: &minijinja::Value) -> bool {
    let mut figures = Vec::new();
    marked(value, "", &mut figures);
    !figures.is_empty()
}

/// Returns the value with a mark in the place of every number that is text, which `figures` gets in their order.
fn marked(value: &minijinja::Value, mark: &str, figures: &mut Vec<String>) -> minijinja::Value {
    if let Some(figure) = value.downcast_object_ref::<Figure>() {
        figures.push(figure.json.clone());
        return mark.into();
    }
    let Ok(items) = value.try_iter() else {
        return value.clone();
    };
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            items.map(|item| marked(&item, mark, figures)).collect()
        }
        ValueKind::Map => minijinja::Value::from_pairs(items.map(|key| {
            let field = value.get_item(&key).unwrap_or_default();
            (key, marked(&field, mark, figures))
        })),
        _ => value.clone(),
    }
}
