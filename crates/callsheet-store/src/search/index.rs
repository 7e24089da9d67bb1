//! The inverted index: FTS5 on SQLite, GIN on PostgreSQL. Both only know which passage has which hashes.
//!
//! It holds nothing of its own, and may lag behind: whatever it does not have yet is looked into as if the index had named
//! it. So it never decides what is found, only how fast.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::trigram::{self, Wanted};
use super::{log, text};
use crate::StoreError;
use crate::db::{Dialect, Row, Tx, Value};

/// Grows whenever other hashes are indexed than before; an index of another version is made anew.
pub(crate) const VERSION: i64 = 1;

/// What is said of an index that does not do.
pub(crate) const DAMAGED: &str =
    "it does not have what the texts say; `callsheet reindex` makes it anew";

/// How many passages one statement is about.
const ROWS: usize = 50;

const STATE: &str = "select version, through, runs from search_index where project = $1";

const SET_STATE: &str = "insert into search_index (project, version, through, runs) values ($1, $2, $3, $4) \
    on conflict (project) do update set version = excluded.version, through = excluded.through, runs = excluded.runs";

const NEXT: &str = "select p.key, p.body, p.seam, p.run, p.first, p.last, coalesce(b.bytes, 0) from passage p \
    left join body b on b.key = p.body where p.project = $1 and p.key > $2 order by p.key limit 200";

/// How far the index of a project reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// It has all passages up to this one.
    pub(crate) through: i64,
    /// All log records of runs up to this one are passages.
    pub(crate) runs: i64,
}

impl Reach {
    pub(crate) fn of(tx: &mut dyn Tx, project: i64) -> Result<Self, StoreError> {
        let row = tx.first(STATE, &[project.into()])?;
        Ok(match row {
            Some(row) if row.int(0)? == VERSION => Self {
                through: row.int(1)?,
                runs: row.int(2)?,
            },
            _ => Self::default(),
        })
    }

    fn set(self, tx: &mut dyn Tx, project: i64) -> Result<(), StoreError> {
        let values = [project, VERSION, self.through, self.runs].map(Into::into);
        tx.execute(SET_STATE, &values).map(|_| ())
    }
}

/// Returns a query for the passages that have what is wanted, and adds its values to others.
pub(super) fn query(dialect: Dialect, wanted: &Wanted, values: &mut Vec<Value<'_>>) -> String {
    match dialect {
        Dialect::Sqlite => {
            let one = |hashes: &Vec<u32>| {
                let words: Vec<String> = hashes.iter().map(|hash| word(*hash)).collect();
                format!("({})", words.join(" OR "))
            };
            let all: Vec<String> = wanted.iter().map(one).collect();
            values.push(all.join(" AND ").into());
            format!(
                "select rowid from trigram where trigram match ${}",
                values.len()
            )
        }
        Dialect::Postgres => {
            let mut conditions = Vec::new();
            for hashes in wanted {
                values.push(array(hashes).into());
                conditions.push(format!(
                    "hashes && cast(cast(${} as text) as integer[])",
                    values.len()
                ));
            }
            format!(
                "select passage from trigram where {}",
                conditions.join(" and ")
            )
        }
    }
}

/// Returns up to `most` passages of a project that may have what is wanted, the newest first.
pub(super) fn find(tx: &mut dyn Tx, wanted: &Wanted, most: usize) -> Result<Vec<i64>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    let sql = query(tx.dialect(), wanted, &mut values);
    let sql = format!("{sql} order by 1 desc limit {most}");
    let rows = readable(tx.query(&sql, &values))?;
    rows.iter().map(|row| row.int(0)).collect()
}

/// Says which part of the file is damaged, and what helps.
pub(super) fn readable<T>(result: Result<T, StoreError>) -> Result<T, StoreError> {
    result.map_err(|error| match error {
        StoreError::Damaged { place, why } => StoreError::damaged(
            place,
            format!("the search index: {why}; `callsheet reindex` makes it anew"),
        ),
        other => other,
    })
}

/// Adds about `most` bytes of text to the index of a project; tells whether all is in it then.
pub(crate) fn add(tx: &mut dyn Tx, project: i64, most: usize) -> Result<bool, StoreError> {
    let row = tx.first(STATE, &[project.into()])?;
    if row.is_some_and(|row| row.int(0) != Ok(VERSION)) {
        clear(tx, project)?;
    }
    let mut reach = Reach::of(tx, project)?;
    reach.runs = log::cut(tx, project, reach.runs)?;
    let mut bytes = 0;
    while bytes < most {
        let rows = tx.query(NEXT, &[project.into(), reach.through.into()])?;
        if rows.is_empty() {
            reach.set(tx, project)?;
            return Ok(true);
        }
        let mut passages = Vec::new();
        for row in &rows {
            if bytes >= most {
                break;
            }
            reach.through = row.int(0)?;
            let (text, hashes) = hashes(tx, project, row)?;
            bytes += text.max(1);
            passages.push((reach.through, hashes));
        }
        for some in passages.chunks(ROWS) {
            insert(tx, some)?;
        }
    }
    reach.set(tx, project)?;
    Ok(false)
}

