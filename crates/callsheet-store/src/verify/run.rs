//! Runs: marks, ids, states that fit their columns, and parents that came before.

use super::{Audit, CHANGED, not_json};
use crate::db::{Row, Tx};
use crate::run::{End, STOPPING, mark_of};
use crate::{Id, StoreError};

const RUNS: &str = "select r.key, r.id, r.project, r.prompt, r.parent, r.kind, r.queued_at, r.mark, \
    r.state, r.worker, r.attempt, r.lease_until, r.started_at, r.finished_at, r.outcome, r.records, r.finish_mark, \
    a.project, a.state, s.project, r.request, r.stop_requested_at, \
    case when r.state = 'running' then (select max(e.at) from event e where e.run = r.key and e.kind = $1) end, r.imported_at, \
    r.task, t.project, r.batch, r.action, b.project \
    from run r left join run a on a.key = r.parent left join prompt s on s.key = r.prompt \
    left join task t on t.key = r.task left join batch b on b.key = r.batch order by r.key";

const COUNTERS: &str = "select r.id, r.records, (select count(*) from log l where l.run = r.key) from run r order by r.key";

/// Checks runs one by one.
pub(super) fn runs(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(RUNS, &[STOPPING.into()], &mut |row| {
        let what = || format!("run {}", row.text(1).unwrap_or("?"));
        audit.row("runs", what, || run(&row));
        Ok(())
    })
}

/// Checks that each run has as many records in its log as it has numbered.
pub(super) fn counters(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(COUNTERS, &[], &mut |row| {
        let (numbered, there) = (row.int(1)?, row.int(2)?);
        if numbered != there {
            let what = format!("run {}", row.text(0).unwrap_or("?"));
            audit.find(
                what,
                format!("has numbered {numbered} records, of which {there} are there"),
            );
        }
        Ok(())
    })
}

fn run(row: &Row) -> Result<Option<String>, StoreError> {
    let values = [
        row.text(1)?.into(),
        row.int(2)?.into(),
        row.int(3)?.into(),
        row.maybe(4, Row::int)?.into(),
        row.text(5)?.into(),
        row.int(6)?.into(),
    ];
    let request = row.maybe(20, Row::text)?;
    let task = row.maybe(24, Row::int)?;
    let (batch, action) = (row.maybe(26, Row::int)?, row.maybe(27, Row::int)?);
    let says = |wrong: bool, what: &str| wrong.then(|| what.to_owned());
    let id = row.text(1)?;
    let is_id = id.parse::<Id>().is_ok_and(|parsed| parsed.as_str() == id);
    let matches = row.bytes(7)? == mark_of(&values, request, task, batch.zip(action));
    Ok(says(!matches, CHANGED)
        .or(says(!is_id, "has an id that is not valid"))
        .or(says(
            row.maybe(19, Row::int)? != Some(row.int(2)?),
            "has a prompt of another project",
        ))
        .or(says(
            task.is_some() && row.maybe(25, Row::int)? != Some(row.int(2)?),
            "has a task of another project",
        ))
        .or(says(
            batch.is_some() && row.maybe(28, Row::int)? != Some(row.int(2)?),
            "has a batch of another project",
        ))
        .or(says(
            batch.is_some() != action.is_some(),
            "has only one of a batch and an action",
        ))
        .or(request.and_then(not_json("a request")))
        .or(parent(row)?)
        .or(state(row)?))
}

/// A parent has a smaller key, so there are no circles.
fn parent(row: &Row) -> Result<Option<String>, StoreError> {
    let is_first = row.text(5)? == "first";
    let fits = match row.maybe(4, Row::int)? {
        // The parent of an imported run may have stayed at home.
        None => is_first || row.maybe(23, Row::int)?.is_some(),
        Some(parent) => {
            !is_first
                && parent < row.int(0)?
                && row.maybe(17, Row::int)? == Some(row.int(2)?)
                && row.maybe(18, Row::text)? == Some("finished")
        }
    };
    Ok((!fits).then(|| "has a parent that it cannot have".to_owned()))
}

fn state(row: &Row) -> Result<Option<String>, StoreError> {
    let there = |at| row.maybe(at, |_, _| Ok(())).map(|found| found.is_some());
    let held = there(9)? && row.int(10)? > 0 && there(12)?;
    let over = there(13)? && there(14)? && there(16)?;
    let open = !there(13)? && !there(14)? && !there(16)? && !there(23)?;
    let started = there(9)? || row.int(10)? > 0 || there(12)? || row.int(15)? > 0;
    let stopping = row.maybe(21, Row::int)?;
    let fits = match row.text(8)? {
        "queued" => open && !started && !there(11)? && stopping.is_none(),
        "running" => open && held && there(11)? && stopping == row.maybe(22, Row::int)?,
        "finished" => over && held && !there(11)?,
        _ => false,
    };
    if !fits {
        let state = row.text(8)?;
        return Ok(Some(format!(
            "says `{state}`, which its other columns do not"
        )));
    }
    if row.text(8)? == "finished" {
        return end(row);
    }
    Ok(None)
}

fn end(row: &Row) -> Result<Option<String>, StoreError> {
    let end = End {
        key: row.int(0)?,
        worker: row.text(9)?,
        attempt: row.int(10)?,
        started_at: row.maybe(12, Row::int)?,
        finished_at: row.int(13)?,
        outcome: row.text(14)?,
        records: row.int(15)?,
        stop_requested_at: row.maybe(21, Row::int)?,
        imported_at: row.maybe(23, Row::int)?,
    };
    if row.bytes(16)? != end.mark() {
        return Ok(Some(CHANGED.to_owned()));
    }
    Ok(not_json("an outcome")(row.text(14)?))
}
