//! Batches and their journals: marks, ids, states that fit their columns, and numbers without a gap.

use super::{Audit, CHANGED, Sequence, not_json};
use crate::batch::{COLUMNS, Columns, WIDTH, mark_of_entry};
use crate::db::{Row, Tx};
use crate::{Id, StoreError};

const ENTRIES: &str = "select j.batch, j.seq, j.at, j.entry, j.mark, b.id from journal j \
    left join batch b on b.key = j.batch order by j.batch, j.seq";

/// Checks batches one by one, and that each has as many entries in its journal as it has numbered.
pub(super) fn batches(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let sql = format!(
        "select {COLUMNS}, b.mark, (select count(*) from journal j where j.batch = b.key) from batch b order by b.key"
    );
    tx.each(&sql, &[], &mut |row| {
        let what = || format!("batch {}", row.text(0).unwrap_or("?"));
        audit.row("batches", what, || batch(&row));
        Ok(())
    })
}

fn batch(row: &Row) -> Result<Option<String>, StoreError> {
    let columns = Columns::read(row)?;
    let says = |wrong: bool, what: &str| wrong.then(|| what.to_owned());
    let is_id = columns
        .id
        .parse::<Id>()
        .is_ok_and(|parsed| parsed.as_str() == columns.id && parsed.is_of(columns.started_at));
    let (numbered, there) = (columns.entries, row.int(WIDTH + 1)?);
    let counted = (numbered != there)
        .then(|| format!("has numbered {numbered} journal entries, of which {there} are there"));
    let mark = row.bytes(WIDTH)?;
    let marked = mark == columns.mark() || mark == columns.old_mark();
    Ok(says(!marked, CHANGED)
        .or(says(!is_id, "has an id that is not that of its time"))
        .or(not_json("settings")(&columns.settings))
        .or(state(&columns))
        .or(counted))
}

fn state(columns: &Columns) -> Option<String> {
    let over = columns.status.is_some() && columns.ended_at.is_some();
    let open = columns.status.is_none() && columns.ended_at.is_none();
    let state = &columns.state;
    let fits = match &**state {
        "running" => open,
        "ended" => over && columns.lease_until.is_none(),
        _ => false,
    };
    let asked = columns.stop_requested_at.is_some() == columns.stop_policy.is_some();
    (!fits || !asked).then(|| format!("says `{state}`, which its other columns do not"))
}

/// Checks the entries of journals one by one.
pub(super) fn journal(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut sequence = Sequence::default();
    tx.each(ENTRIES, &[], &mut |row| {
        let batch = row.text(5).unwrap_or("?").to_owned();
        let seq = row.int(1)?;
        let gap = sequence.next(row.int(0)?, seq);
        let what = || format!("journal entry {seq} of batch {batch}");
        audit.row("journal", what, || Ok(gap.or(entry(&row)?)));
        Ok(())
    })
}

fn entry(row: &Row) -> Result<Option<String>, StoreError> {
    let values = [
        row.int(0)?.into(),
        row.int(1)?.into(),
        row.int(2)?.into(),
        row.text(3)?.into(),
    ];
    if row.bytes(4)? != mark_of_entry(&values) {
        return Ok(Some(CHANGED.to_owned()));
    }
    Ok(not_json("a text")(row.text(3)?))
}
