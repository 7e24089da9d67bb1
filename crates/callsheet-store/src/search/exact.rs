//! Which prompts may carry a text exactly: those that have its rarest piece.
//!
//! Every piece that is not longer than [`REACH`] stands in a section or in a seam, wherever the text begins and ends. The index
//! says how many passages may have a piece; those of the rarest one are read, and name the prompts.

use super::index::{self, Reach};
use super::trigram::{self, Gram};
use super::{text, without_nul};
use crate::StoreError;
use crate::db::Tx;
use crate::passage::REACH;

/// So many passages with a piece are few enough not to look for a rarer one.
const FEW: usize = 200;

/// Where even the rarest piece is in so many passages, the newest prompts are looked at first.
const COMMON: usize = 4 * FEW;

/// So many of them.
const NEWEST: usize = 64;

/// So many pieces of a text are tried.
const PIECES: usize = 16;

/// Prompts of a line, by their keys, that have the rarest piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) line: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// Passages with the prompts that have them; of a seam, those that have both sections.
const SPANS: &str = "select s.key, s.body, s.seam, s.run, s.first, s.last, a.line, \
    case when b.first > a.first then b.first else a.first end, case when b.last < a.last then b.last else a.last end as newest \
    from passage s join part a on a.body = s.body and a.roles not in (2, 4, 6) \
    join line l on l.key = a.line and l.project = s.project \
    left join part b on b.body = s.next and b.line = a.line and b.first <= a.last and b.last >= a.first \
    where s.project = $1 and (s.next is null or b.body is not null) and";

/// Calls `take` with prompts of a project that may carry a text, those with the newest prompt first, as long as it returns `true`.
pub(crate) fn candidates(
    tx: &mut dyn Tx,
    project: i64,
    wanted: &str,
    take: &mut dyn FnMut(&mut dyn Tx, Candidate) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (reach, wanted) = (Reach::of(tx, project)?, &without_nul(wanted));
    let (count, piece) = rarest(tx, project, wanted)?;
    if count >= COMMON {
        let sql = format!(
            "select line, key from prompt where project = $1 order by id desc limit {NEWEST}"
        );
        for row in tx.query(&sql, &[project.into()])? {
            let (line, key) = (row.int(0)?, row.int(1)?);
            let (first, last) = (key, key);
            if !take(tx, Candidate { line, first, last })? {
                return Ok(());
            }
        }
    }
    let grams: Vec<Gram> = trigram::of_text(piece).collect();
    let mut values = vec![project.into()];
    let mut queries = Vec::new();
    for asked in [
        trigram::wanted(project, &grams, 0),
        trigram::exact_wanted(project, &grams),
    ] {
        queries.push(index::query(tx.dialect(), &asked, &mut values));
    }
    let sql = format!(
        "{SPANS} (s.key > {} or s.key in ({}) or s.key in ({})) order by newest desc",
        reach.through, queries[0], queries[1]
    );
    let mut known: Option<(i64, bool)> = None;
    for row in index::readable(tx.query(&sql, &values))? {
        let key = row.int(0)?;
        let has_piece = match known {
            Some((known, has_piece)) if known == key => has_piece,
            // What cannot be read may have it: whoever carries it will say that it is damaged.
            _ => text(tx, &row)?.is_none_or(|text| text.contains(piece)),
        };
        known = Some((key, has_piece));
        let candidate = Candidate {
            line: row.int(6)?,
            first: row.int(7)?,
            last: row.int(8)?,
        };
        if has_piece && !take(tx, candidate)? {
            break;
        }
    }
    Ok(())
}

/// Returns the piece of a text that the fewest passages seem to have, and how many, up to [`COMMON`] or more.
fn rarest<'t>(
    tx: &mut dyn Tx,
    project: i64,
    text: &'t str,
) -> Result<(usize, &'t str), StoreError> {
    let mut rarest = (usize::MAX, text);
    for piece in pieces(text) {
        if rarest.0 <= FEW {
            break;
        }
        let grams: Vec<Gram> = trigram::of_text(piece).collect();
        let mut count = 0;
        for asked in [
            trigram::wanted(project, &grams, 0),
            trigram::exact_wanted(project, &grams),
        ] {
            count += index::find(tx, &asked, COMMON)?.len();
        }
        if count < rarest.0 {
            rarest = (count, piece);
        }
    }
    Ok(rarest)
}

/// Returns pieces of a text that are spread over all of it and overlap, each short enough to stand in a section or a seam.
fn pieces(text: &str) -> Vec<&str> {
    let last = text.len().saturating_sub(REACH);
    let count = (last.div_ceil(REACH / 2) + 1).min(PIECES);
    let piece = |nth: usize| {
        let start = text.floor_char_boundary(nth * last / (count - 1).max(1));
        &text[start..text.floor_char_boundary(start + REACH)]
    };
    (0..count).map(piece).collect()
}
