//! Source maps: from each byte of a prompt back to where it came from.

mod fold;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::section::{Role, Section};
use crate::trace::{Span, Transform};

/// The layer and source of bytes that belong to the recipe as a whole.
pub const FRAME: &str = "frame";

/// The name and version of the shape of a map.
pub(crate) const SCHEMA: &str = "callsheet.source_map/1";

/// Some consecutive bytes of a prompt with one provenance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MapSpan {
    /// The first byte in the prompt.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// The layer, or `frame` for what stands between and around layers.
    pub layer: String,
    /// The section, where the bytes belong to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The thing the bytes came from, or `frame` for text of the recipe itself.
    pub source: String,
    /// The first byte in that thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_start: Option<usize>,
    /// The byte after the last in that thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_end: Option<usize>,
    /// The line of the first byte in that thing, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What was done to the bytes; nothing means they are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
}

/// Where every byte of a prompt came from, in order and without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMap {
    /// The name and version of this shape.
    #[serde(default)]
    pub schema: String,
    /// The spans.
    pub spans: Vec<MapSpan>,
    /// Where each section stands, in the order of the sections of the prompt.
    #[serde(skip)]
    pub places: Vec<SectionPlace>,
    /// Where the content of each message stands, and who it is from; a section that shares its message with no other is one.
    #[serde(skip)]
    pub messages: Vec<(Role, Range<usize>)>,
}

/// Where a section stands in the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionPlace {
    /// Its byte range with its frame.
    pub framed: Range<usize>,
    /// The byte range of its body.
    pub body: Range<usize>,
}

impl SourceMap {
    /// Makes the map; spans are cut at the borders of sections, so that each belongs to one layer.
    pub(crate) fn new(
        text: &str,
        spans: Vec<Span>,
        mapped: Vec<SectionPlace>,
        sections: &[Section],
    ) -> Self {
        let mut out = Vec::with_capacity(spans.len() + 2 * sections.len());
        let mut next = 0;
        for span in spans {
            let mut start = span.range.start;
            while start < span.range.end {
                while next < mapped.len() && mapped[next].framed.end <= start {
                    next += 1;
                }
                let (end, owner) = match mapped.get(next) {
                    Some(section) if section.framed.start <= start => {
                        (section.framed.end, sections.get(next))
                    }
                    Some(section) => (section.framed.start, None),
                    None => (span.range.end, None),
                };
                let end = end.min(span.range.end);
                out.push(map_span(text, start..end, &span, owner));
                start = end;
            }
        }
        Self {
            schema: SCHEMA.to_owned(),
            spans: out,
            places: mapped,
            messages: Vec::new(),
        }
    }

    /// Returns the map with the places that a manifest has for its sections.
    pub(crate) fn placing(self, manifest: &Manifest) -> Self {
        let places = manifest.sections.iter().map(|section| SectionPlace {
            framed: section.start..section.end,
            body: section.start..section.end,
        });
        Self {
            places: places.collect(),
            ..self
        }
    }

    /// Tells whether the spans cover a text without gap or overlap, each on its own characters.
    pub fn covers(&self, text: &str) -> bool {
        let mut end = 0;
        let follow = self.spans.iter().all(|span| {
            let follows = span.start == end && text.get(span.start..span.end).is_some();
            end = span.end;
            follows
        });
        follow && end == text.len()
    }

    /// Returns the span that holds the byte at `offset`.
    pub fn at(&self, offset: usize) -> Option<&MapSpan> {
        let index = self.spans.partition_point(|span| span.end <= offset);
        self.spans.get(index).filter(|span| span.start <= offset)
    }
}

impl MapSpan {
    /// Makes the span of text of the recipe as a whole.
    pub(crate) fn frame(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
            layer: FRAME.to_owned(),
            section: None,
            source: FRAME.to_owned(),
            source_start: None,
            source_end: None,
            line: None,
            transform: None,
        }
    }

    /// Tells whether [`MapSpan::line_at`] returns the line of each byte, and not only that of where the span begins.
    pub fn tells_line(&self) -> bool {
        let range = self.source_start.zip(self.source_end);
        let one = range.is_some_and(|(start, end)| end.saturating_sub(start) <= 1);
        match self.transform {
            None | Some(Transform::Redacted | Transform::Aliased | Transform::Newline) => true,
            Some(Transform::JsonString | Transform::XmlText) => one,
            Some(_) => false,
        }
    }

    /// Returns the line in the source of the byte at `offset` of the prompt `text`.
    pub fn line_at(&self, text: &str, offset: usize) -> Option<usize> {
        let line = self.line?;
        if self.transform.is_some() {
            return Some(line);
        }
        let before = text.as_bytes().get(self.start..offset.max(self.start))?;
        Some(line.saturating_add(memchr::memchr_iter(b'\n', before).count()))
    }
}

fn map_span(text: &str, range: Range<usize>, span: &Span, owner: Option<&Section>) -> MapSpan {
    let link = span.link.as_ref().map(|link| span.cut(link, &range, text));
    let layer = owner.map_or(FRAME, |section| section.layer.as_str());
    MapSpan {
        start: range.start,
        end: range.end,
        layer: layer.to_owned(),
        section: owner.map(|section| section.name.clone()),
        source: link
            .as_ref()
            .map_or_else(|| FRAME.to_owned(), |link| link.origin.to_string()),
        source_start: link.as_ref().map(|link| link.range.start),
        source_end: link.as_ref().map(|link| link.range.end),
        line: link.as_ref().map(|link| link.line),
        transform: link.and_then(|link| link.transform),
    }
}
