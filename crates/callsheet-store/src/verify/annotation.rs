//! Annotations: marks, values that are JSON, numbers without a gap, and an event for each.

use std::collections::BTreeMap;

use super::{Audit, CHANGED, Sequence, not_json};
use crate::StoreError;
use crate::annotation::{ANNOTATED, Columns};
use crate::db::{Row, Tx};

const ANNOTATIONS: &str = "select n.run, n.seq, n.at, n.kind, n.name, n.value, n.mark, r.id, r.state \
    from annotation n left join run r on r.key = n.run order by n.run, n.seq";

const EVENTS: &str = "select r.id, count(*) from event e join run r on r.key = e.run \
    where e.kind = $1 group by r.id";

/// Checks annotations one by one, and that there are as many as events that tell of one.
pub(super) fn annotations(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut sequence = Sequence::default();
    let mut counts: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    tx.each(ANNOTATIONS, &[], &mut |row| {
        let run = row.text(7).unwrap_or("?").to_owned();
        let seq = row.int(1)?;
        let gap = sequence.next(row.int(0)?, seq);
        let what = || format!("annotation {seq} of run {run}");
        audit.row("annotations", what, || Ok(gap.or(annotation(&row)?)));
        counts.entry(run).or_default().0 += 1;
        Ok(())
    })?;
    for row in tx.query(EVENTS, &[ANNOTATED.into()])? {
        counts.entry(row.text(0)?.to_owned()).or_default().1 = row.int(1)?;
    }
    for (run, (annotations, events)) in counts {
        if annotations != events {
            let detail =
                format!("has {annotations} annotations, and {events} events that tell of one");
            audit.find(format!("run {run}"), detail);
        }
    }
    Ok(())
}

fn annotation(row: &Row) -> Result<Option<String>, StoreError> {
    let columns = Columns {
        run: row.int(0)?,
        seq: row.int(1)?,
        at: row.int(2)?,
        kind: row.text(3)?,
        name: row.text(4)?,
        value: row.text(5)?,
    };
    if row.bytes(6)? != columns.mark() {
        return Ok(Some(CHANGED.to_owned()));
    }
    let open = row.maybe(8, Row::text)? != Some("finished");
    let wrong = open.then(|| "is about a run that has not finished".to_owned());
    Ok(wrong.or_else(|| not_json("a value")(columns.value)))
}
