//! From the text of a prompt to the messages that are handed over, as compact JSON, with the map of where each byte came
//! from.
//!
//! A text and its map go in, the same of other bytes comes out: what stands for structure is frame, an escape leads to the
//! character that it stands for, and everything else is the byte that it was.

use std::borrow::Cow;
use std::ops::Range;

use crate::section::Role;
use crate::source_map::{FRAME, MapSpan, SectionPlace, SourceMap};
use crate::text::json_escaped;
use crate::trace::Transform;

/// Returns the messages of a text as JSON, and the map of it; `join` joins all system messages in the place of the first.
///
/// The places of the sections are in the order in which they were; with `join`, one may stand before another that was
/// before it.
pub(crate) fn as_messages(text: &str, map: &SourceMap, join: Option<&str>) -> (String, SourceMap) {
    let mut writer = Writer {
        text,
        map,
        out: String::with_capacity(text.len() + text.len() / 16 + 64),
        spans: Vec::with_capacity(map.spans.len() * 2),
        moved: vec![Vec::new(); map.messages.len()],
    };
    let mut contents = Vec::new();
    writer.frame("[");
    for (nth, (role, parts)) in joined(&map.messages, join.is_some())
        .into_iter()
        .enumerate()
    {
        if nth > 0 {
            writer.frame(",");
        }
        writer.frame(&format!("{{\"role\":\"{}\",\"content\":\"", role.name()));
        let start = writer.out.len();
        for (nth, part) in parts.into_iter().enumerate() {
            if nth > 0 {
                writer.escaped_frame(join.unwrap_or_default());
            }
            writer.message(part);
        }
        contents.push((role, start..writer.out.len()));
        writer.frame("\"}");
    }
    writer.frame("]");
    let places = writer.places();
    let out = SourceMap {
        schema: map.schema.clone(),
        spans: writer.spans,
        places,
        messages: contents,
    };
    (writer.out, out)
}

/// Returns who each message is from, and which of the given ones it is made of.
fn joined(messages: &[(Role, Range<usize>)], join: bool) -> Vec<(Role, Vec<usize>)> {
    let mut out: Vec<(Role, Vec<usize>)> = Vec::new();
    for (nth, (role, _)) in messages.iter().enumerate() {
        let first = out
            .iter_mut()
            .find(|(other, _)| join && *other == Role::System);
        match first {
            Some((_, parts)) if *role == Role::System => parts.push(nth),
            _ => out.push((*role, vec![nth])),
        }
    }
    out
}

struct Writer<'a> {
    text: &'a str,
    map: &'a SourceMap,
    out: String,
    spans: Vec<MapSpan>,
    /// Per message: from where in the text on which byte stands where.
    moved: Vec<Vec<(usize, usize)>>,
}

impl Writer<'_> {
    /// Appends structure.
    fn frame(&mut self, text: &str) {
        let start = self.out.len();
        self.out.push_str(text);
        self.push(MapSpan::frame(start..self.out.len()));
    }

    /// Appends text of the recipe that stands in a string.
    fn escaped_frame(&mut self, text: &str) {
        self.frame(&json_escaped(text));
    }

    /// Appends a span; frame that goes on becomes part of the last one.
    fn push(&mut self, span: MapSpan) {
        if span.start == span.end {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if goes_on(last, &span) => last.end = span.end,
            _ => self.spans.push(span),
        }
    }

    /// Appends a message of the text, escaped.
    fn message(&mut self, nth: usize) {
        let range = self.map.messages[nth].1.clone();
        let spans = &self.map.spans;
        let first = spans.partition_point(|span| span.end <= range.start);
        let mut moved = vec![(range.start, self.out.len())];
        for span in spans[first..]
            .iter()
            .take_while(|span| span.start < range.end)
        {
            let part = span.start.max(range.start)..span.end.min(range.end);
            self.part(span, part, &mut moved);
        }
        moved.push((range.end, self.out.len()));
        self.moved[nth] = moved;
    }

    /// Appends some bytes of a span: those that stay as they are together, and each that does not by itself.
    fn part(&mut self, span: &MapSpan, part: Range<usize>, moved: &mut Vec<(usize, usize)>) {
        let start = self.out.len();
        // What was done to the bytes before says more than that some are escaped now.
        let exact = span.source_start.filter(|_| span.transform.is_none());
        let mut line = span.line_at(self.text, part.start);
        let mut at = part.start;
        while at < part.end {
            let rest = &self.text.as_bytes()[at..part.end];
            let plain = rest.iter().position(|byte| escape(*byte).is_some());
            let (len, code) = match plain {
                Some(0) => (1, escape(rest[0])),
                Some(len) => (len, None),
                None => (rest.len(), None),
            };
            let run = at..at + len;
            let start = self.out.len();
            moved.push((at, start));
            self.out
                .push_str(code.as_deref().unwrap_or(&self.text[run.clone()]));
            if let Some(source) = exact {
                let source = source + (at - span.start);
                self.push(MapSpan {
                    start,
                    end: self.out.len(),
                    source_start: Some(source),
                    source_end: Some(source + len),
                    line,
                    transform: code.is_some().then_some(Transform::JsonString),
                    ..span.clone()
                });
                let ended = usize::from(rest[0] == b'\n');
                line = line.map(|line| line + ended);
            }
            at = run.end;
        }
        if exact.is_none() {
            let end = self.out.len();
            self.push(MapSpan {
                start,
                end,
                line,
                ..span.clone()
            });
        }
    }

    /// Returns where the sections stand now.
    fn places(&self) -> Vec<SectionPlace> {
        let messages = &self.map.messages;
        let mut nth = 0;
        let places = self.map.places.iter().map(|place| {
            let framed = &place.framed;
            while nth + 1 < messages.len() && messages[nth].1.end < framed.end {
                nth += 1;
            }
            let moved = self.moved.get(nth).map_or(&[][..], Vec::as_slice);
            let at = |offset: usize| {
                let after = moved.partition_point(|(from, _)| *from <= offset);
                let run = after.checked_sub(1).map(|last| moved[last]);
                run.map_or(0, |(from, to)| to.saturating_add(offset - from))
            };
            let range = |range: &Range<usize>| at(range.start)..at(range.end);
            SectionPlace {
                framed: range(framed),
                body: range(&place.body),
            }
        });
        places.collect()
    }
}

/// Tells whether a span is more of the same text of the recipe.
fn goes_on(last: &MapSpan, span: &MapSpan) -> bool {
    let frame = last.source == FRAME && span.source == FRAME;
    frame && last.layer == span.layer && last.section == span.section
}

/// Returns how a byte stands in a JSON string, where not as it is.
fn escape(byte: u8) -> Option<Cow<'static, str>> {
    Some(match byte {
        b'"' => "\\\"".into(),
        b'\\' => "\\\\".into(),
        8 => "\\b".into(),
        b'\t' => "\\t".into(),
        b'\n' => "\\n".into(),
        12 => "\\f".into(),
        b'\r' => "\\r".into(),
        0..=0x1f => format!("\\u{byte:04x}").into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
