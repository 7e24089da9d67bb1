//! YAML as a tree whose scalars are the text that was written: `1.10` stays `1.10`, `yes` stays `yes`.
//!
//! The parser's resource budgets stay on: an alias bomb or a deep nest is malformed, never a hang.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Spanned};

/// A value and the line it stands in, counted from 1.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
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
    pub(crate) value: Node,
}

/// Why a text is no YAML, and in which line.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) line: Option<usize>,
    pub(crate) reason: String,
}

/// How deep values may nest. Each level costs the parser's stack dearly; its own limit does not fit a small thread.
const DEPTH_LIMIT: usize = 16;

/// Returns the tree of the one document in `text`; nothing if there are only comments and blanks.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, Malformed> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_LIMIT },
        strict_booleans: true,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let parsed: Option<Spanned<Raw>> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| Malformed {
            line: error
                .location()
                .and_then(|at| usize::try_from(at.line()).ok()),
            reason: reason(&error.to_string()),
        })?;
    parsed.map(|raw| node(text, raw)).transpose()
}

/// Returns the typed value of the one document in `text`; null if there are only comments and blanks.
pub(crate) fn value(text: &str) -> Result<serde_json::Value, Malformed> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_LIMIT },
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let parsed: Option<serde_json::Value> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| Malformed {
            line: error
                .location()
                .and_then(|at| usize::try_from(at.line()).ok()),
            reason: reason(&error.to_string()),
        })?;
    Ok(parsed.unwrap_or_default())
}

/// Returns the last value of `key`, as duplicate keys overwrite each other.
pub(crate) fn get<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Entry> {
    entries.iter().rev().find(|entry| entry.key == key)
}

fn reason(message: &str) -> String {
    if message.starts_with("budget breached") || message.starts_with("recursion limit") {
        return "too large or too deeply nested".to_owned();
    }
    let end = [" at line ", "; "]
        .iter()
        .filter_map(|stop| message.find(stop))
        .min()
        .unwrap_or(message.len());
    message[..end].to_owned()
}

/// A value as the parser sees it; the text of a typed scalar is found again by its span.
enum Raw {
    Null,
    Typed,
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<Self>, Spanned<Self>)>),
}

fn node(text: &str, raw: Spanned<Raw>) -> Result<Node, Malformed> {
    let line = usize::try_from(raw.referenced.line()).unwrap_or(1);
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Text(scalar) => Kind::Scalar(scalar),
        Raw::Typed => Kind::Scalar(written(text, raw.defined.span()).ok_or_else(|| Malformed {
            line: Some(line),
            reason: "a value has no text".to_owned(),
        })?),
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
    Ok(Node { line, kind })
}

fn entry(text: &str, key: Spanned<Raw>, value: Spanned<Raw>) -> Result<Entry, Malformed> {
    let key = node(text, key)?;
    let line = key.line;
    let name = match key.kind {
        Kind::Null => String::new(),
        Kind::Scalar(name) => name,
        Kind::List(_) | Kind::Map(_) => {
            return Err(Malformed {
                line: Some(line),
                reason: "a key is no plain text".to_owned(),
            });
        }
    };
    Ok(Entry {
        key: name,
        line,
        value: node(text, value)?,
    })
}

fn written(text: &str, span: serde_saphyr::Span) -> Option<String> {
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let len = usize::try_from(span.byte_len()?).ok()?;
    text.get(start..start.checked_add(len)?).map(str::to_owned)
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

    fn visit_bool<E>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Typed)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Typed)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Typed)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Typed)
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
