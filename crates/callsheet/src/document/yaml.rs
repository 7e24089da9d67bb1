//! YAML as a value, or as a tree whose scalars are the text that was written: `1.10` stays `1.10`, `yes` stays `yes`.
//!
//! The parser's resource budgets stay on: an alias bomb or a deep nest is malformed, never a hang.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Spanned};

use super::number::number;
use super::{DEPTH_LIMIT, Malformed, words};

/// A value and the line it stands in, counted from 1.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    /// The bytes of a scalar or of what stands for a value; of a list or mapping, those of its first bracket, or none.
    pub(crate) at: Range<usize>,
    /// Whether it stands for a value that is written elsewhere.
    pub(crate) is_alias: bool,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Debug)]
pub(crate) enum Kind {
    Null,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value; of equal keys the last one counts.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    /// The bytes of the key.
    pub(crate) at: Range<usize>,
    pub(crate) value: Node,
}

/// Returns the tree of the one document in `text`; nothing if there are only comments and blanks.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, Malformed> {
    raw(text, DuplicateKeyPolicy::LastWins)?
        .map(|raw| node(text, raw))
        .transpose()
}

/// Returns the value of the one document in `text`; null if there are only comments and blanks.
///
/// What is a number in JSON is a number, with the digits that were written. Anything else that YAML takes for a number
/// (`007`, `0x1F`, `1_000`, `+5`, `.inf`) is the text that was written.
pub fn yaml(text: &str) -> Result<Value, Malformed> {
    let raw = raw(text, DuplicateKeyPolicy::Error)?;
    raw.map_or(Ok(Value::Null), |raw| value(text, raw))
}

fn raw(text: &str, duplicate_keys: DuplicateKeyPolicy) -> Result<Option<Spanned<Raw>>, Malformed> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_LIMIT },
        strict_booleans: true,
        duplicate_keys: duplicate_keys,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| words::yaml(&error))
}

/// Returns the last value of `key`, as duplicate keys overwrite each other.
pub(crate) fn get<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().rev().find(|entry| entry.key == key)
}

/// A value as the parser sees it; the text of a truth value or number is found again by its span.
enum Raw {
    Null,
    Bool(bool),
    Number,
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Self>, Spanned<Self>)>),
}

fn line(raw: &Spanned<Raw>) -> usize {
    usize::try_from(raw.referenced.line()).unwrap_or(1)
}

fn value(text: &str, raw: Spanned<Raw>) -> Result<Value, Malformed> {
    Ok(match raw.value {
        Raw::Null => Value::Null,
        Raw::Bool(truth) => Value::Bool(truth),
        Raw::Text(scalar) => Value::String(scalar),
        Raw::Number => {
            let written = written(text, &raw)?;
            number(&written).map_or(Value::String(written), Value::Number)
        }
        Raw::List(items) => {
            let items = items.into_iter().map(|item| value(text, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Raw::Map(entries) => {
            let mut fields = Map::new();
            for (name, field) in entries {
                let line = line(&field);
                let name = key(text, name)?;
                let field = value(text, field)?;
                // `1` and `"1"` are two keys for YAML only.
                if fields.insert(name.clone(), field).is_some() {
                    return Err(Malformed::twice(&name, None, Some(line)));
                }
            }
            Value::Object(fields)
        }
    })
}

fn node(text: &str, raw: Spanned<Raw>) -> Result<Node, Malformed> {
    let line = line(&raw);
    let at = range(&raw.referenced).unwrap_or_default();
    let is_alias = raw.referenced != raw.defined;
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Text(scalar) => Kind::Scalar(scalar),
        Raw::Bool(_) | Raw::Number => Kind::Scalar(written(text, &raw)?),
        Raw::List(items) => Kind::List(
            items
                .into_iter()
                .map(|item| node(text, item))
                .collect::<Result<_, _>>()?,
        ),
        Raw::Map(entries) => Kind::Map(
            entries
                .into_iter()
                .map(|(key, value)| entry(text, key, value))
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node {
        line,
        at,
        is_alias,
        kind,
    })
}

fn entry(text: &str, name: Spanned<Raw>, value: Spanned<Raw>) -> Result<Entry, Malformed> {
    Ok(Entry {
        line: line(&name),
        at: range(&name.referenced).unwrap_or_default(),
        key: key(text, name)?,
        value: node(text, value)?,
    })
}

fn key(text: &str, raw: Spanned<Raw>) -> Result<String, Malformed> {
    let line = line(&raw);
    match raw.value {
        Raw::Null => Ok(String::new()),
        Raw::Text(name) => Ok(name),
        Raw::Bool(_) | Raw::Number => written(text, &raw),
        Raw::List(_) | Raw::Map(_) => Err(Malformed::at(line, "a key is not plain text")),
    }
}

fn range(place: &serde_saphyr::Location) -> Option<Range<usize>> {
    let span = place.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let len = usize::try_from(span.byte_len()?).ok()?;
    Some(start..start.checked_add(len)?)
}

/// Returns the text of a scalar; quotes stand around it where a tag makes it a number.
fn written(text: &str, raw: &Spanned<Raw>) -> Result<String, Malformed> {
    let found = range(&raw.defined).and_then(|range| text.get(range));
    let found = found.ok_or_else(|| Malformed::at(line(raw), "a value has no text"))?;
    Ok(found.trim_matches(['"', '\'']).to_owned())
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(truth))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}
