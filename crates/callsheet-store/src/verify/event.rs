//! Projects and their events: marks, payloads, and numbers without a gap.

use serde_json::{Map, Value as Json};

use super::{Audit, Sequence, marked};
use crate::StoreError;
use crate::db::{Row, Tx};

const PROJECTS: &str = "select p.name, p.events, p.mark, \
    (select count(*) from event e where e.project = p.key) from project p order by p.key";

const EVENTS: &str = "select e.project, e.seq, e.at, e.kind, e.payload, e.run, e.mark, p.name, r.project \
    from event e join project p on p.key = e.project left join run r on r.key = e.run \
    order by e.project, e.seq";

/// Checks projects, and that each has as many events as it has numbered.
pub(super) fn projects(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(PROJECTS, &[], &mut |row| {
        let name = row.text(0).unwrap_or("?").to_owned();
        audit.row("projects", || format!("project {name}"), || project(&row));
        Ok(())
    })
}

fn project(row: &Row) -> Result<Option<String>, StoreError> {
    let wrong = marked(row, 2, "project", &[row.text(0)?.into()])?;
    let (numbered, there) = (row.int(1)?, row.int(3)?);
    let counted = (numbered != there)
        .then(|| format!("has numbered {numbered} events, of which {there} are there"));
    Ok(wrong.or(counted))
}

/// Checks events one by one.
pub(super) fn events(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut sequence = Sequence::default();
    tx.each(EVENTS, &[], &mut |row| {
        let name = row.text(7).unwrap_or("?").to_owned();
        let seq = row.int(1)?;
        let gap = sequence.next(row.int(0)?, seq);
        let what = || format!("event {seq} of project {name}");
        audit.row("events", what, || Ok(gap.or(event(&row)?)));
        Ok(())
    })
}

fn event(row: &Row) -> Result<Option<String>, StoreError> {
    let run = row.maybe(5, Row::int)?;
    let values = [
        row.int(0)?.into(),
        row.int(1)?.into(),
        row.int(2)?.into(),
        row.text(3)?.into(),
        row.text(4)?.into(),
        run.into(),
    ];
    if let Some(wrong) = marked(row, 6, "event", &values)? {
        return Ok(Some(wrong));
    }
    if let Err(error) = serde_json::from_str::<Map<String, Json>>(row.text(4)?) {
        return Ok(Some(format!("has a payload that is no JSON: {error}")));
    }
    let elsewhere = run.is_some() && row.maybe(8, Row::int)? != Some(row.int(0)?);
    Ok(elsewhere.then(|| "is about a run of another project".to_owned()))
}
