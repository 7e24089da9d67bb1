//! The index by words: which pieces of sections and logs it holds, and how they come in and go out.

use super::words::{Query, spaced, words};
use super::{Hit, HitPlace, snippet};
use crate::StoreError;
use crate::db::{Dialect, Row, Tx, Value};
use crate::log::{self, Stream};

/// How long a piece is.
pub(super) const CHUNK: usize = 64 * 1024;

/// How much a piece has of the one before, so that a few words are together in one of them.
const OVERLAP: usize = 32;

/// What a piece belongs to, as its column.
#[derive(Clone, Copy)]
enum Owner {
    Body(i64),
    Run(i64),
}

impl Owner {
    fn columns(self) -> [Value<'static>; 2] {
        match self {
            Self::Body(key) => [key.into(), Value::Null],
            Self::Run(key) => [Value::Null, key.into()],
        }
    }
}

/// Returns where the pieces of a text begin.
pub(crate) fn starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    while text.len() - at > CHUNK {
        at = text.floor_char_boundary(at + CHUNK - OVERLAP);
        starts.push(at);
    }
    starts
}

fn piece(text: &str, start: usize) -> &str {
    &text[start..text.floor_char_boundary((start + CHUNK).min(text.len()))]
}

/// Puts a section into the index.
pub(crate) fn add_words(tx: &mut dyn Tx, body: i64, text: &str) -> Result<(), StoreError> {
    for start in starts(text) {
        add(tx, Owner::Body(body), start, &spaced(piece(text, start)))?;
    }
    Ok(())
}

/// Adds a piece, to be found by its words; if somebody else was faster, theirs is the same.
fn add(tx: &mut dyn Tx, owner: Owner, start: usize, words: &str) -> Result<(), StoreError> {
    let [body, run] = owner.columns();
    let start = i64::try_from(start).unwrap_or(i64::MAX);
    if tx.dialect() == Dialect::Postgres {
        let sql = "insert into chunk (body, run, start, words) \
            values ($1, $2, $3, to_tsvector('simple'::regconfig, $4::text)) on conflict do nothing";
        tx.execute(sql, &[body, run, start.into(), words.into()])?;
        return Ok(());
    }
    let sql = "insert into chunk (body, run, start) values ($1, $2, $3) returning key";
    if let Some(row) = tx.first(sql, &[body, run, start.into()])? {
        let sql = "insert into chunk_words (rowid, words) values ($1, $2)";
        tx.execute(sql, &[row.int(0)?.into(), words.into()])?;
    }
    Ok(())
}

/// Tells whether the index has the words of a section.
///
/// PostgreSQL keeps them, so that they can be compared. SQLite keeps no text; there the first word of each piece is looked
/// for, and the pages of the index are checked with the whole file.
pub(crate) fn holds(tx: &mut dyn Tx, body: i64, text: &str) -> Result<bool, StoreError> {
    for start in starts(text) {
        let piece = piece(text, start);
        let (sql, asked) = match tx.dialect() {
            Dialect::Postgres => (
                "select 1 from chunk where body = $2 and start = $3 and words = to_tsvector('simple'::regconfig, $1::text)",
                spaced(piece),
            ),
            Dialect::Sqlite => {
                // Other letters may be written in another way in the index.
                let mut words = words(piece).map(|(_, word)| word);
                let Some(word) = words.find(|word| word.is_ascii()) else {
                    continue;
                };
                let sql = "select 1 from chunk_words where chunk_words match $1 \
                    and rowid = (select key from chunk where body = $2 and start = $3)";
                (sql, format!("\"{word}\""))
            }
        };
        let at = i64::try_from(start).unwrap_or(i64::MAX);
        if tx
            .first(sql, &[asked.into(), body.into(), at.into()])?
            .is_none()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes a section out of the index.
pub(crate) fn remove_words(tx: &mut dyn Tx, body: i64) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        let sql = "delete from chunk_words where rowid in (select key from chunk where body = $1)";
        tx.execute(sql, &[body.into()])?;
    }
    tx.execute("delete from chunk where body = $1", &[body.into()])?;
    Ok(())
}

