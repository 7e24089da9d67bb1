//! Passages: what `search` and `why --text` can find in prompts, noted when a prompt is sealed.
//!
//! A text that runs from one section into the next is in no section. So what stands around each boundary is a passage, too:
//! the seam, with [`REACH`] bytes of the prompt before and after it. Every piece of a prompt that is not longer than that
//! stands in a section or in a seam.

use std::collections::BTreeSet;
use std::ops::Range;

use callsheet::Fingerprint;

use crate::StoreError;
use crate::db::{Tx, Value, groups, query_in};

/// How many bytes of the prompt a seam has on each side of a boundary.
pub(crate) const REACH: usize = 32;

/// How many rows one statement is about.
const ROWS: usize = 100;

/// What stands around a boundary of sections, or where the first begins or the last ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seam {
    /// The section before it, or the first one.
    pub(crate) left: Fingerprint,
    /// The section after it.
    pub(crate) right: Option<Fingerprint>,
    pub(crate) text: String,
    /// Whether it reaches over one of them, because that is so short.
    pub(crate) is_wide: bool,
}

/// Returns the seams of a text with these sections, by their names and places.
pub(crate) fn seams(text: &str, sections: &[(Fingerprint, Range<usize>)]) -> Vec<Seam> {
    let name = |nth: Option<usize>| sections.get(nth?).map(|section| section.0);
    let seam = |nth: usize| {
        let (before, after) = (name(nth.checked_sub(1)), name(Some(nth)));
        let from = nth.checked_sub(1).map_or(0, |nth| sections[nth].1.end);
        let to = sections.get(nth).map_or(text.len(), |next| next.1.start);
        let from = text.floor_char_boundary(from.saturating_sub(REACH));
        let to = text.ceil_char_boundary(to.saturating_add(REACH));
        let mut beside = sections[nth.saturating_sub(1)..].iter().take(2);
        Some(Seam {
            left: before.or(after)?,
            right: before.and(after),
            // PostgreSQL cannot keep the character NUL.
            text: text.get(from..to)?.replace('\0', "\u{fffd}"),
            is_wide: beside.any(|(_, place)| from < place.start && place.end < to),
        })
    };
    (0..=sections.len()).filter_map(seam).collect()
}

/// A passage of a prompt: a section, or the seam after it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Passage {
    pub(crate) body: i64,
    pub(crate) next: Option<i64>,
    pub(crate) seam: Option<String>,
}

/// Returns which of some passages a project does not have yet.
pub(crate) fn missing(
    tx: &mut dyn Tx,
    project: i64,
    mut passages: BTreeSet<Passage>,
) -> Result<BTreeSet<Passage>, StoreError> {
    let bodies: BTreeSet<i64> = passages.iter().map(|one| one.body).collect();
    let bodies = bodies.into_iter().map(Into::into);
    let alone = query_in(tx, &[project.into()], bodies, |list| {
        format!(
            "select body, next, seam from passage where project = $1 and next is null and body in {list}"
        )
    })?;
    let mut known = BTreeSet::new();
    for row in &alone {
        let passage = read(row)?;
        if passage.seam.is_none() {
            known.insert(passage.body);
        }
        passages.remove(&passage);
    }
    // Where a section is new, so are its seams.
    let pairs: Vec<(i64, i64)> = passages
        .iter()
        .filter_map(|one| Some((one.body, one.next?)))
        .filter(|(body, next)| known.contains(body) && known.contains(next))
        .collect();
    for some in pairs.chunks(ROWS) {
        let pair = |nth: usize| {
            format!(
                "(cast(${} as bigint), cast(${} as bigint))",
                nth * 2 + 2,
                nth * 2 + 3
            )
        };
        let list: Vec<String> = (0..some.len()).map(pair).collect();
        let sql = format!(
            "select body, next, seam from passage where project = $1 and (body, next) in (values {})",
            list.join(", ")
        );
        let keys = some.iter().flat_map(|(body, next)| [*body, *next]);
        let values: Vec<Value<'_>> = std::iter::once(project)
            .chain(keys)
            .map(Into::into)
            .collect();
        for row in tx.query(&sql, &values)? {
            passages.remove(&read(&row)?);
        }
    }
    Ok(passages)
}

fn read(row: &crate::db::Row) -> Result<Passage, StoreError> {
    Ok(Passage {
        body: row.int(0)?,
        next: row.maybe(1, crate::db::Row::int)?,
        seam: row.maybe(2, crate::db::Row::text)?.map(str::to_owned),
    })
}

/// Notes passages of a project.
pub(crate) fn put(
    tx: &mut dyn Tx,
    project: i64,
    passages: &BTreeSet<Passage>,
) -> Result<(), StoreError> {
    let passages: Vec<&Passage> = passages.iter().collect();
    for some in passages.chunks(ROWS) {
        let sql = format!(
            "insert into passage (project, body, next, seam) values {}",
            groups(some.len(), 4)
        );
        let row = |one: &&'_ Passage| -> [Value<'static>; 4] {
            [
                project.into(),
                one.body.into(),
                one.next.into(),
                one.seam.clone().into(),
            ]
        };
        let values: Vec<Value<'_>> = some.iter().flat_map(row).collect();
        tx.execute(&sql, &values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_short_piece_is_in_a_section_or_a_seam(
            parts in prop::collection::vec("[a-zé \\n]{0,70}", 1..12),
            from in 0..700_usize,
        ) {
            let (mut text, mut sections) = (String::new(), Vec::new());
            for (nth, part) in parts.iter().enumerate() {
                let start = text.len();
                text.push_str(part);
                // Every other part is a section; the others stand between them.
                if nth % 2 == 0 {
                    sections.push((Fingerprint::of(part), start..text.len()));
                }
            }
            let seams = seams(&text, &sections);
            prop_assert_eq!(seams.len(), sections.len() + 1);
            let from = text.floor_char_boundary(from % (text.len() + 1));
            let to = text.floor_char_boundary((from + REACH).min(text.len()));
            let piece = &text[from..to];
            let in_section = sections.iter().any(|(_, place)| text[place.clone()].contains(piece));
            prop_assert!(in_section || seams.iter().any(|seam| seam.text.contains(piece)), "{:?}", piece);
        }
    }

    #[test]
    fn a_seam_knows_the_sections_beside_it() {
        let [a, b] = ["a", "b"].map(Fingerprint::of);
        let text = format!("<{}|{}>", "x".repeat(40), "y".repeat(40));
        let found = seams(&text, &[(a, 1..41), (b, 42..82)]);
        let seam = |left, right, text: &str| Seam {
            left,
            right,
            text: text.to_owned(),
            is_wide: false,
        };
        assert_eq!(
            found,
            [
                seam(a, None, &text[..33]),
                seam(a, Some(b), &text[9..74]),
                seam(b, None, &text[50..]),
            ]
        );
        assert_eq!(seams("no section", &[]), []);
        let wide = seams(
            "long enough before x long enough after",
            &[(a, 19..20), (b, 21..38)],
        );
        let wide: Vec<bool> = wide.iter().map(|seam| seam.is_wide).collect();
        assert_eq!(wide, [true, true, false]);
    }
}
