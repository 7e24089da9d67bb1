//! The inverted index: FTS5 on SQLite, GIN on PostgreSQL. Both only know which passage has which terms.
//!
//! It may lag behind: what it does not have yet is read as if the index had offered it. So it never decides what is found,
//! only how fast.

use std::ops::Range;

use super::trigram;
use crate::db::{Dialect, Row, Tx, Value};
use crate::passage::{self, BATCH, COLUMNS};
use crate::project::Project;
use crate::{Store, StoreError, locks};

/// Grows whenever passages have other terms than before; an index of another version is made anew.
pub(crate) const VERSION: i64 = 4;

/// What is not in the search index yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unindexed {
    /// How many passages of prompts.
    pub passages: i64,
    /// How many log records.
    pub records: i64,
    /// Whether there is an index of another version, of which nothing counts.
    pub other_version: bool,
}

impl Store {
    /// Adds about `most` terms of passages to the search index; tells whether all is in it then.
    ///
    /// Searching looks into everything that is not in the index yet, but for logs.
    pub async fn index(&self, project: &Project, most: usize) -> Result<bool, StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            locks::sealing(tx, &project)?;
            add(tx, project.key, most)
        })
        .await
    }

    /// Returns what is not in the search index yet.
    pub async fn unindexed(&self, project: &Project) -> Result<Unindexed, StoreError> {
        let project = project.key;
        self.read(move |tx| {
            let (through, runs, other_version) = state(tx, project)?;
            let sql = "select count(*) from passage where project = $1 and key > $2";
            let row = tx.first(sql, &[project.into(), through.into()])?;
            Ok(Unindexed {
                passages: row.map_or(Ok(0), |row| row.int(0))?,
                records: passage::records_left(tx, project, runs)?,
                other_version,
            })
        })
        .await
    }

    /// Empties the search index of a project and notes again what can be found in its prompts; [`Store::index`] fills it.
    pub async fn empty_index(&self, project: &Project) -> Result<(), StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            locks::sealing(tx, &project)?;
            tx.unhurried()?;
            clear(tx, project.key)?;
            passage::note_all(tx, project.key)
        })
        .await
    }
}

/// Returns up to which passage the index has all, up to which run all log records are in passages, and whether there is an
/// index of another version, of which nothing is believed.
pub(super) fn state(tx: &mut dyn Tx, project: i64) -> Result<(i64, i64, bool), StoreError> {
    let sql = "select through, runs, version from search_index where project = $1";
    match tx.first(sql, &[project.into()])? {
        Some(row) if row.int(2)? == VERSION => Ok((row.int(0)?, row.int(1)?, false)),
        other => Ok((0, 0, other.is_some())),
    }
}

/// Adds about `most` terms to the index of a project; tells whether all is in it then.
fn add(tx: &mut dyn Tx, project: i64, most: usize) -> Result<bool, StoreError> {
    let (mut through, runs, other_version) = state(tx, project)?;
    if other_version {
        clear(tx, project)?;
    }
    let runs = passage::note_logs(tx, project, runs)?;
    let insert = match tx.dialect() {
        Dialect::Sqlite => "insert or replace into trigram (rowid, terms) values ($1, $2)",
        Dialect::Postgres => {
            "insert into trigram (rowid, terms) values ($1, cast(cast($2 as text) as integer[])) \
            on conflict (rowid) do update set terms = excluded.terms"
        }
    };
    let newer = "where p.project = $1 and p.key > $2";
    let (mut added, mut is_all) = (0, false);
    while added < most && !is_all {
        let passages = next_terms(tx, newer, &[project.into(), through.into()])?;
        is_all = passages.is_empty();
        for (key, terms) in passages {
            (through, added) = (key, added + terms.len());
            let list = format!("{{{}}}", join(&[terms], ",", ""));
            tx.execute(insert, &[key.into(), list.into()])?;
        }
    }
    if is_all && tx.dialect() == Dialect::Postgres {
        // Whoever asks goes through the whole list of what is not merged yet.
        tx.query("select gin_clean_pending_list('trigram_terms')", &[])?;
    }
    let state = "insert into search_index (project, version, through, runs) values ($1, $2, $3, $4) \
        on conflict (project) do update set version = excluded.version, through = excluded.through, runs = excluded.runs";
    tx.execute(state, &[project, VERSION, through, runs].map(Value::from))?;
    Ok(is_all)
}