const UNINDEXED: &str = "select coalesce(sum(r.records - coalesce(i.records, 0)), 0)::bigint from run r \
    left join indexed i on i.run = r.key where r.records > coalesce(i.records, 0)";

const BEHIND: &str = "select r.key, coalesce(i.records, 0) from run r left join indexed i on i.run = r.key \
    where r.records > coalesce(i.records, 0) order by r.key limit 1";

const RECORDS: &str = "select l.seq, l.bytes, l.packed, l.stream from log l where l.run = $1 and l.seq > $2 \
    order by l.seq limit $3";

const SET_INDEXED: &str = "insert into indexed (run, records) values ($1, $2) \
    on conflict (run) do update set records = excluded.records";

/// Returns how many log records are not in the index.
pub(super) fn unindexed(tx: &mut dyn Tx) -> Result<i64, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => UNINDEXED.replace("::bigint", ""),
        Dialect::Postgres => UNINDEXED.to_owned(),
    };
    tx.first(&sql, &[])?.map_or(Ok(0), |row| row.int(0))
}

/// Puts log records into the index, piece by piece, until `most` bytes are in; returns how many records are left.
pub(super) fn add_logs(tx: &mut dyn Tx, most: usize) -> Result<i64, StoreError> {
    let mut bytes = 0;
    while bytes < most {
        let Some(row) = tx.first(BEHIND, &[])? else {
            return Ok(0);
        };
        bytes += add_log_piece(tx, row.int(0)?, row.int(1)?)?;
    }
    unindexed(tx)
}

/// Puts the next records of a run into the index, as one piece; returns its size.
fn add_log_piece(tx: &mut dyn Tx, run: i64, done: i64) -> Result<usize, StoreError> {
    const RECORDS_AT_ONCE: i64 = 200;
    let (mut text, mut last) = (String::new(), done);
    for row in tx.query(RECORDS, &[run.into(), done.into(), RECORDS_AT_ONCE.into()])? {
        if !text.is_empty() && text.len() >= CHUNK {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&log::data(&row, 1)?));
        text.push('\n');
        last = row.int(0)?;
    }
    let start = usize::try_from(done + 1).unwrap_or(usize::MAX);
    add(tx, Owner::Run(run), start, &spaced(&text))?;
    tx.execute(SET_INDEXED, &[run.into(), last.max(done + 1).into()])?;
    Ok(text.len().max(1))
}

const OF_RUN: &str = "select r.id, (select min(c.start) from chunk c where c.run = r.key and c.start > $2) \
    from run r where r.key = $1 and r.project = $3";

/// Returns the first record of a piece of a log that holds a word of the query.
pub(super) fn in_log(
    tx: &mut dyn Tx,
    project: i64,
    run: i64,
    start: i64,
    query: &Query,
) -> Result<Option<Hit>, StoreError> {
    let values = [run.into(), start.into(), project.into()];
    let Some(row) = tx.first(OF_RUN, &values)? else {
        return Ok(None);
    };
    let id = row.text(0)?.parse()?;
    let end = row.maybe(1, Row::int)?.unwrap_or(i64::MAX);
    let most = (end - start).clamp(1, 1000);
    let mut first: Option<Hit> = None;
    for row in tx.query(RECORDS, &[run.into(), (start - 1).into(), most.into()])? {
        let text = log::data(&row, 1)?;
        let text = String::from_utf8_lossy(&text);
        let Some(at) = query.find_in(&text) else {
            continue;
        };
        first = Some(Hit {
            place: HitPlace::Log {
                run: id,
                seq: row.int(0)?,
                stream: Stream::parse(&row, 3)?,
            },
            snippet: snippet(&text, at),
        });
        break;
    }
    Ok(first)
}
