//! Spans: which prompts something stands in, as ranges of their keys within lines.

/// The prompts of a line from one key to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) line: i64,
    pub(super) first: i64,
    pub(super) last: i64,
}

/// Some prompts: spans in order, of which no two meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<Span>);

impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut all: Vec<Span> = spans.into_iter().collect();
        all.retain(|span| span.first <= span.last);
        all.sort_unstable();
        let mut merged: Vec<Span> = Vec::with_capacity(all.len());
        for span in all {
            match merged.last_mut() {
                Some(before) if before.line == span.line && span.first <= before.last => {
                    before.last = before.last.max(span.last);
                }
                _ => merged.push(span),
            }
        }
        Self(merged)
    }
}

impl Spans {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Span> {
        self.0.iter().copied()
    }

    /// Returns the prompts that are in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let (mut mine, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        let mut both = Vec::new();
        while let (Some(one), Some(two)) = (mine.peek(), theirs.peek()) {
            let (first, last) = (one.first.max(two.first), one.last.min(two.last));
            if one.line == two.line && first <= last {
                let line = one.line;
                both.push(Span { line, first, last });
            }
            // Whichever ends first meets nothing that follows.
            if (one.line, one.last) <= (two.line, two.last) {
                mine.next();
            } else {
                theirs.next();
            }
        }
        Self(both)
    }

    /// Returns how many keys they have at most.
    pub(super) fn width(&self) -> u64 {
        let width = |span: &Span| span.last.abs_diff(span.first).saturating_add(1);
        self.0.iter().map(width).fold(0, u64::saturating_add)
    }

    /// Tells whether a prompt of a line is in them.
    pub(super) fn has(&self, line: i64, key: i64) -> bool {
        let after = self
            .0
            .partition_point(|span| (span.line, span.first) <= (line, key));
        let before = after.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|span| span.line == line && key <= span.last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn some() -> impl Strategy<Value = Vec<Span>> {
        let span = (0..3_i64, 0..40_i64, 0..12_i64).prop_map(|(line, first, more)| Span {
            line,
            first,
            last: first + more,
        });
        prop::collection::vec(span, 0..12)
    }

    fn prompts(spans: impl IntoIterator<Item = Span>) -> BTreeSet<(i64, i64)> {
        let of = |span: Span| (span.first..=span.last).map(move |key| (span.line, key));
        spans.into_iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn spans_are_sets_of_prompts(one in some(), two in some()) {
            let (mine, theirs) = (prompts(one.clone()), prompts(two.clone()));
            let (one, two): (Spans, Spans) = (one.into_iter().collect(), two.into_iter().collect());
            prop_assert_eq!(prompts(one.iter()), mine.clone());
            let both: BTreeSet<_> = mine.intersection(&theirs).copied().collect();
            prop_assert_eq!(prompts(one.and(&two).iter()), both);
            let wide: u64 = one.iter().map(|span| u64::try_from(span.last - span.first + 1).unwrap()).sum();
            prop_assert_eq!(one.width(), wide);
            for line in 0..4 {
                for key in 0..60 {
                    prop_assert_eq!(one.has(line, key), mine.contains(&(line, key)));
                }
            }
        }
    }
}
