//! Edges: what stands where sections meet, with a little of both.
//!
//! A text that runs from one section into the next is in no section. Its beginning is in an edge, though, as long as it
//! is no longer than [`REACH`]; so sections and edges together hold the beginning of everything.

use std::collections::BTreeSet;
use std::ops::Range;

use callsheet::Fingerprint;

/// How far an edge reaches into a section; the beginning of a text that is looked for may be so long.
pub(crate) const REACH: usize = 32;

/// Where two sections meet, or the first begins, or the last ends. What they are told by is a fingerprint, or the key of a body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge<T> {
    /// The section before it.
    pub(crate) left: Option<T>,
    /// The section after it.
    pub(crate) right: Option<T>,
    /// The sections beyond these that it reaches into, because they are so short.
    pub(crate) beyond: Vec<T>,
    /// What stands between them; a section that is too short to reach over is here as a whole.
    pub(crate) between: String,
}

impl<T> Edge<T> {
    /// Returns the edge with its sections told by something else.
    pub(crate) fn map<U>(&self, side: impl Fn(&T) -> Option<U>) -> Edge<U> {
        Edge {
            left: self.left.as_ref().and_then(&side),
            right: self.right.as_ref().and_then(&side),
            beyond: self.beyond.iter().filter_map(&side).collect(),
            between: self.between.clone(),
        }
    }

    /// Returns the sections that it has something of.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &T> {
        self.left.iter().chain(&self.right).chain(&self.beyond)
    }

    /// Returns what stands there: the end of the one, what is between them, and the beginning of the other.
    pub(crate) fn text<'t>(&self, body: impl Fn(&T) -> Option<&'t str>) -> String {
        let left = self.left.as_ref().and_then(&body).and_then(tail);
        let right = self.right.as_ref().and_then(&body).and_then(head);
        [left.unwrap_or(""), &self.between, right.unwrap_or("")].concat()
    }
}

impl Edge<Fingerprint> {
    /// Returns what tells it from all others.
    pub(crate) fn name(&self) -> Vec<u8> {
        let side = |side: Option<Fingerprint>| side.map_or([0; 32], |name| *name.as_bytes());
        let (left, right) = (side(self.left), side(self.right));
        let beyond: Vec<[u8; 32]> = self.beyond.iter().map(|name| *name.as_bytes()).collect();
        let parts = [
            ("left", left.as_slice()),
            ("right", right.as_slice()),
            ("beyond", beyond.as_flattened()),
            ("between", self.between.as_bytes()),
        ];
        Fingerprint::of_named(parts).as_bytes()[..16].to_vec()
    }
}

/// Returns the end of a section, if it is long enough to have one.
fn tail(text: &str) -> Option<&str> {
    let from = text.len().checked_sub(REACH)?;
    Some(&text[text.floor_char_boundary(from)..])
}

/// Returns the beginning of a section, if it is long enough to have one.
fn head(text: &str) -> Option<&str> {
    (text.len() >= REACH).then(|| &text[..text.ceil_char_boundary(REACH)])
}

/// Returns the edges of a text with these sections, by their names and places, each once.
pub(crate) fn edges(
    text: &str,
    sections: &[(Fingerprint, Range<usize>)],
) -> Vec<Edge<Fingerprint>> {
    let places: Vec<Range<usize>> = sections.iter().map(|one| one.1.clone()).collect();
    let section = |nth: Option<usize>| {
        let (name, place) = sections.get(nth?)?.clone();
        Some((name, (place.len() >= REACH).then_some(place)))
    };
    let (mut edges, mut known) = (Vec::new(), BTreeSet::new());
    for (nth, gap) in gaps(text, &places).into_iter().enumerate() {
        let (left, right) = (section(nth.checked_sub(1)), section(Some(nth)));
        let long = |side: &Option<(_, Option<Range<usize>>)>| side.clone().and_then(|side| side.1);
        let from = long(&left).map_or(gap.start, |place| place.end);
        let to = long(&right).map_or(gap.end, |place| place.start);
        let before = sections[..nth.saturating_sub(1)].iter().rev();
        let after = sections.iter().skip(nth + 1);
        let beyond = before
            .take_while(|(_, place)| place.end > gap.start)
            .chain(after.take_while(|(_, place)| place.start < gap.end));
        let edge = Edge {
            left: left.map(|side| side.0),
            right: right.map(|side| side.0),
            beyond: beyond.map(|(name, _)| *name).collect(),
            between: text[from..to].to_owned(),
        };
        if !gap.is_empty() && edge.sections().next().is_some() && known.insert(edge.name()) {
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

    #[test]
    fn an_edge_has_a_little_of_both_sides() {
        let text = |key: &usize| match key {
            1 => Some("xxx"),
            2 => Some("aaaaaaaaaébbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
            3 => Some("cccccccccccccccccccccccccccccccéddddddddd"),
            _ => None,
        };
        let shown = |left, right| {
            let between = "|".to_owned();
            Edge {
                left,
                right,
                beyond: Vec::new(),
                between,
            }
            .text(text)
        };
        let (b, c) = ("b".repeat(REACH - 1), "c".repeat(REACH - 1));
        assert_eq!(shown(Some(2), Some(3)), format!("é{b}|{c}é"));
        assert_eq!(shown(Some(1), None), "|", "it is between them as a whole");
        assert_eq!(shown(None, Some(9)), "|");
    }

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
