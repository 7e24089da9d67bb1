//! Logs in the index: pieces of them, with sieves of their words.

use super::sieve::Groups;
use super::words::{Query, spaced};
use super::{Hit, HitPlace, snippet};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::log::{self, Stream};

/// How long a piece is, about.
const BYTES: usize = 64 * 1024;

/// How many records a piece has at most.
const RECORDS: i64 = 200;

/// All pieces of a project, the newest first.
pub(super) const ALL: &str = "select l.run, l.start, l.sieve from log_leaf l join run r on r.key = l.run \
    where r.project = $1 order by l.run desc, l.start desc";

/// Runs with records that are not in the index. What a run only says to have is not waited for.
const BEHIND: &str = "select r.key, coalesce(i.records, 0), r.records from run r left join indexed i on i.run = r.key \
    where r.records > coalesce(i.records, 0) \
    and exists (select 1 from log l where l.run = r.key and l.seq > coalesce(i.records, 0)) order by r.key";

const READ: &str = "select l.seq, l.bytes, l.packed, l.stream from log l where l.run = $1 and l.seq >= $2 \
    and l.seq < $3 order by l.seq";

const DELETE: &str = "delete from log_leaf where run = $1 and start >= $2";

const INSERT: &str = "insert into log_leaf (run, start, sieve) values ($1, $2, $3)";

const SET_INDEXED: &str = "insert into indexed (run, records) values ($1, $2) \
    on conflict (run) do update set records = excluded.records";

/// Where the next piece begins, and how many records are in the index.
const END: &str = "select (select min(l.start) from log_leaf l where l.run = $1 and l.start > $2), \
    (select i.records from indexed i where i.run = $1)";

/// Runs that have something in the index, or say so.
const RUNS: &str = "select r.key, r.id, r.records, i.records from run r left join indexed i on i.run = r.key \
    where r.key > $1 and (i.records > 0 or exists (select 1 from log_leaf l where l.run = r.key)) \
    order by r.key limit 100";

/// The next piece of a run, and where the one after it begins.
const PIECE: &str = "select l.start, l.sieve, \
    (select min(n.start) from log_leaf n where n.run = l.run and n.start > l.start) \
    from log_leaf l where l.run = $1 and l.start > $2 order by l.start limit 1";

/// Returns how many log records are not in the index.
pub(super) fn unindexed(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let mut count = 0_i64;
    tx.each(BEHIND, &[], &mut |row| {
        count = count.saturating_add(row.int(2)? - row.int(1)?);
        Ok(())
    })?;
    Ok(count)
}

/// Puts log records into the index, piece by piece, until `most` bytes are in; returns how many records are left.
pub(super) fn add_all(tx: &mut dyn Tx, most: usize) -> Result<i64, StoreError> {
    let behind = format!("{BEHIND} limit 1");
    let mut bytes = 0;
    while bytes < most {
        let Some(row) = tx.first(&behind, &[])? else {
            return Ok(0);
        };
        bytes += add(tx, row.int(0)?, row.int(1)?, row.int(2)?)?;
    }
    unindexed(tx)
}

/// Puts the next of `all` records of a run into the index, as one piece; returns its size.
fn add(tx: &mut dyn Tx, run: i64, done: i64, all: i64) -> Result<usize, StoreError> {
    let start = done + 1;
    let end = all.saturating_add(1).min(start.saturating_add(RECORDS));
    let (mut text, mut last) = (String::new(), end - 1);
    for row in tx.query(READ, &[run.into(), start.into(), end.into()])? {
        if text.len() >= BYTES {
            last = row.int(0)? - 1;
            break;
        }
        push(&mut text, &row);
    }
    // Where the count was lost, there are pieces already.
    tx.execute(DELETE, &[run.into(), start.into()])?;
    tx.execute(INSERT, &[run.into(), start.into(), sieve(&text).into()])?;
    tx.execute(SET_INDEXED, &[run.into(), last.max(start).into()])?;
    Ok(text.len().max(1))
}

/// Adds a record to a text; tells whether it could be read.
fn push(text: &mut String, row: &Row) -> bool {
    let Ok(data) = log::data(row, 1) else {
        return false;
    };
    text.push_str(&String::from_utf8_lossy(&data));
    text.push('\n');
    true
}

