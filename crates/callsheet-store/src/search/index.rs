//! The index: which pieces of texts and logs it holds, and how they come in and go out.

use super::words::{Query, spaced, words};
use super::{Hit, HitPlace, snippet};
use crate::StoreError;
use crate::db::{Dialect, Row, Tx, Value};
use crate::log::{self, Stream};
use crate::prompt::REACH;

/// How long a piece is.
pub(super) const CHUNK: usize = 64 * 1024;

const HAS: &str = "select c.key from chunk c where c.body = $1 order by c.start limit 1";

const HAS_WORDS: &str = "select 1 from chunk_words where rowid = $1";

/// What a piece belongs to, as its column.
#[derive(Clone, Copy)]
enum Owner {
    Body(i64),
    Run(i64),
    /// Nothing else: where two texts meet.
    Edge,
}

impl Owner {
    fn columns(self) -> [Value<'static>; 2] {
        match self {
            Self::Body(key) => [key.into(), Value::Null],
            Self::Run(key) => [Value::Null, key.into()],
            Self::Edge => [Value::Null, Value::Null],
        }
    }
}

/// Returns where the pieces of a text begin; each overlaps the one before by the longest beginning that is looked for.
pub(crate) fn starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    while text.len() - at > CHUNK {
        at = text.floor_char_boundary(at + CHUNK - REACH);
        starts.push(at);
    }
    starts
}

fn piece(text: &str, start: usize) -> &str {
    &text[start..text.floor_char_boundary((start + CHUNK).min(text.len()))]
}

/// Puts a text of prompts into the index, with its words if it is a section.
pub(crate) fn add_body(
    tx: &mut dyn Tx,
    body: i64,
    text: &[u8],
    with_words: bool,
) -> Result<(), StoreError> {
    let text = String::from_utf8_lossy(text);
    if let Some(row) = tx.first(HAS, &[body.into()])? {
        let first = row.int(0)?;
        if !with_words || has_words(tx, first)? {
            return Ok(());
        }
        // It was a frame until now, and is a section as well.
        remove_body(tx, body)?;
    }
    for start in starts(&text) {
        let piece = piece(&text, start);
        let words = with_words.then(|| spaced(piece));
        add(tx, (Owner::Body(body), start), Some(piece), words)?;
    }
    Ok(())
}

/// Puts what stands where two sections meet into the index and returns its key.
pub(crate) fn add_edge(tx: &mut dyn Tx, text: &str) -> Result<i64, StoreError> {
    add(tx, (Owner::Edge, 0), Some(text), None)
}

fn has_words(tx: &mut dyn Tx, chunk: i64) -> Result<bool, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => HAS_WORDS,
        Dialect::Postgres => "select 1 from chunk where key = $1 and words is not null",
    };
    Ok(tx.first(sql, &[chunk.into()])?.is_some())
}

/// Adds a piece, to be found by its groups of characters, by its words, or by both; returns its key.
fn add(
    tx: &mut dyn Tx,
    (owner, start): (Owner, usize),
    text: Option<&str>,
    words: Option<String>,
) -> Result<i64, StoreError> {
    let [body, run] = owner.columns();
    let start = i64::try_from(start).unwrap_or(i64::MAX);
    let grams = text.map(kept);
    if tx.dialect() == Dialect::Postgres {
        let sql = "insert into chunk (body, run, start, grams, words) \
            values ($1, $2, $3, $4, to_tsvector('simple'::regconfig, $5::text)) returning key";
        let values = [body, run, start.into(), grams.into(), words.into()];
        return new_key(tx, sql, &values);
    }
    let sql = "insert into chunk (body, run, start) values ($1, $2, $3) returning key";
    let chunk = new_key(tx, sql, &[body, run, start.into()])?;
    if let Some(grams) = grams {
        let sql = "insert into chunk_grams (rowid, text) values ($1, $2)";
        tx.execute(sql, &[chunk.into(), grams.into()])?;
    }
    if let Some(words) = words {
        let sql = "insert into chunk_words (rowid, words) values ($1, $2)";
        tx.execute(sql, &[chunk.into(), words.into()])?;
    }
    Ok(chunk)
}

