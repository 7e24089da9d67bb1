//! Pieces of a text, and the leaves that can have them.

use std::rc::Rc;

use super::leaf;
use super::sieve::{can_have, groups, long_groups};
use crate::StoreError;
use crate::db::Tx;
use crate::prompt::REACH;

/// The shortest text that the index finds.
pub(super) const LEAST_CHARS: usize = 3;

/// So many pieces of a long text are looked for.
const MOST_PIECES: usize = 32;

/// What a leaf holds, as it is kept; most are never looked into.
pub(super) type Packed = Rc<[u8]>;

/// A piece of a text and the leaves that can have it.
pub(super) struct Place<'t> {
    pub(super) piece: &'t str,
    pub(super) leaves: Vec<Packed>,
}

/// Returns the pieces of a text with the leaves that can have them, the newest first; nothing if one is in none. Returns how many
/// leaves there are as well.
pub(super) fn look_up<'t>(
    tx: &mut dyn Tx,
    text: &'t str,
) -> Result<(Vec<Place<'t>>, usize), StoreError> {
    let pieces = pieces(text).into_iter();
    let place = |piece| Place {
        piece,
        leaves: Vec::new(),
    };
    let mut asked: Vec<(Vec<u64>, Place<'t>)> = pieces
        .map(|piece| {
            // The long ones let less through.
            let asked = long_groups(piece).chain(groups(piece));
            (asked.collect(), place(piece))
        })
        .collect();
    let mut all = 0;
    tx.each(leaf::ALL, &[], &mut |row| {
        all += 1;
        let sieve = row.bytes(1)?;
        let mut packed: Option<Packed> = None;
        for (groups, place) in &mut asked {
            if groups.iter().all(|group| can_have(sieve, *group)) {
                let packed = match &packed {
                    Some(packed) => packed,
                    None => packed.insert(row.bytes(0)?.into()),
                };
                place.leaves.push(Rc::clone(packed));
            }
        }
        Ok(())
    })?;
    if asked.iter().any(|(_, place)| place.leaves.is_empty()) {
        asked.clear();
    }
    let places = asked.into_iter().map(|(_, place)| place);
    Ok((places.collect(), all))
}

/// Returns pieces of a text that are spread over all of it, each short enough to stand in a section or an edge.
fn pieces(text: &str) -> Vec<&str> {
    if text.len() <= REACH {
        return vec![text];
    }
    let last = text.len() - REACH;
    // One begins where the one before ends, if there are not too many of them.
    let count = (last.div_ceil(REACH) + 1).min(MOST_PIECES);
    let starts = (0..count).map(|nth| nth * last / (count - 1));
    let piece = |start: usize| {
        let start = text.floor_char_boundary(start);
        &text[start..text.floor_char_boundary(start + REACH)]
    };
    let pieces = starts.map(piece);
    pieces
        .filter(|piece| piece.chars().count() >= LEAST_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_spread_over_the_whole_text() {
        let text = "é".repeat(900);
        let pieces = pieces(&text);
        assert_eq!(pieces.len(), MOST_PIECES);
        let sizes = REACH - 4..=REACH;
        assert!(pieces.iter().all(|piece| sizes.contains(&piece.len())));
        assert_eq!(super::pieces("short"), ["short"]);
    }

    #[test]
    fn pieces_of_a_text_leave_no_gap() {
        let text: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let text = text.join(" ");
        for len in REACH + 1..text.len() {
            let mut covered = 0;
            for piece in pieces(&text[..len]) {
                let at = piece.as_ptr().addr() - text.as_ptr().addr();
                assert!(at <= covered, "{len}");
                covered = at + piece.len();
            }
            assert_eq!(covered, len);
        }
    }
}
