//! Passages: what `search` and `why --text` find. A passage is a section that prompts show, the text around a boundary of
//! sections, or some records of a log.
//!
//! A text that runs from one section into the next is in no section. So the text around each boundary is kept like a
//! section, with the prompts that have it; it is found exactly, and never ranked.

use std::ops::Range;

use crate::db::{Row, Tx, query_in};
use crate::log::{self, Stream};
use crate::{StoreError, body};

/// How many bytes beside a boundary are kept, so that each substring of this length stands in a section or around a boundary.
pub(crate) const AROUND: usize = 32;

/// So many passages are read at once.
pub(crate) const BATCH: usize = 50;

/// The columns that are read here.
pub(crate) const COLUMNS: &str = "p.key, p.project, p.body, p.ranked, p.run, p.first, p.last";

/// The passages that texts of prompts have to be, by their roles in `role.rs`.
pub(crate) const SHOWN: &str = "select l.project, a.body, 1 as ranked from prompt_body a join series l on l.key = a.series \
    where a.roles % 16 not in (0, 2, 4, 6) \
    union select l.project, a.body, 0 from prompt_body a join series l on l.key = a.series where a.roles >= 16";

/// Makes passages of the rest of a log, of about 64 KiB each. A record counts 320 bytes more than it has, so that no passage
/// has too many of them, and a large one counts as a whole passage.
const NOTE_LOG: &str = "insert into passage (project, ranked, run, first, last) select $1, 1, $2, min(seq), max(seq) \
    from (select seq, cast(sum(case when bytes < 65536 then bytes + 320 else 65536 end) over (order by seq) as bigint) / 65536 as nth \
    from log where run = $2 and seq > $3) s group by nth order by nth";

/// The runs of a project after one, with how many records they have, and up to which one these are in passages.
const RUNS: &str = "select r.key, r.records, coalesce(p.last, 0), r.state from run r \
    left join (select run, max(last) as last from passage where project = $1 and run > $2 group by run) p on p.run = r.key \
    where r.project = $1 and r.key > $2 order by r.key";

/// Returns the texts around the boundaries of sections, by the places of these in a text.
pub(crate) fn around_boundaries<'t>(text: &'t str, sections: &[Range<usize>]) -> Vec<&'t str> {
    let around = |nth: usize| {
        let from = nth.checked_sub(1).map_or(0, |before| sections[before].end);
        let to = sections.get(nth).map_or(text.len(), |next| next.start);
        let from = text.floor_char_boundary(from.saturating_sub(AROUND));
        text.get(from..text.ceil_char_boundary(to.saturating_add(AROUND)))
    };
    (0..=sections.len()).filter_map(around).collect()
}

/// Returns the texts of passages; nothing for one that is damaged.
pub(crate) fn texts(tx: &mut dyn Tx, rows: &[Row]) -> Result<Vec<Option<String>>, StoreError> {
    let bodies = rows.iter().map(|row| row.maybe(2, Row::int));
    let bodies = bodies.collect::<Result<Vec<_>, _>>()?;
    let readable = body::readable(tx, &bodies.iter().copied().flatten().collect::<Vec<_>>())?;
    let read = |(row, body): (&Row, Option<i64>)| {
        let Some(body) = body else {
            let records = records(tx, row)?.into_iter();
            return Ok(Some(records.map(|(.., text)| text + "\n").collect()));
        };
        let text = readable.get(&body);
        Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
    };
    rows.iter().zip(bodies).map(read).collect()
}

/// Returns the records of a passage of a log. One that is damaged is left out, and reported by `verify`.
pub(crate) fn records(
    tx: &mut dyn Tx,
    row: &Row,
) -> Result<Vec<(i64, Stream, String)>, StoreError> {
    let sql = "select seq, stream, bytes, packed from log where run = $1 and seq between $2 and $3 order by seq";
    let values = [row.int(4)?.into(), row.int(5)?.into(), row.int(6)?.into()];
    let rows = tx.query(sql, &values)?;
    let record = |row: &Row| {
        let text = log::data(row, 2).ok()?;
        Some((
            row.int(0).ok()?,
            Stream::parse(row, 1).ok()?,
            String::from_utf8_lossy(&text).into_owned(),
        ))
    };
    Ok(rows.iter().filter_map(record).collect())
}

/// Makes passages of texts that a project shows, where they are not there.
pub(crate) fn note(
    tx: &mut dyn Tx,
    project: i64,
    texts: &[i64],
    ranked: i64,
) -> Result<(), StoreError> {
    // A conflict would use up a key, and keys without gaps make the index smaller.
    let sql = |list: &str| {
        format!(
            "insert into passage (project, body, ranked) select p.key, b.key, {ranked} from project p, body b \
            where p.key = $1 and b.key in {list} and not exists (select 1 from passage o \
            where o.project = p.key and o.body = b.key and o.ranked = {ranked}) on conflict do nothing"
        )
    };
    let texts = texts.iter().map(|text| (*text).into());
    query_in(tx, &[project.into()], texts, sql).map(|_| ())
}

/// Makes all passages of a project anew; those of logs are made when they are indexed.
pub(crate) fn note_all(tx: &mut dyn Tx, project: i64) -> Result<(), StoreError> {
    tx.execute("delete from passage where project = $1", &[project.into()])?;
    let shown = format!("select * from ({SHOWN}) s where project = $1");
    let sql = format!("insert into passage (project, body, ranked) {shown}");
    tx.execute(&sql, &[project.into()]).map(|_| ())
}

/// Makes passages of the logs of runs after one; returns up to which run nothing is left to do for good.
pub(crate) fn note_logs(tx: &mut dyn Tx, project: i64, runs: i64) -> Result<i64, StoreError> {
    let (mut done, mut is_open) = (runs, false);
    for row in tx.query(RUNS, &[project.into(), runs.into()])? {
        let (run, records, noted) = (row.int(0)?, row.int(1)?, row.int(2)?);
        if noted < records {
            tx.execute(NOTE_LOG, &[project.into(), run.into(), noted.into()])?;
            let is_noted = "select 1 from passage where run = $1 and last = $2";
            is_open |= tx.first(is_noted, &[run.into(), records.into()])?.is_none();
        }
        is_open |= row.text(3)? != "finished";
        if !is_open {
            done = run;
        }
    }
    Ok(done)
}

/// Tells how many log records of runs after one are in no passage.
pub(crate) fn records_left(tx: &mut dyn Tx, project: i64, runs: i64) -> Result<i64, StoreError> {
    let mut left = 0_i64;
    for row in tx.query(RUNS, &[project.into(), runs.into()])? {
        left = left.saturating_add(row.int(1)?.saturating_sub(row.int(2)?).max(0));
    }
    Ok(left)
}

/// Returns a query for the keys and projects of passages that no prompt of their project shows.
pub(crate) fn loose() -> String {
    format!(
        "select p.key, p.project from passage p left join ({SHOWN}) s \
        on s.project = p.project and s.body = p.body and s.ranked = p.ranked where p.run is null and s.body is null"
    )
}