/// Returns a text as the index keeps it: the character NUL cannot be stored, and nobody looks for it either.
pub(crate) fn kept(text: &str) -> String {
    text.replace('\0', "\u{1}")
}

fn new_key(tx: &mut dyn Tx, sql: &str, values: &[Value<'_>]) -> Result<i64, StoreError> {
    let row = tx.first(sql, values)?;
    let missing = || StoreError::damaged(tx.store(), "a new row has no key");
    row.ok_or_else(missing)?.int(0)
}

/// Tells whether the index has the pieces of a text, and their words.
///
/// PostgreSQL keeps the pieces themselves, so that they can be compared. SQLite keeps none; there the beginning and the end
/// of each piece and its first word are looked for, and the pages of the index are checked with the whole file.
pub(crate) fn holds(
    tx: &mut dyn Tx,
    body: i64,
    text: &str,
    with_words: bool,
) -> Result<bool, StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        return finds(tx, body, text, with_words);
    }
    let sql = "select start, grams, (words = to_tsvector('simple'::regconfig, $2::text))::int::bigint from chunk \
        where body = $1 and start = $3";
    for start in starts(text) {
        let piece = piece(text, start);
        let at = i64::try_from(start).unwrap_or(i64::MAX);
        let words = if with_words {
            spaced(piece)
        } else {
            String::new()
        };
        let row = tx.first(sql, &[body.into(), words.into(), at.into()])?;
        let Some(row) = row else { return Ok(false) };
        let same = row.maybe(2, Row::int)?;
        if row.maybe(1, Row::text)? != Some(&kept(piece)) || with_words && same != Some(1) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn finds(tx: &mut dyn Tx, body: i64, text: &str, with_words: bool) -> Result<bool, StoreError> {
    for start in starts(text) {
        let piece = piece(text, start);
        let first = &piece[..piece.floor_char_boundary(REACH.min(piece.len()))];
        let last = &piece[piece.ceil_char_boundary(piece.len().saturating_sub(REACH))..];
        let mut queries = Vec::new();
        for part in [first, last] {
            if part.chars().count() >= 3 {
                queries.push(("chunk_grams", grams(part)));
            }
        }
        // Other letters may be written in another way in the index.
        let word = words(piece)
            .map(|(_, word)| word)
            .find(|word| word.is_ascii());
        queries.extend(
            word.filter(|_| with_words)
                .map(|word| ("chunk_words", format!("\"{word}\""))),
        );
        for (table, query) in queries {
            let sql = format!(
                "select 1 from {table} where {table} match $1 \
                and rowid = (select key from chunk where body = $2 and start = $3)"
            );
            let at = i64::try_from(start).unwrap_or(i64::MAX);
            if tx
                .first(&sql, &[query.into(), body.into(), at.into()])?
                .is_none()
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns the query for all groups of three characters of a text; one after the other, and the last one.
pub(super) fn grams(text: &str) -> String {
    let chars: Vec<char> = kept(text).chars().collect();
    let threes = chars.chunks_exact(3);
    let mut grams: Vec<String> = threes.map(|three| three.iter().collect()).collect();
    grams.push(chars[chars.len().saturating_sub(3)..].iter().collect());
    let quoted = grams
        .iter()
        .map(|gram| format!("\"{}\"", gram.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(" AND ")
}

/// Takes a text of prompts out of the index.
pub(crate) fn remove_body(tx: &mut dyn Tx, body: i64) -> Result<(), StoreError> {
    for row in tx.query("select key from chunk where body = $1", &[body.into()])? {
        remove(tx, row.int(0)?)?;
    }
    Ok(())
}

/// Takes a piece out of the index.
pub(crate) fn remove(tx: &mut dyn Tx, chunk: i64) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        for table in ["chunk_words", "chunk_grams"] {
            let sql = format!("delete from {table} where rowid = $1");
            tx.execute(&sql, &[chunk.into()])?;
        }
    }
    tx.execute("delete from chunk where key = $1", &[chunk.into()])?;
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
    add(tx, (Owner::Run(run), start), None, Some(spaced(&text)))?;
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
