//! Which prompts may carry a text exactly: those that have its rarest substring.
//!
//! A short substring stands in a section or around a boundary, wherever the text begins and ends. The index says which passages
//! may have it; those are read, and name the prompts.

use super::{index, trigram};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::passage::{self, AROUND, BATCH, COLUMNS};

/// What so many passages have is common: prompts are read rather than told apart by it. Composing one takes as long as
/// reading some ten passages.
const COMMON: usize = 500;

/// The prompts that are looked at first where nothing tells prompts apart.
const NEWEST: &str = "select series, key from prompt where project = $1 order by id desc limit 32";

/// Calls `take` with prompts of a project, from a key on, that may carry a text, as long as it returns `true`: with a series, and the
/// first and the last key of prompts in it; those with the newest prompt first.
pub(crate) fn candidates(
    tx: &mut dyn Tx,
    project: i64,
    text: &str,
    least: i64,
    mut take: impl FnMut(&mut dyn Tx, [i64; 3]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (substring, is_common) = rarest(tx, project, text)?;
    if is_common {
        // Some of the newest prompts have it, most likely; reading them is faster than finding all that have it.
        for row in tx.query(NEWEST, &[project.into()])? {
            if !take(tx, [row.int(0)?, row.int(1)?, row.int(1)?])? {
                return Ok(());
            }
        }
    }
    let mut offer = |tx: &mut dyn Tx, rows: &[Row]| {
        for rows in rows.chunks(BATCH) {
            for (row, text) in rows.iter().zip(passage::texts(tx, rows)?) {
                // What cannot be read may have it: whoever carries it will say that it is damaged.
                let has_it = text.is_none_or(|text| text.contains(substring));
                if has_it && !take(tx, [row.int(7)?, row.int(8)?, row.int(9)?])? {
                    return Ok::<_, StoreError>(false);
                }
            }
        }
        Ok(true)
    };
    let newest_first = format!("and a.last >= {least} order by a.last desc");
    let lacking = carried(tx, project, "", &newest_first, usize::MAX)?;
    offer(tx, &lacking)?;
    let newest = carried(tx, project, substring, &newest_first, COMMON)?;
    if offer(tx, &newest)? && newest.len() == COMMON {
        let all = carried(tx, project, substring, &newest_first, usize::MAX)?;
        offer(tx, &all)?;
    }
    Ok(())
}

/// Returns the substring of a text that the fewest prompts seem to have, and whether many passages may have it.
fn rarest<'t>(tx: &mut dyn Tx, project: i64, text: &'t str) -> Result<(&'t str, bool), StoreError> {
    let last = text.len().saturating_sub(AROUND);
    let starts = (0..last).step_by((last / 5).max(AROUND / 2)).chain([last]);
    let mut rarest = (i64::MAX, text);
    for start in starts {
        let start = text.floor_char_boundary(start);
        let substring = &text[start..text.floor_char_boundary(start + AROUND)];
        let rows = carried(tx, project, substring, "", COMMON)?;
        let mut prompts = if rows.len() < COMMON { 0 } else { i64::MAX };
        for row in &rows {
            let count = row.int(9)?.saturating_sub(row.int(8)?).saturating_add(1);
            prompts = count.saturating_add(prompts);
        }
        if prompts < rarest.0 || start == 0 {
            rarest = (prompts, substring);
        }
    }
    Ok((rarest.1, rarest.0 == i64::MAX))
}

/// Returns passages that may have a substring with the prompts that have them; for an empty one, those that the index lacks.
fn carried(
    tx: &mut dyn Tx,
    project: i64,
    substring: &str,
    rest: &str,
    most: usize,
) -> Result<Vec<Row>, StoreError> {
    let terms = trigram::of_substring(project, substring);
    let sql = format!(
        "select {COLUMNS}, a.series, a.first, a.last \
        from t cross join passage p cross join prompt_body a cross join series l \
        where p.key = t.rowid and p.project = $1 and a.body = p.body and a.roles not in (2, 4, 6) \
        and l.key = a.series and l.project = p.project {rest} limit {}",
        i64::try_from(most).unwrap_or(i64::MAX)
    );
    index::select(tx, project, &terms, 0..i64::MAX, &sql)
}
