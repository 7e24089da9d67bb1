//! Projects and their events: payloads, numbers without a gap, and marks that cover the mark before them.

use serde_json::{Map, Value as Json};

use super::{Audit, CHANGED, Sequence, marked};
use crate::db::{Row, Tx};
use crate::{StoreError, chain, event as events_of, mark};

const PROJECTS: &str = "select p.name, p.events, p.mark, \
    (select count(*) from event e where e.project = p.key) from project p order by p.key";

const EVENTS: &str = "select e.project, e.seq, e.at, e.kind, e.payload, e.run, e.mark, p.name, r.project, r.imported_at \
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

/// Checks events one by one, and notes what they tell of.
pub(super) fn events(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut sequence = Sequence::default();
    let mut before = Vec::new();
    tx.each(EVENTS, &[], &mut |row| {
        let name = row.text(7).unwrap_or("?").to_owned();
        let seq = row.int(1)?;
        if sequence.group != Some(row.int(0)?) {
            before = chain::genesis(&name).as_bytes().to_vec();
        }
        let gap = sequence.next(row.int(0)?, seq);
        let mut payload = Map::new();
        let what = || format!("event {seq} of project {name}");
        audit.row("events", what, || {
            Ok(gap.or(event(&row, &before, &mut payload)?))
        });
        before = row.bytes(6).map_or_else(|_| Vec::new(), <[u8]>::to_vec);
        // What cannot be read was found above.
        let _ = audit.replayed.note(&row, &payload);
        Ok(())
    })
}

fn event(
    row: &Row,
    before: &[u8],
    payload: &mut Map<String, Json>,
) -> Result<Option<String>, StoreError> {
    let run = row.maybe(5, Row::int)?;
    let values = [
        row.int(0)?.into(),
        row.int(1)?.into(),
        row.int(2)?.into(),
        row.text(3)?.into(),
        row.text(4)?.into(),
        run.into(),
    ];
    let read = serde_json::from_str(row.text(4)?).map(|read| *payload = read);
    if row.bytes(6)? != mark::after(before, events_of::TABLE, &values).as_bytes() {
        return Ok(Some(CHANGED.to_owned()));
    }
    if let Err(error) = read {
        return Ok(Some(format!("has a payload that is not JSON: {error}")));
    }
    let elsewhere = run.is_some() && row.maybe(8, Row::int)? != Some(row.int(0)?);
    Ok(elsewhere.then(|| "is about a run of another project".to_owned()))
}
