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
        let cuts = parts.iter().flat_map(|(range, _)| [range.start, range.end]);
        let pieces = self.cut(&cuts.collect::<Vec<usize>>());
        let mut out = Self::with_capacity(self.len());
        // Kept and replaced pieces take turns.
        for (nth, kept) in pieces.iter().step_by(2).enumerate() {
            out.push(kept);
            if let (Some(old), Some((_, text))) = (pieces.get(2 * nth + 1), parts.get(nth)) {
                out.push_span(text, Some(old.link(text, transform)));
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

    /// Returns the lines without their ends, as [`str::lines`] has them.
    pub(crate) fn lines(&self) -> Vec<Self> {
        let ends = memchr::memchr_iter(b'\n', self.text().as_bytes());
        let starts: Vec<usize> = ends.map(|at| at + 1).collect();
        let lines = self.cut(&starts).into_iter().zip(self.text().lines());
        lines
            .map(|(piece, line)| piece.slice(0..line.len()))
            .collect()
    }

    fn cut_into(&self, base: usize, places: &[usize], pieces: &mut Vec<Self>) {
        /// Up to so many cuts, halving costs more than it saves.
        const FEW: usize = 16;
        let (before, rest) = places.split_at(places.len() / 2);
        let (Some((place, after)), FEW..) = (rest.split_first(), places.len()) else {
            let ends = places.iter().map(|place| place - base).chain([self.len()]);
            let mut at = 0;
            pieces.extend(ends.map(|end| self.slice(std::mem::replace(&mut at, end)..end)));
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