fn sieve(text: &str) -> Vec<u8> {
    let mut groups = Groups::default();
    groups.add(&spaced(text));
    groups.sieve()
}

/// Returns the records of a piece.
fn records(tx: &mut dyn Tx, run: i64, start: i64) -> Result<Vec<Row>, StoreError> {
    let mut end = start.saturating_add(RECORDS);
    if let Some(row) = tx.first(END, &[run.into(), start.into()])? {
        let next = row.maybe(0, Row::int)?;
        let done = row.maybe(1, Row::int)?;
        let told = next.or(done.map(|done| done.saturating_add(1)));
        end = end.min(told.unwrap_or(end));
    }
    tx.query(READ, &[run.into(), start.into(), end.into()])
}

/// Returns the text of a piece.
pub(super) fn text(tx: &mut dyn Tx, run: i64, start: i64) -> Result<String, StoreError> {
    let mut text = String::new();
    for row in records(tx, run, start)? {
        push(&mut text, &row);
    }
    Ok(text)
}

/// Returns the first record of a piece that holds a word of the query.
pub(super) fn hit(
    tx: &mut dyn Tx,
    run: i64,
    start: i64,
    query: &Query,
) -> Result<Option<Hit>, StoreError> {
    let id = tx.first("select id from run where key = $1", &[run.into()])?;
    let Some(id) = id else { return Ok(None) };
    let id = id.text(0)?.parse()?;
    for row in records(tx, run, start)? {
        let Ok(text) = log::data(&row, 1) else {
            continue;
        };
        let text = String::from_utf8_lossy(&text);
        if let Some(at) = query.find_in(&text) {
            let place = HitPlace::Log {
                run: id,
                seq: row.int(0)?,
                stream: Stream::parse(&row, 3)?,
            };
            let snippet = snippet(&text, at);
            return Ok(Some(Hit { place, snippet }));
        }
    }
    Ok(None)
}

/// Calls `found` with what is wrong in the index: the run, and the record it begins with where one can be named.
pub(crate) fn wrong(
    tx: &mut dyn Tx,
    found: &mut dyn FnMut(&str, Option<i64>),
) -> Result<(), StoreError> {
    let mut run = 0;
    loop {
        let rows = tx.query(RUNS, &[run.into()])?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            run = row.int(0)?;
            let id = row.text(1).unwrap_or("?");
            let all = row.int(2).unwrap_or(0);
            let done = row.int(3).ok().filter(|done| *done <= all);
            if done.is_none() {
                found(id, None);
            }
            wrong_in(tx, run, done.unwrap_or(all), &mut |start| {
                found(id, Some(start));
            })?;
        }
    }
}

/// Calls `found` with the beginning of each piece of a run that does not hold all records up to the next one.
fn wrong_in(
    tx: &mut dyn Tx,
    run: i64,
    done: i64,
    found: &mut dyn FnMut(i64),
) -> Result<(), StoreError> {
    let mut start = 0;
    while let Some(row) = tx.first(PIECE, &[run.into(), start.into()])? {
        let is_first = start == 0;
        start = row.int(0)?;
        if is_first && start > 1 {
            found(1);
        }
        let next = row.maybe(2, Row::int)?;
        let next = next.unwrap_or(done.saturating_add(1));
        let fits = (1..=RECORDS).contains(&next.saturating_sub(start));
        if !fits || !holds(tx, run, (start, next), &row)? {
            found(start);
        }
    }
    if start == 0 {
        found(1);
    }
    Ok(())
}

/// Tells whether a piece has the sieve of its records.
fn holds(
    tx: &mut dyn Tx,
    run: i64,
    (start, end): (i64, i64),
    piece: &Row,
) -> Result<bool, StoreError> {
    let (mut text, mut missing) = (String::new(), end - start);
    for row in tx.query(READ, &[run.into(), start.into(), end.into()])? {
        missing -= i64::from(push(&mut text, &row));
    }
    // A record that is damaged or gone is told with the records.
    Ok(missing > 0 || piece.bytes(1).is_ok_and(|bytes| bytes == sieve(&text)))
}
