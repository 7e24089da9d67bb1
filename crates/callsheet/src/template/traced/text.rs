//! Texts within a rendering: traced, and with what each run of bytes may do where it is printed.

use std::ops::Range;

use crate::trace::Traced;

/// What a run of bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Written by the author of the recipe: it makes structure.
    Own,
    /// A value, which makes none.
    Value,
    /// A value of a field in which every text, and every part of one, is fit for a line already.
    Fit,
    /// A value that a filter made harmless for Markdown already.
    Harmless,
    /// A value that a filter made harmless for an attribute already.
    Attribute,
    /// A value that a filter has written as JSON.
    Json,
}

/// A traced text in runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    body: Traced,
    /// Where each run ends, and what it is.
    runs: Vec<(usize, Kind)>,
}

impl Text {
    pub(crate) fn new(body: Traced, kind: Kind) -> Self {
        let runs = match body.len() {
            0 => Vec::new(),
            len => vec![(len, kind)],
        };
        Self { body, runs }
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

    /// Returns the runs with their ranges, in order and without gaps.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<usize>, Kind)> {
        let mut start = 0;
        self.runs.iter().map(move |(end, kind)| {
            let range = start..*end;
            start = *end;
            (range, *kind)
        })
    }

    /// Tells whether nothing of it is a value.
    pub(crate) fn is_own(&self) -> bool {
        self.runs.iter().all(|(_, kind)| *kind == Kind::Own)
    }

    /// Returns what it takes to keep it, beside its bytes.
    pub(crate) fn parts(&self) -> usize {
        self.body.spans().len() + self.runs.len()
    }

    /// Returns the bytes in `range`, which must lie on character boundaries.
    ///
    /// A part of what was made harmless is a value again: the part that made it harmless may be gone.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let mut out = Self {
            body: self.body.slice(range.clone()),
            runs: Vec::new(),
        };
        for (run, kind) in self.runs() {
            let part = run.start.max(range.start)..run.end.min(range.end);
            if part.is_empty() {
                continue;
            }
            let kind = match kind {
                Kind::Harmless | Kind::Attribute | Kind::Json if part != run => Kind::Value,
                kind => kind,
            };
            out.end_run(part.end - range.start, kind);
        }
        out
    }

    pub(crate) fn push(&mut self, other: &Self) {
        let base = self.body.len();
        self.body.push(&other.body);
        for (end, kind) in &other.runs {
            self.end_run(base + end, *kind);
        }
    }

    pub(crate) fn push_own(&mut self, frame: &str) {
        self.body.push_frame(frame);
        self.end_run(self.body.len(), Kind::Own);
    }

    fn end_run(&mut self, end: usize, kind: Kind) {
        match self.runs.last_mut() {
            Some((last, of)) if *of == kind => *last = end,
            Some((last, _)) if *last == end => {}
            _ if end == 0 => {}
            _ => self.runs.push((end, kind)),
        }
    }
}

impl Text {
    /// Puts other origins in the place of those that the spans have.
    pub(super) fn map_origins(
        &mut self,
        change: impl Fn(&std::sync::Arc<crate::trace::Origin>) -> std::sync::Arc<crate::trace::Origin>,
    ) {
        self.body.map_origins(change);
    }
}
