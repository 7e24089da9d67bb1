//! Which prompts may carry a text exactly: those that have its rarest piece.
//!
//! Every piece that is not longer than [`REACH`] stands in a section or in a seam, wherever the text begins and ends. The index
//! says how many passages may have a piece; those of the rarest one are read, and name the prompts.

use super::index::{self, Reach};
use super::trigram::{self, Gram, Wanted};
use super::{text, without_nul};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::passage::REACH;

/// So many pieces of a text are tried.
const PIECES: usize = 16;

/// A piece that is in so many passages is too common to tell prompts apart.
const COMMON: usize = 500;

/// So many prompts are few enough not to look for a rarer piece.
const FEW: i64 = 32;

/// Where every piece is common, so many of the newest prompts are looked at first.
const NEWEST: usize = 64;

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
    let (prompts, piece) = rarest(tx, project, wanted)?;
    if prompts == i64::MAX {
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
    let mut known: Option<(i64, bool)> = None;
    for row in spans(tx, project, piece, Some(reach.through))? {
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

/// Returns the piece of a text that the fewest prompts seem to have, and how many at most.
fn rarest<'t>(tx: &mut dyn Tx, project: i64, text: &'t str) -> Result<(i64, &'t str), StoreError> {
    let mut rarest = (i64::MAX, text);
    for piece in pieces(text) {
        let mut passages = 0;
        for asked in asked(project, piece) {
            passages += index::find(tx, &asked, COMMON)?.len();
        }
        let mut prompts = if passages < COMMON { 0 } else { i64::MAX };
        if passages < COMMON {
            for row in spans(tx, project, piece, None)? {
                let count = row.int(8)?.saturating_sub(row.int(7)?);
                prompts = count.saturating_add(1).saturating_add(prompts);
            }
        }
        if prompts < rarest.0 || rarest.1 == text {
            rarest = (prompts, piece);
        }
        if prompts <= FEW {
            break;
        }
    }
    Ok(rarest)
}

/// Returns what the index is asked for, to find a piece in sections and in seams.
fn asked(project: i64, piece: &str) -> [Wanted; 2] {
    let grams: Vec<Gram> = trigram::of_text(piece).collect();
    let sections = trigram::wanted(project, &grams, 0);
    [sections, trigram::exact_wanted(project, &grams)]
}

/// Returns passages that may have a piece with the prompts that have them, and all that the index does not reach.
fn spans(
    tx: &mut dyn Tx,
    project: i64,
    piece: &str,
    through: Option<i64>,
) -> Result<Vec<Row>, StoreError> {
    let mut values = vec![project.into()];
    let of = |asked| index::query(tx.dialect(), &asked, &mut values);
    let [sections, seams] = asked(project, piece).map(of);
    let rest = through.map_or_else(String::new, |through| {
        format!(" union select key from passage where project = $1 and key > {through}")
    });
    let sql = format!("{SPANS} s.key in ({sections} union {seams}{rest}) order by newest desc");
    index::readable(tx.query(&sql, &values))
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
