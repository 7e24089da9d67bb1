//! Parts of a traced text that are replaced, with their provenance kept.

use std::ops::Range;
use std::sync::Arc;

use super::{Link, Origin, OriginKind, Traced, Transform};

impl Traced {
    /// Returns the text with ranges of it, in order and without overlap, replaced by other texts.
    ///
    /// Each new text points to what stood in its place.
    #[must_use]
    pub(crate) fn replaced(&self, parts: &[(Range<usize>, String)], transform: Transform) -> Self {
        let mut out = Self::with_capacity(self.len());
        let mut at = 0;
        for (range, text) in parts {
            out.push(&self.slice(at..range.start));
            out.push_span(text, Some(self.slice(range.clone()).link(text, transform)));
            at = range.end;
        }
        out.push(&self.slice(at..self.len()));
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
    ///
    /// Halving, because cutting a span costs as much as counting the lines before the cut: from left to right, many
    /// cuts in one long text would cost the square of it.
    pub(crate) fn cut(&self, places: &[usize]) -> Vec<Self> {
        let mut pieces = Vec::with_capacity(places.len() + 1);
        self.cut_into(0, places, &mut pieces);
        pieces
    }

    fn cut_into(&self, base: usize, places: &[usize], pieces: &mut Vec<Self>) {
        let (before, rest) = places.split_at(places.len() / 2);
        let Some((place, after)) = rest.split_first() else {
            pieces.push(self.clone());
            return;
        };
        let at = place - base;
        self.slice(0..at).cut_into(base, before, pieces);
        self.slice(at..self.len()).cut_into(*place, after, pieces);
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
