//! Texts within a rendering: traced, and with what each run of bytes may do where it is printed.

use std::ops::Range;
use std::sync::Arc;

use crate::text::{is_space, strip};
use crate::trace::{Origin, Traced};

/// What a run of bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Written by the author of the recipe: it makes structure.
    Own,
    /// A value, which makes none.
    Value,
    /// A value of a field in which every text, and every part of one, is fit for a line already.
    Fit,
    /// The same, of one line: it begins no line of its own as anything else than text.
    FitLine,
    /// A value that a filter made harmless for Markdown already.
    Harmless,
    /// A value that a filter made harmless for an attribute already.
    Attribute,
    /// A value that a filter has written as JSON.
    Json,
}

/// A traced text in runs.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    body: Traced,
    /// What the last run is.
    kind: Kind,
    /// Where each run before it ends, and what it is.
    before: Vec<(usize, Kind)>,
}

impl Default for Text {
    fn default() -> Self {
        Self::own(Traced::new())
    }
}

impl Text {
    pub(crate) fn new(body: Traced, kind: Kind) -> Self {
        Self {
            body,
            kind,
            before: Vec::new(),
        }
    }

    pub(crate) fn own(body: Traced) -> Self {
        Self::new(body, Kind::Own)
    }

    pub(crate) fn value(body: Traced) -> Self {
        Self::new(body, Kind::Value)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.body.text()
    }

    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn body(&self) -> &Traced {
        &self.body
    }

    /// Returns what all of it is, where that is one thing.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.before.is_empty().then_some(self.kind)
    }

    /// Returns the runs with their ranges, in order and without gaps.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<usize>, Kind)> {
        let mut start = 0;
        let before = self.before.iter().copied();
        let last = (self.len() > 0).then_some((self.len(), self.kind));
        before.chain(last).map(move |(end, kind)| {
            let range = start..end;
            start = end;
            (range, kind)
        })
    }

    /// Tells whether nothing of it is a value.
    pub(crate) fn is_own(&self) -> bool {
        self.runs().all(|(_, kind)| kind == Kind::Own)
    }

    /// Returns what it takes to keep it, beside its bytes.
    pub(crate) fn parts(&self) -> usize {
        self.body.spans().len() + self.before.len() + 1
    }

    /// Returns the bytes in `range`, which must lie on character boundaries.
    ///
    /// A part of what was made harmless is a value again: the part that made it harmless may be gone.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut out = Self::default();
        for run in self.runs() {
            out.take_run(&run, &range);
        }
        out.body = self.body.slice(range);
        out
    }

    /// Returns the text in pieces, cut at places that are in order; whoever wants many parts goes through it once.
    pub(crate) fn cut(&self, places: &[usize]) -> Vec<Self> {
        let mut runs = self.runs().peekable();
        let mut start = 0;
        let piece = |body: Traced| {
            let range = start..start + body.len();
            start = range.end;
            let mut out = Self::default();
            while let Some(run) = runs.peek() {
                out.take_run(run, &range);
                if run.0.end > range.end {
                    break;
                }
                runs.next();
            }
            out.body = body;
            out
        };
        self.body.cut(places).into_iter().map(piece).collect()
    }

    /// Returns parts of the text, which are in order.
    pub(crate) fn parts_at(&self, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Self> {
        let ends = ranges
            .into_iter()
            .flat_map(|range| [range.start, range.end]);
        let pieces = self.cut(&ends.collect::<Vec<_>>());
        pieces.into_iter().skip(1).step_by(2).collect()
    }

    /// Returns the runs as texts of their own.
    pub(crate) fn taken_apart(&self) -> Vec<Self> {
        let ends: Vec<usize> = self.runs().map(|(run, _)| run.end).collect();
        self.cut(&ends)
    }

    /// Goes on with the part of a run of another text that is in a range of it.
    fn take_run(&mut self, (run, kind): &(Range<usize>, Kind), range: &Range<usize>) {
        let made = [Kind::Harmless, Kind::Attribute, Kind::Json];
        let part = run.start.max(range.start)..run.end.min(range.end);
        if !part.is_empty() {
            let is_part = made.contains(kind) && part != *run;
            let kind = if is_part { Kind::Value } else { *kind };
            self.begin_run(part.start - range.start, kind);
        }
    }

    /// Returns the text without white space at both ends.
    ///
    /// Where a line begins with white space does not count for what is harmless, so it stays that.
    pub(crate) fn stripped(&self) -> Self {
        if let Some(kind) = self.kind() {
            return Self::new(self.body.strip(), kind);
        }
        let text = self.as_str();
        let start = text.len() - text.trim_start_matches(is_space).len();
        self.slice(start..start + strip(text).len())
    }

    pub(crate) fn push(&mut self, other: &Self) {
        let base = self.len();
        for (run, kind) in other.runs() {
            self.begin_run(base + run.start, kind);
        }
        self.body.push(&other.body);
    }

    /// Returns the text with a margin at the beginnings of some of its lines, which are in order.
    ///
    /// A margin is what the text before it is. A code block in what was made harmless may be none with a margin, so that it is a
    /// value again.
    pub(crate) fn with_margins(&self, places: &[usize], margin: &str) -> Self {
        let moved = |end: usize| {
            let margins = places.partition_point(|place| *place <= end);
            end + margins * margin.len()
        };
        let fenced = ["```", "~~~"]
            .iter()
            .any(|sign| self.as_str().contains(sign));
        let kind = |kind| match kind {
            Kind::Harmless if fenced => Kind::Value,
            kind => kind,
        };
        let before = self.before.iter();
        Self {
            body: self.body.with_frames(places, margin),
            kind: kind(self.kind),
            before: before.map(|(end, one)| (moved(*end), kind(*one))).collect(),
        }
    }

    fn begin_run(&mut self, at: usize, kind: Kind) {
        if at > 0 && self.kind != kind {
            self.before.push((at, self.kind));
        }
        self.kind = kind;
    }

    /// Puts other origins in the place of those that the spans have.
    pub(super) fn map_origins(&mut self, change: impl Fn(&Arc<Origin>) -> Arc<Origin>) {
        self.body.map_origins(change);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::OriginKind;

    const KINDS: [Kind; 4] = [Kind::Own, Kind::Value, Kind::Harmless, Kind::Json];

    proptest! {
        #[test]
        fn pieces_are_the_parts_that_they_are_cut_at(
            runs in prop::collection::vec(("[a\n]{0,4}", 0..KINDS.len()), 0..9),
            places in prop::collection::vec(0..40_usize, 0..9),
        ) {
            let mut text = Text::default();
            for (nth, (part, kind)) in runs.iter().enumerate() {
                let origin = Origin::new(OriginKind::Input, nth.to_string(), part);
                text.push(&Text::new(Traced::whole(part, &origin), KINDS[*kind]));
            }
            let mut places: Vec<usize> = places.iter().map(|at| at % (text.len() + 1)).collect();
            places.sort_unstable();
            let starts = [0].iter().chain(&places);
            let ends = places.iter().copied().chain([text.len()]);
            let pieces = text.cut(&places);
            prop_assert_eq!(pieces.len(), places.len() + 1);
            for ((start, end), piece) in starts.zip(ends).zip(pieces) {
                let part = text.slice(*start..end);
                prop_assert_eq!(part.body(), piece.body());
                prop_assert!(part.runs().eq(piece.runs()), "{:?} {:?}", part, piece);
            }
        }
    }
}