/// Returns the keys of the next of some passages, with their terms. One that is damaged has none.
pub(crate) fn next_terms(
    tx: &mut dyn Tx,
    of: &str,
    values: &[Value<'_>],
) -> Result<Vec<(i64, Vec<u32>)>, StoreError> {
    let sql = format!("select {COLUMNS} from passage p {of} order by p.key limit {BATCH}");
    let rows = tx.query(&sql, values)?;
    let texts = passage::texts(tx, &rows)?;
    let terms = |(row, text): (&Row, Option<String>)| {
        let (project, is_ranked) = (row.int(1)?, row.int(3)? != 0);
        let terms = trigram::terms(project, &text.unwrap_or_default(), is_ranked);
        Ok((row.int(0)?, terms))
    };
    rows.iter().zip(texts).map(terms).collect()
}

/// Writes lists of terms as numbers, with something between two terms and between two lists.
fn join(lists: &[Vec<u32>], terms: &str, between: &str) -> String {
    let numbers = |list: &Vec<u32>| list.iter().map(u32::to_string).collect::<Vec<_>>();
    let lists: Vec<String> = lists.iter().map(|list| numbers(list).join(terms)).collect();
    lists.join(between)
}

/// Takes a project out of the index. What is damaged in a file cannot be taken apart: there all goes, and other projects are
/// indexed again when they are searched.
fn clear(tx: &mut dyn Tx, project: i64) -> Result<(), StoreError> {
    match tx.dialect() {
        Dialect::Sqlite => tx.batch("insert into trigram (trigram) values ('delete-all'); delete from search_index"),
        Dialect::Postgres => tx.batch(&format!(
            "delete from trigram where rowid in (select key from passage where project = {project}); \
            delete from search_index where project = {project}"
        )),
    }
}

/// Runs a query over `t`: the keys, as `rowid`, of passages of project `$1` that may have, of each list of terms, at least one;
/// only those in a range. Without lists, of those that are not in the index yet.
pub(super) fn select(
    tx: &mut dyn Tx,
    project: i64,
    terms: &[Vec<u32>],
    keys: Range<i64>,
    sql: &str,
) -> Result<Vec<Row>, StoreError> {
    let in_range = format!("rowid >= {} and rowid < {}", keys.start, keys.end);
    let keys = match tx.dialect() {
        _ if terms.is_empty() => {
            let through = state(tx, project)?.0;
            format!("select key as rowid from passage where project = $1 and key > {through}")
        }
        Dialect::Sqlite => {
            let all = join(terms, " OR ", ") AND (");
            format!("select rowid from trigram('({all})') where {in_range}")
        }
        Dialect::Postgres => {
            // It does not know how long it takes to read the terms of each row: unless there are few rows, it shall ask the
            // index, do so first, and not look for the keys instead.
            tx.batch("set local enable_seqscan = off")?;
            let few = format!("(select rowid, terms from trigram where {in_range} offset 0) few");
            let rows = if keys.start > 0 { &few } else { "trigram" };
            let all = join(terms, ",", "}' and terms && '{");
            let found = format!("select rowid from {rows} where terms && '{{{all}}}' offset 0");
            format!("select rowid from ({found}) found where {in_range}")
        }
    };
    // SQLite takes tables that are cross joined in their order, and asks the index once.
    let rows = tx.query(&format!("with t as ({keys}) {sql}"), &[project.into()]);
    rows.map_err(|error| match error {
        StoreError::Damaged { place, why } => {
            let why = format!("the search index: {why}; `callsheet reindex` makes it anew");
            StoreError::damaged(place, why)
        }
        other => other,
    })
}
