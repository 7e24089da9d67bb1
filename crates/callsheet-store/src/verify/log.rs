//! Records of logs: marks, data that can be read, and numbers without a gap.

use super::{Audit, Sequence, marked};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::log::unpacked;

const RECORDS: &str = "select l.run, l.seq, l.at, l.stream, l.bytes, l.packed, l.mark, r.id \
    from log l join run r on r.key = l.run order by l.run, l.seq";

/// Checks records one by one.
pub(super) fn records(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut sequence = Sequence::default();
    tx.each(RECORDS, &[], &mut |row| {
        let run = row.text(7).unwrap_or("?").to_owned();
        let seq = row.int(1)?;
        let gap = sequence.next(row.int(0)?, seq);
        let what = || format!("record {seq} of run {run}");
        audit.row("records", what, || Ok(gap.or(record(&row)?)));
        Ok(())
    })
}

fn record(row: &Row) -> Result<Option<String>, StoreError> {
    let values = [
        row.int(0)?.into(),
        row.int(1)?.into(),
        row.int(2)?.into(),
        row.text(3)?.into(),
        row.int(4)?.into(),
        row.bytes(5)?.into(),
    ];
    if let Some(wrong) = marked(row, 6, "log", &values)? {
        return Ok(Some(wrong));
    }
    if row.int(1)? == 1 && row.text(3)? != "meta" {
        return Ok(Some("is the first one and not the prompt".to_owned()));
    }
    Ok(unpacked(row, 4).err())
}
