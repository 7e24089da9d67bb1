//! Which prompts may carry a text exactly: those that have its rarest substring.
//!
//! A short substring stands in a section or around a boundary, wherever the text begins and ends. The index says which passages
//! may have it; those are read, and name the prompts.

use std::cmp::Reverse;

use super::{index, trigram};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::passage::{self, AROUND, BATCH, COLUMNS};

/// What so many passages have is common: prompts are read rather than told apart by it. Composing one takes as long as
/// reading some ten passages.
const COMMON: usize = 500;

/// The prompts that are looked at first where nothing tells prompts apart.
const NEWEST: &str = "select series, key from prompt where project = $1 order by id desc limit 32";

/// Calls `take` with prompts of a project that may carry a text, as long as it returns `true`: with a series, and the first and
/// the last key of prompts in it; those with the newest prompt first.
pub(crate) fn candidates(
    tx: &mut dyn Tx,
    project: i64,
    text: &str,
    mut take: impl FnMut(&mut dyn Tx, [i64; 3]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (substring, mut rows) = rarest(tx, project, text)?;
    if rows.len() == COMMON {
        // Some of the newest prompts have it, most likely; reading them is faster than finding all that have it.
        for row in tx.query(NEWEST, &[project.into()])? {
            if !take(tx, [row.int(0)?, row.int(1)?, row.int(1)?])? {
                return Ok(());
            }
        }
        rows = carried(tx, project, substring, usize::MAX)?;
    }
    rows.extend(carried(tx, project, "", usize::MAX)?);
    rows.sort_by_key(|row| Reverse(row.int(9).unwrap_or(0)));
    for rows in rows.chunks(BATCH) {
        for (row, text) in rows.iter().zip(passage::texts(tx, rows)?) {
            // What cannot be read may have it: whoever carries it will say that it is damaged.
            let has_it = text.is_none_or(|text| text.contains(substring));
            if has_it && !take(tx, [row.int(7)?, row.int(8)?, row.int(9)?])? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns the substring of a text that the fewest prompts seem to have, with up to [`COMMON`] passages that may have it.
fn rarest<'t>(
    tx: &mut dyn Tx,
    project: i64,
    text: &'t str,
) -> Result<(&'t str, Vec<Row>), StoreError> {
    let last = text.len().saturating_sub(AROUND);
    let starts: Vec<usize> = (0..last).step_by(AROUND / 2).chain([last]).collect();
    let mut rarest = (i64::MAX, text, Vec::new());
    for start in trigram::samples(&starts) {
        let start = text.floor_char_boundary(start);
        let substring = &text[start..text.floor_char_boundary(start + AROUND)];
        let rows = carried(tx, project, substring, COMMON)?;
        let mut prompts = if rows.len() < COMMON { 0 } else { i64::MAX };
        for row in &rows {
            let count = row.int(9)?.saturating_sub(row.int(8)?).saturating_add(1);
            prompts = count.saturating_add(prompts);
        }
        if prompts < rarest.0 || start == 0 {
            rarest = (prompts, substring, rows);
        }
    }
    Ok((rarest.1, rarest.2))
}

/// Returns passages that may have a substring with the prompts that have them; for an empty one, those that the index lacks.
fn carried(
    tx: &mut dyn Tx,
    project: i64,
    substring: &str,
    most: usize,
) -> Result<Vec<Row>, StoreError> {
    let trigrams = trigram::of_text(substring);
    let terms = trigram::wanted(project, &trigrams, trigram::UNRANKED);
    let sql = format!(
        "select {COLUMNS}, a.series, a.first, a.last \
        from t cross join passage p cross join prompt_body a cross join series l \
        where p.key = t.rowid and p.project = $1 and a.body = p.body and a.roles not in (2, 4, 6) \
        and l.key = a.series and l.project = p.project limit {}",
        i64::try_from(most).unwrap_or(i64::MAX)
    );
    index::select(tx, project, &terms, &sql)
}
