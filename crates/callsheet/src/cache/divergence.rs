//! Where two prompts part, and what made them part.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Side, label};
use crate::reading::{Position, Reading};
use crate::source_map::{FRAME, MapSpan};

/// The first byte in which two prompts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Divergence {
    /// The byte, counted from 0.
    pub byte: usize,
    /// The message, counted from 1, where the prompt is a list of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
    /// The line of the prompt or of the message, counted from 1.
    pub line: usize,
    /// Why they part here, in a sentence.
    pub reason: String,
    /// Where the byte of the one comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<ByteOrigin>,
    /// Where the byte of the other comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<ByteOrigin>,
    /// All fields, files and templates whose text differs, sorted.
    pub changed_sources: Vec<String>,
}

/// Where a byte comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ByteOrigin {
    /// The layer, or `frame`.
    pub layer: String,
    /// The section, where the byte belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The thing it came from, such as `file:PATH` or `input:FIELD`.
    pub source: String,
    /// The line in that thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// What happened to a source from the one prompt to the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Changed,
    OnlyInA,
    OnlyInB,
}

/// Finds out why two prompts part at `byte`; equal ones do not.
pub(super) fn find(a: &Side, b: &Side, byte: usize) -> Option<Divergence> {
    if a.text == b.text {
        return None;
    }
    let fates = fates(a, b);
    let (one, other) = (span_at(a, byte), span_at(b, byte));
    let Position { message, line } = Reading::of(&a.text).position(byte);
    Some(Divergence {
        byte,
        message,
        line,
        reason: reason(a, b, byte, &fates),
        a: one.map(|span| byte_origin(span, &a.text, byte)),
        b: other.map(|span| byte_origin(span, &b.text, byte)),
        changed_sources: fates.keys().map(|source| (*source).to_owned()).collect(),
    })
}

fn span_at(side: &Side, byte: usize) -> Option<&MapSpan> {
    let index = side.spans.partition_point(|span| span.end <= byte);
    side.spans.get(index).filter(|span| span.start <= byte)
}

fn byte_origin(span: &MapSpan, text: &str, byte: usize) -> ByteOrigin {
    ByteOrigin {
        layer: span.layer.clone(),
        section: span.section.clone(),
        source: span.source.clone(),
        line: span.line_at(text, byte),
    }
}

/// Returns the sources that do not print the same in both, by name.
fn fates<'a>(a: &'a Side, b: &'a Side) -> BTreeMap<&'a str, Fate> {
    let (one, other) = (printed(a), printed(b));
    let mut fates = BTreeMap::new();
    for (source, text) in &one {
        match other.get(source) {
            None => fates.insert(*source, Fate::OnlyInA),
            Some(new) if new != text => fates.insert(*source, Fate::Changed),
            Some(_) => None,
        };
    }
    for source in other.keys().filter(|source| !one.contains_key(*source)) {
        fates.insert(*source, Fate::OnlyInB);
    }
    fates
}

/// Returns what each source prints, all its spans in order.
fn printed(side: &Side) -> BTreeMap<&str, String> {
    let mut printed: BTreeMap<&str, String> = BTreeMap::new();
    for span in side.spans.iter().filter(|span| span.source != FRAME) {
        let text = printed.entry(span.source.as_str()).or_default();
        text.push_str(&side.text[span.start..span.end]);
    }
    printed
}

fn reason(a: &Side, b: &Side, byte: usize, fates: &BTreeMap<&str, Fate>) -> String {
    let (one, other) = (span_at(a, byte), span_at(b, byte));
    // What is read for a prompt explains more than the template that prints it.
    let mut sources: Vec<(&str, Fate)> = [one, other]
        .into_iter()
        .flatten()
        .filter_map(|span| Some((span.source.as_str(), *fates.get(span.source.as_str())?)))
        .collect();
    sources.sort_by_key(|(source, _)| {
        let read = source.starts_with("input:") || source.starts_with("file:");
        !read
    });
    let section = |span: Option<&MapSpan>| {
        span.and_then(|span| Some((span.layer.clone(), span.section.clone()?)))
    };
    let (in_a, in_b) = (section(one), section(other));
    let has = |side: &Side, (layer, name): &(String, String)| {
        let mut parts = side.sections.iter();
        parts.any(|part| part.layer == *layer && part.name == *name)
    };
    if in_a != in_b {
        if let Some(gone) = in_a.as_ref().filter(|section| !has(b, section)) {
            return format!("section `{}` is only in A", label(&gone.0, &gone.1));
        }
        if let Some(new) = in_b.as_ref().filter(|section| !has(a, section)) {
            return format!("section `{}` is only in B", label(&new.0, &new.1));
        }
    }
    match sources.first() {
        Some((source, Fate::Changed)) => format!("`{source}` changed"),
        Some((source, Fate::OnlyInA)) => format!("`{source}` is only in A"),
        Some((source, Fate::OnlyInB)) => format!("`{source}` is only in B"),
        None if byte == a.text.len() => "B goes on where A ends".to_owned(),
        None if byte == b.text.len() => "A goes on where B ends".to_owned(),
        None if in_a != in_b => "the order of the sections differs".to_owned(),
        None if one.is_some() && other.is_some() => "the text of the recipe differs".to_owned(),
        None => "the texts differ; their origins are not known".to_owned(),
    }
}
