//! Edges: what stands where sections meet, with a little of both.
//!
//! A text that runs from one section into the next is in no section. Its beginning is in an edge, though, as long as it
//! is no longer than [`REACH`]; so sections and edges together hold the beginning of everything.

use std::ops::Range;

/// How far an edge reaches into a section; the beginning of a text that is looked for may be so long.
pub(crate) const REACH: usize = 64;

/// Returns the edges of a text whose sections stand at these places, in order.
pub(crate) fn edges(text: &str, sections: &[Range<usize>]) -> Vec<Range<usize>> {
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
    .filter(|edge| !edge.is_empty())
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
                prop_assert!(sections.iter().chain(&edges(&text, &sections)).any(held));
            }
        }
    }
}
