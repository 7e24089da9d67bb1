//! Logs in the index: some records of a run make a passage.

use super::words::Query;
use super::{Hit, HitPlace, snippet};
use crate::StoreError;
use crate::db::Tx;
use crate::log::{self, Stream};

/// How long a passage is, about, and how many records it has at most.
const BYTES: i64 = 64 * 1024;
const RECORDS: i64 = 200;

/// How many passages one transaction makes, about.
const AT_ONCE: usize = 1000;

/// Runs after one of a project, with how many records they have and up to which one these are passages.
const RUNS: &str = "select r.key, r.records, coalesce((select max(p.last) from passage p where p.run = r.key), 0), r.state \
    from run r where r.project = $1 and r.key > $2 order by r.key";

const SIZES: &str = "select seq, bytes from log where run = $1 and seq > $2 order by seq";

const INSERT: &str = "insert into passage (project, run, first, last) values ($1, $2, $3, $4)";

const READ: &str = "select l.seq, l.bytes, l.packed, l.stream from log l where l.run = $1 and l.seq between $2 and $3 \
    order by l.seq";

/// Makes passages of new log records; returns up to which run all records of all runs are passages for good.
pub(super) fn cut(tx: &mut dyn Tx, project: i64, runs: i64) -> Result<i64, StoreError> {
    let (mut done, mut made, mut is_open) = (runs, 0, false);
    for run in tx.query(RUNS, &[project.into(), runs.into()])? {
        let (key, mut last) = (run.int(0)?, run.int(2)?);
        let (mut first, mut bytes) = (last + 1, 0);
        if last < run.int(1)? && made < AT_ONCE {
            for record in tx.query(SIZES, &[key.into(), last.into()])? {
                if last >= first && (bytes >= BYTES || last - first + 1 >= RECORDS) {
                    made += insert(tx, project, (key, first, last))?;
                    (first, bytes) = (last + 1, 0);
                }
                last = record.int(0)?;
                bytes += record.int(1)?;
            }
            if last >= first {
                made += insert(tx, project, (key, first, last))?;
            }
        }
        is_open |= run.text(3)? != "finished" || last < run.int(1)?;
        if !is_open {
            done = key;
        }
    }
    Ok(done)
}

fn insert(
    tx: &mut dyn Tx,
    project: i64,
    (run, first, last): (i64, i64, i64),
) -> Result<usize, StoreError> {
    let values = [project, run, first, last].map(Into::into);
    tx.execute(INSERT, &values)?;
    Ok(1)
}

/// Tells how many log records of a project are in no passage.
pub(crate) fn behind(tx: &mut dyn Tx, project: i64, runs: i64) -> Result<i64, StoreError> {
    let mut count = 0_i64;
    for run in tx.query(RUNS, &[project.into(), runs.into()])? {
        let left = run.int(1)?.saturating_sub(run.int(2)?);
        count = left.max(0).saturating_add(count);
    }
    Ok(count)
}

/// Returns the text of some records of a run.
pub(super) fn text(tx: &mut dyn Tx, run: i64, place: (i64, i64)) -> Result<String, StoreError> {
    let mut text = String::new();
    for row in tx.query(READ, &[run.into(), place.0.into(), place.1.into()])? {
        // A damaged record is told by whoever verifies.
        if let Ok(data) = log::data(&row, 1) {
            text.push_str(&String::from_utf8_lossy(&data));
            text.push('\n');
        }
    }
    Ok(text)
}

/// Returns the first of some records that holds a word of the query.
pub(super) fn hit(
    tx: &mut dyn Tx,
    run: i64,
    place: (i64, i64),
    query: &Query,
) -> Result<Option<Hit>, StoreError> {
    let id = tx.first("select id from run where key = $1", &[run.into()])?;
    let Some(id) = id else { return Ok(None) };
    let id = id.text(0)?.parse()?;
    for row in tx.query(READ, &[run.into(), place.0.into(), place.1.into()])? {
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
