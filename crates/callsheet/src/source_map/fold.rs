//! Maps of messages without a span for every escape, as they are kept.
//!
//! In the JSON of messages every end of a line cuts a span in two. Where the escapes stand is plain from the prompt, so a
//! map is kept with such spans joined, and cut again when it is read.

use super::{MapSpan, SourceMap};
use crate::reading::Reading;
use crate::trace::Transform;

impl SourceMap {
    /// Joins the spans of one source that only escapes keep apart.
    pub(crate) fn folded(&self, prompt: &str) -> Self {
        let reading = Reading::of(prompt);
        let mut spans: Vec<MapSpan> = Vec::new();
        // Whether the last span may go on with bytes as they are, or only with an escape.
        let mut after_escape = false;
        for span in &self.spans {
            let escape = is_escape(span, &reading);
            let plain = span.transform.is_none() && span.source_start.is_some();
            match spans.last_mut() {
                Some(last) if (escape || (plain && after_escape)) && goes_on(last, span) => {
                    last.end = span.end;
                    last.source_end = span.source_end;
                }
                _ => spans.push(MapSpan {
                    transform: span.transform.filter(|_| !escape),
                    ..span.clone()
                }),
            }
            after_escape = escape;
        }
        Self {
            schema: self.schema.clone(),
            spans,
            ..Self::default()
        }
    }

    /// Cuts the spans of a prompt where it has escapes; the map covers it.
    pub(crate) fn unfolded(&self, prompt: &str) -> Self {
        let reading = Reading::of(prompt);
        let mut spans = Vec::with_capacity(self.spans.len());
        for span in &self.spans {
            match span.source_start.filter(|_| span.transform.is_none()) {
                Some(source) => cut(span, source, &reading, &mut spans),
                None => spans.push(span.clone()),
            }
        }
        Self {
            schema: self.schema.clone(),
            spans,
            ..Self::default()
        }
    }
}

/// Tells whether a span is one escape that leads to the character that it stands for.
fn is_escape(span: &MapSpan, reading: &Reading<'_>) -> bool {
    let source = span.source_start.zip(span.source_end);
    let source = source.map_or(0, |(start, end)| end.saturating_sub(start));
    span.transform == Some(Transform::JsonString)
        && source == reading.slice(span.start..span.end).len()
        && reading.runs(span.start..span.end).count() == 1
        && span.end - span.start > source
}

fn goes_on(last: &MapSpan, span: &MapSpan) -> bool {
    last.transform.is_none()
        && last.source_end.is_some()
        && last.source_end == span.source_start
        && (&last.layer, &last.section, &last.source) == (&span.layer, &span.section, &span.source)
}

/// Appends the runs and escapes of a span.
fn cut(span: &MapSpan, source: usize, reading: &Reading<'_>, out: &mut Vec<MapSpan>) {
    let (mut source, mut line) = (source, span.line);
    for run in reading.runs(span.start..span.end) {
        let text = reading.slice(run.clone());
        out.push(MapSpan {
            start: run.start,
            end: run.end,
            source_start: Some(source),
            source_end: Some(source.saturating_add(text.len())),
            line,
            transform: (text.len() < run.len()).then_some(Transform::JsonString),
            ..span.clone()
        });
        source = source.saturating_add(text.len());
        let ended = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        line = line.map(|line| line.saturating_add(ended));
    }
}
