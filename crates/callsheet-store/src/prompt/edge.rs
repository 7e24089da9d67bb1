//! Edges: what stands where sections meet, with a little of both.
//!
//! A text that runs from one section into the next is in no section. Its beginning is in an edge, though, as long as it
//! is no longer than [`REACH`]; so sections and edges together hold the beginning of everything.

use std::ops::Range;

use callsheet::Fingerprint;
use callsheet::manifest::SectionRecord;

/// How far an edge reaches into a section; the beginning of a text that is looked for may be so long.
pub(crate) const REACH: usize = 32;

/// What stands where two sections meet, or before the first and after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The section before it.
    pub(crate) left: Option<Fingerprint>,
    /// The section after it.
    pub(crate) right: Option<Fingerprint>,
    /// The end of the one, what stands between them, and the beginning of the other.
    pub(crate) text: String,
    /// What of it does not follow from the two sections: all but the end and the beginning of those that are long enough.
    pub(crate) between: String,
}

impl Edge {
    /// Returns what tells it from all others.
    pub(crate) fn name(&self) -> Vec<u8> {
        name(self.left, self.right, &self.text)
    }
}

/// Returns what tells an edge from all others.
pub(super) fn name(left: Option<Fingerprint>, right: Option<Fingerprint>, text: &str) -> Vec<u8> {
    let side = |side: Option<Fingerprint>| side.map_or([0; 32], |name| *name.as_bytes());
    let (left, right) = (side(left), side(right));
    let parts = [
        ("left", left.as_slice()),
        ("right", right.as_slice()),
        ("text", text.as_bytes()),
    ];
    Fingerprint::of_named(parts).as_bytes()[..16].to_vec()
}

/// Returns the edges of a text with these sections, each once.
pub(crate) fn edges(text: &str, sections: &[SectionRecord]) -> Vec<Edge> {
    let names = || sections.iter().map(|section| Some(section.fingerprint));
    let lefts = std::iter::once(None).chain(names());
    let rights = names().chain([None]);
    let places: Vec<Range<usize>> = sections.iter().map(|one| one.start..one.end).collect();
    let mut edges: Vec<Edge> = Vec::new();
    for (nth, ((left, right), range)) in lefts.zip(rights).zip(gaps(text, &places)).enumerate() {
        let long = |place: &&Range<usize>| place.len() >= REACH;
        let before = nth
            .checked_sub(1)
            .and_then(|nth| places.get(nth))
            .filter(long);
        let from = before.map_or(range.start, |place| place.end);
        let to = places
            .get(nth)
            .filter(long)
            .map_or(range.end, |place| place.start);
        let edge = Edge {
            left,
            right,
            between: text[from..to].to_owned(),
            text: text[range].to_owned(),
        };
        if !edge.text.is_empty() && (left.is_some() || right.is_some()) && !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    edges
}

/// Returns what stands around and between sections, with a little of them.
fn gaps(text: &str, sections: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = sections.iter().map(|section| section.start);
    let ends = sections.iter().map(|section| section.end);
    let gaps = std::iter::once(0)
        .chain(ends)
        .zip(starts.chain([text.len()]));
    gaps.map(|(from, to)| {
        let from = text.floor_char_boundary(from.saturating_sub(REACH));
        let to = text.ceil_char_boundary((to + REACH).min(text.len()));
        from..to
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sections_and_edges_hold_the_beginning_of_everything(
            parts in prop::collection::vec("[a-zé日 \n]{0,150}", 1..9), from in 0..1000_usize, len in 1..=REACH
        ) {
            // Every other part is a section, and the rest is frame.
            let (mut text, mut sections) = (String::new(), Vec::new());
            for (nth, part) in parts.iter().enumerate() {
                let start = text.len();
                text.push_str(part);
                if nth % 2 == 1 {
                    sections.push(start..text.len());
                }
            }
            let from = text.floor_char_boundary(from.min(text.len()));
            let to = text.floor_char_boundary((from + len).min(text.len()));
            if from < to {
                let held = |range: &Range<usize>| range.start <= from && to <= range.end;
                prop_assert!(sections.iter().chain(&gaps(&text, &sections)).any(held));
            }
        }
    }
}
