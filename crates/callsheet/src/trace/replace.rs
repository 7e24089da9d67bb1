//! Parts of a traced text that are replaced, with their provenance kept.

use std::ops::Range;
use std::sync::Arc;

use super::{Link, Origin, OriginKind, Span, Traced, Transform};

impl Traced {
    /// Returns the text with ranges of it, in order and without overlap, replaced by other texts.
    ///
    /// Each new text points to what stood in its place.
    #[must_use]
    pub(crate) fn replaced(&self, parts: &[(Range<usize>, String)], transform: Transform) -> Self {
        let mut out = Self::with_capacity(self.len());
        let mut walk = Walk::new(self);
        for (range, text) in parts {
            walk.copy(range.start, &mut out);
            let replaced = walk.piece(range.end);
            out.push_span(text, Some(replaced.link(text, transform)));
        }
        walk.copy(self.len(), &mut out);
        out
    }

    /// Returns the text with the same frame put in at some places, which are in order.
    #[must_use]
    pub(crate) fn with_frames(&self, places: &[usize], frame: &str) -> Self {
        let mut out = Self::with_capacity(self.len() + places.len() * frame.len());
        let mut walk = Walk::new(self);
        for place in places {
            walk.copy(*place, &mut out);
            out.push_frame(frame);
        }
        walk.copy(self.len(), &mut out);
        out
    }

    /// Returns the text with CRLF and lone CR turned into LF.
    pub(crate) fn with_line_feeds(&self) -> Self {
        let signs = memchr::memchr_iter(b'\r', self.text.as_bytes());
        let places: Vec<usize> = signs.flat_map(|at| [at, at + 1]).collect();
        let pieces = self.cut(&places);
        let mut out = Self::with_capacity(self.len());
        for (nth, piece) in pieces.iter().enumerate() {
            let goes_on = pieces
                .get(nth + 1)
                .is_some_and(|next| next.text.starts_with('\n'));
            match (nth % 2, goes_on) {
                (0, _) => out.push(piece),
                (_, true) => {}
                (_, false) => out.push_span("\n", Some(piece.link("\n", Transform::Newline))),
            }
        }
        out
    }

    /// Returns the text in pieces, cut at places that are in order.
    pub(crate) fn cut(&self, places: &[usize]) -> Vec<Self> {
        let mut walk = Walk::new(self);
        let ends = places.iter().copied().chain([self.text.len()]);
        ends.map(|end| walk.piece(end)).collect()
    }

    /// Returns the lines without their ends, as [`str::lines`] has them.
    pub(crate) fn lines(&self) -> Vec<Self> {
        let ends = memchr::memchr_iter(b'\n', self.text().as_bytes());
        let starts: Vec<usize> = ends.map(|at| at + 1).collect();
        let lines = self.cut(&starts).into_iter().zip(self.text().lines());
        lines
            .map(|(piece, line)| piece.slice(0..line.len()))
            .collect()
    }

    /// Returns one link for the whole text: to all of the first origin that it has, or to something derived.
    fn link(&self, shown: &str, transform: Transform) -> Link {
        let mut links = self.spans.iter().filter_map(|span| span.link.as_ref());
        let Some(first) = links.next() else {
            return Link {
                origin: Origin::new(OriginKind::Derived, "redaction", shown),
                range: 0..shown.len(),
                line: 1,
                transform: Some(transform),
            };
        };
        let mut range = first.range.clone();
        for link in links.filter(|link| Arc::ptr_eq(&link.origin, &first.origin)) {
            range = range.start.min(link.range.start)..range.end.max(link.range.end);
        }
        Link {
            origin: Arc::clone(&first.origin),
            range,
            line: first.line,
            transform: Some(transform),
        }
    }

    /// Puts other origins in the place of those that the spans have.
    pub(crate) fn map_origins(&mut self, change: impl Fn(&Arc<Origin>) -> Arc<Origin>) {
        let mut last: Option<(Arc<Origin>, Arc<Origin>)> = None;
        for link in self.spans.iter_mut().filter_map(|span| span.link.as_mut()) {
            let new = match &last {
                Some((old, new)) if Arc::ptr_eq(old, &link.origin) => Arc::clone(new),
                _ => change(&link.origin),
            };
            last = Some((Arc::clone(&link.origin), Arc::clone(&new)));
            link.origin = new;
        }
    }
}

/// Goes through a text once, part by part, and counts each line of its origins once.
struct Walk<'a> {
    text: &'a Traced,
    /// The spans that are not used up.
    spans: &'a [Span],
    at: usize,
    /// The lines that were passed in the first of them.
    lines: usize,
}

impl<'a> Walk<'a> {
    fn new(text: &'a Traced) -> Self {
        Self {
            text,
            spans: &text.spans,
            at: 0,
            lines: 0,
        }
    }

    fn piece(&mut self, end: usize) -> Traced {
        let mut out = Traced::with_capacity(end - self.at);
        self.copy(end, &mut out);
        out
    }

    fn copy(&mut self, end: usize, out: &mut Traced) {
        while let Some((span, after)) = self.spans.split_first()
            && self.at < end
        {
            let part = self.at..end.min(span.range.end);
            let text = &self.text.text[part.clone()];
            let exact = span.link.as_ref().filter(|link| link.transform.is_none());
            let link = match exact {
                Some(link) => {
                    let skipped = part.start - span.range.start;
                    let start = link.range.start + skipped;
                    Some(Link {
                        range: start..start + part.len(),
                        line: link.line + self.lines,
                        ..link.clone()
                    })
                }
                None => span.link.clone(),
            };
            out.push_span(text, link);
            self.at = part.end;
            if self.at == span.range.end {
                (self.spans, self.lines) = (after, 0);
            } else if exact.is_some() {
                self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
            }
        }
    }
}