/// Returns what is indexed of a passage, and how long its text is. One that is damaged has nothing; whoever verifies tells it.
fn hashes(tx: &mut dyn Tx, project: i64, row: &Row) -> Result<(usize, BTreeSet<u32>), StoreError> {
    if let Some(seam) = row.maybe(2, Row::text)? {
        return Ok((seam.len(), trigram::exact_hashes(project, seam)));
    }
    let text = text(tx, row)?.unwrap_or_default();
    Ok((text.len(), trigram::hashes(project, &text)))
}

fn insert(tx: &mut dyn Tx, passages: &[(i64, BTreeSet<u32>)]) -> Result<(), StoreError> {
    let (head, cast) = match tx.dialect() {
        Dialect::Sqlite => (
            "insert or replace into trigram (rowid, hashes) values",
            "text",
        ),
        Dialect::Postgres => ("insert into trigram (passage, hashes) values", "integer[]"),
    };
    let (mut sql, mut values) = (head.to_owned(), Vec::<Value<'_>>::new());
    for (key, hashes) in passages {
        let packed = match tx.dialect() {
            Dialect::Sqlite => hashes.iter().map(|hash| word(*hash) + " ").collect(),
            Dialect::Postgres => array(hashes),
        };
        let (comma, at) = (if values.is_empty() { "" } else { "," }, values.len());
        // Writing to a text cannot fail.
        let _ = write!(
            sql,
            "{comma} (${}, cast(cast(${} as text) as {cast}))",
            at + 1,
            at + 2
        );
        values.extend([(*key).into(), packed.into()]);
    }
    if tx.dialect() == Dialect::Postgres {
        sql.push_str(" on conflict (passage) do update set hashes = excluded.hashes");
    }
    tx.execute(&sql, &values).map(|_| ())
}

/// Takes all passages of a project out of the index.
pub(crate) fn clear(tx: &mut dyn Tx, project: i64) -> Result<(), StoreError> {
    let ours = match tx.dialect() {
        // What is damaged cannot be taken apart. A file mostly has one project; others are indexed again when they are searched.
        Dialect::Sqlite => {
            tx.execute("insert into trigram (trigram) values ('delete-all')", &[])?;
            "true".to_owned()
        }
        Dialect::Postgres => {
            let ours = format!("project = {project}");
            remove(tx, &format!("select key from passage where {ours}"))?;
            ours
        }
    };
    tx.execute(&format!("delete from search_index where {ours}"), &[])?;
    Ok(())
}

/// Takes passages out of the index, given as a query.
pub(crate) fn remove(tx: &mut dyn Tx, passages: &str) -> Result<(), StoreError> {
    let key = match tx.dialect() {
        Dialect::Sqlite => "rowid",
        Dialect::Postgres => "passage",
    };
    tx.execute(
        &format!("delete from trigram where {key} in ({passages})"),
        &[],
    )?;
    Ok(())
}

/// Returns a hash as FTS5 takes it: eight digits.
fn word(hash: u32) -> String {
    format!("{hash:08x}")
}

fn array<'h>(hashes: impl IntoIterator<Item = &'h u32>) -> String {
    let numbers = hashes
        .into_iter()
        .map(|hash| hash.cast_signed().to_string());
    format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
}

/// Lets FTS5 forget what it knows of an older state of the index; whether that can be read is told later.
pub(crate) fn wake(tx: &mut dyn Tx) {
    let _ = tx.query("select rowid from trigram limit 1", &[]);
}

/// Tells whether the index has what the texts say, by a sum over all hashes. One that is made anew anyway is left alone.
pub(crate) fn is_right(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    let other = "select 1 from search_index where version <> $1";
    if tx.first(other, &[VERSION.into()])?.is_some() {
        return Ok(true);
    }
    let (mut has, mut should) = (0_u64, 0_u64);
    let one =
        |passage: i64, hash: u32| trigram::mix(passage.cast_unsigned() << 32 ^ u64::from(hash));
    let sql = match tx.dialect() {
        Dialect::Sqlite => "select doc, term from trigram_row",
        Dialect::Postgres => "select passage, lpad(to_hex(unnest(hashes)), 8, '0') from trigram",
    };
    let read = tx.each(sql, &[], &mut |row| {
        let hash = u32::from_str_radix(row.text(1)?, 16);
        has = has.wrapping_add(hash.map_or(1, |hash| one(row.int(0).unwrap_or(0), hash)));
        Ok(())
    });
    match read {
        Err(StoreError::Damaged { .. }) => return Ok(false),
        other => other?,
    }
    for state in tx.query("select project from search_index", &[])? {
        let project = state.int(0)?;
        let (through, mut last) = (Reach::of(tx, project)?.through, 0);
        loop {
            let rows = tx.query(NEXT, &[project.into(), last.into()])?;
            let Some(end) = rows.last() else { break };
            last = end.int(0)?;
            for row in &rows {
                let key = row.int(0)?;
                if key <= through {
                    let hashes = hashes(tx, project, row)?.1.into_iter();
                    should = hashes.fold(should, |sum, hash| sum.wrapping_add(one(key, hash)));
                }
            }
        }
    }
    Ok(has == should)
}
