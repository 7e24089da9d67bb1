//! Logs in the index: pieces of them, with sieves of their words.

use super::sieve::Groups;
use super::words::{Query, spaced};
use super::{Hit, HitPlace, snippet};
use crate::StoreError;
use crate::db::{Dialect, Row, Tx};
use crate::log::{self, Stream};

/// How long a piece is, about.
const BYTES: usize = 64 * 1024;

/// How many records a piece has at most.
const RECORDS: i64 = 200;

/// All pieces of a project, the newest first.
pub(super) const ALL: &str = "select l.run, l.start, l.sieve from log_leaf l join run r on r.key = l.run \
    where r.project = $1 order by l.run desc, l.start desc";

const PAGE: &str = "select l.run, l.start, l.sieve, r.id from log_leaf l join run r on r.key = l.run \
    where l.run > $1 or l.run = $1 and l.start > $2 order by l.run, l.start limit 100";

const UNINDEXED: &str = "select coalesce(sum(r.records - coalesce(i.records, 0)), 0)::bigint from run r \
    left join indexed i on i.run = r.key where r.records > coalesce(i.records, 0)";

const BEHIND: &str = "select r.key, coalesce(i.records, 0) from run r left join indexed i on i.run = r.key \
    where r.records > coalesce(i.records, 0) order by r.key limit 1";

const READ: &str = "select l.seq, l.bytes, l.packed, l.stream from log l where l.run = $1 and l.seq >= $2 \
    order by l.seq limit $3";

const INSERT: &str = "insert into log_leaf (run, start, sieve) values ($1, $2, $3)";

const SET_INDEXED: &str = "insert into indexed (run, records) values ($1, $2) \
    on conflict (run) do update set records = excluded.records";

const NEXT: &str = "select coalesce((select min(l.start) from log_leaf l where l.run = $1 and l.start > $2), \
    (select i.records + 1 from indexed i where i.run = $1), $2)";

/// Returns how many log records are not in the index.
pub(super) fn unindexed(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => UNINDEXED.replace("::bigint", ""),
        Dialect::Postgres => UNINDEXED.to_owned(),
    };
    tx.first(&sql, &[])?.map_or(Ok(0), |row| row.int(0))
}

/// Puts log records into the index, piece by piece, until `most` bytes are in; returns how many records are left.
pub(super) fn add_all(tx: &mut dyn Tx, most: usize) -> Result<i64, StoreError> {
    let mut bytes = 0;
    while bytes < most {
        let Some(row) = tx.first(BEHIND, &[])? else {
            return Ok(0);
        };
        bytes += add(tx, row.int(0)?, row.int(1)?)?;
    }
    unindexed(tx)
}

/// Puts the next records of a run into the index, as one piece; returns its size.
fn add(tx: &mut dyn Tx, run: i64, done: i64) -> Result<usize, StoreError> {
    let (mut text, mut last) = (String::new(), done);
    for row in tx.query(READ, &[run.into(), (done + 1).into(), RECORDS.into()])? {
        if text.len() >= BYTES {
            break;
        }
        push(&mut text, &row)?;
        last = row.int(0)?;
    }
    let values = [run.into(), (done + 1).into(), sieve(&text).into()];
    tx.execute(INSERT, &values)?;
    tx.execute(SET_INDEXED, &[run.into(), last.max(done + 1).into()])?;
    Ok(text.len().max(1))
}

fn push(text: &mut String, row: &Row) -> Result<(), StoreError> {
    text.push_str(&String::from_utf8_lossy(&log::data(row, 1)?));
    text.push('\n');
    Ok(())
}

fn sieve(text: &str) -> Vec<u8> {
    let mut groups = Groups::default();
    groups.add(&spaced(text));
    groups.sieve()
}

/// Returns the records of a piece.
fn records(tx: &mut dyn Tx, run: i64, start: i64) -> Result<Vec<Row>, StoreError> {
    let row = tx.first(NEXT, &[run.into(), start.into()])?;
    let next = row.map_or(Ok(start), |row| row.int(0))?;
    let most = (next - start).clamp(0, RECORDS);
    tx.query(READ, &[run.into(), start.into(), most.into()])
}

/// Returns the text of a piece.
pub(super) fn text(tx: &mut dyn Tx, run: i64, start: i64) -> Result<String, StoreError> {
    let mut text = String::new();
    for row in records(tx, run, start)? {
        push(&mut text, &row)?;
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
        let text = log::data(&row, 1)?;
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

/// Returns the pieces that have not the sieve of their records: the run of each, and its first record.
pub(crate) fn wrong(tx: &mut dyn Tx) -> Result<Vec<(String, i64)>, StoreError> {
    let (mut run, mut start, mut wrong) = (0, 0, Vec::new());
    loop {
        let rows = tx.query(PAGE, &[run.into(), start.into()])?;
        if rows.is_empty() {
            return Ok(wrong);
        }
        for row in rows {
            (run, start) = (row.int(0)?, row.int(1)?);
            match text(tx, run, start) {
                Ok(text) if sieve(&text) != row.bytes(2)? => {
                    wrong.push((row.text(3)?.to_owned(), start));
                }
                // A record that is damaged is told with the records.
                Ok(_) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
