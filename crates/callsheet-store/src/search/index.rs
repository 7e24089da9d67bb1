//! The inverted index: FTS5 on SQLite, GIN on PostgreSQL. Both only know which passage has which terms.
//!
//! It may lag behind: what it does not have yet is read as if the index had offered it. So it never decides what is found,
//! only how fast.

use std::collections::{BTreeMap, BTreeSet};

use super::trigram;
use crate::db::{Dialect, Row, Tx, Value};
use crate::passage::{self, BATCH, COLUMNS};
use crate::project::Project;
use crate::prompt::locks;
use crate::verify::Audit;
use crate::{Store, StoreError};

/// Grows whenever passages have other terms than before; an index of another version is made anew.
const VERSION: i64 = 2;

/// What is said of an index that does not do.
pub(crate) const DAMAGED: &str =
    "it does not have what the texts say; `callsheet reindex` makes it anew";

/// Up to which passage the index has all, and up to which run all log records are in passages.
const STATE: &str = "select through, runs, version from search_index where project = $1";

const SET_STATE: &str = "insert into search_index (project, version, through, runs) values ($1, $2, $3, $4) \
    on conflict (project) do update set version = excluded.version, through = excluded.through, runs = excluded.runs";

/// Runs with passages that do not follow each other from the first record on, or that do not hold all that they should.
const WRONG_LOGS: &str = "select r.id from (select run, project, first, last, \
    lag(last) over (partition by run order by first) as before from passage where run is not null) p join run r on r.key = p.run \
    where p.first <> cast(coalesce(p.before, 0) as numeric) + 1 or p.last < p.first or p.last > r.records or p.project <> r.project \
    union select r.id from search_index i join run r on r.project = i.project and r.key <= i.runs \
    where i.version = $1 and r.records <> coalesce((select max(p.last) from passage p where p.run = r.key), 0) order by 1";

/// The passages of projects whose index is of another version.
const OTHER_VERSION: &str = "select p.key from passage p join search_index i on i.project = p.project where i.version <> $1";

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
    /// Adds about `most` bytes of text to the search index; tells whether all is in it then.
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
            let (through, runs) = state(tx, project)?;
            let sql = "select count(*) from passage where project = $1 and key > $2";
            let row = tx.first(sql, &[project.into(), through.into()])?;
            Ok(Unindexed {
                passages: row.map_or(Ok(0), |row| row.int(0))?,
                records: passage::records_left(tx, project, runs)?,
                other_version: has_other_version(tx, project)?,
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

/// Returns the state of an index; nothing is believed of one of another version.
fn state(tx: &mut dyn Tx, project: i64) -> Result<(i64, i64), StoreError> {
    match tx.first(STATE, &[project.into()])? {
        Some(row) if row.int(2)? == VERSION => Ok((row.int(0)?, row.int(1)?)),
        _ => Ok((0, 0)),
    }
}

/// Tells whether the index of a project is of another version.
fn has_other_version(tx: &mut dyn Tx, project: i64) -> Result<bool, StoreError> {
    let row = tx.first(STATE, &[project.into()])?;
    Ok(row.is_some_and(|row| row.int(2) != Ok(VERSION)))
}

/// Adds about `most` bytes of text to the index of a project; tells whether all is in it then.
fn add(tx: &mut dyn Tx, project: i64, most: usize) -> Result<bool, StoreError> {
    if has_other_version(tx, project)? {
        clear(tx, project)?;
    }
    let (mut through, runs) = state(tx, project)?;
    let runs = passage::note_logs(tx, project, runs)?;
    let next = format!(
        "select {COLUMNS} from passage p where p.project = $1 and p.key > $2 order by p.key limit {BATCH}"
    );
    let insert = match tx.dialect() {
        Dialect::Sqlite => {
            "insert or replace into trigram (rowid, terms) select cast(key as integer), value from json_each($1)"
        }
        Dialect::Postgres => {
            "insert into trigram (rowid, terms) \
            select cast(key as bigint), cast(string_to_array(value, ' ') as integer[]) from json_each_text(cast(cast($1 as text) as json)) \
            on conflict (rowid) do update set terms = excluded.terms"
        }
    };
    let (mut bytes, mut is_all) = (0, false);
    while bytes < most && !is_all {
        let rows = tx.query(&next, &[project.into(), through.into()])?;
        is_all = rows.is_empty();
        let texts = passage::texts(tx, &rows)?;
        let mut passages = BTreeMap::new();
        for row in rows {
            if bytes < most {
                through = row.int(0)?;
                bytes += texts.get(&through).map_or(0, String::len) + 1;
                passages.insert(through, list(&terms(&row, &texts)?, " "));
            }
        }
        tx.execute(insert, &[serde_json::json!(passages).to_string().into()])?;
    }
    if is_all && tx.dialect() == Dialect::Postgres {
        // Whoever asks goes through the whole list of what is not merged yet.
        tx.query("select gin_clean_pending_list('trigram_terms')", &[])?;
    }
    let values = [project, VERSION, through, runs].map(Value::from);
    tx.execute(SET_STATE, &values)?;
    Ok(is_all)
}

/// Returns the terms of a passage, given texts by the keys of their passages. One that is damaged has none.
fn terms(row: &Row, texts: &BTreeMap<i64, String>) -> Result<Vec<u32>, StoreError> {
    let text = texts.get(&row.int(0)?).map_or("", String::as_str);
    Ok(trigram::terms(row.int(1)?, text, row.int(3)? != 0))
}

/// Writes terms as numbers, with something between them.
fn list(terms: &[u32], between: &str) -> String {
    let numbers: Vec<String> = terms.iter().map(u32::to_string).collect();
    numbers.join(between)
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

/// What is selected of passages `p`, which the index offers as `t.rowid`: the columns, the tables that are joined to them, and
/// which rows in what order.
pub(super) type Select<'s> = [&'s str; 3];

/// Selects passages of project `$1` that may have, of each list of terms, at least one. Without lists, selects those that
/// are not in the index yet.
pub(super) fn select(
    tx: &mut dyn Tx,
    project: i64,
    [columns, tables, rows]: Select<'_>,
    (terms, most): (&[Vec<u32>], usize),
) -> Result<Vec<Row>, StoreError> {
    let mut values = vec![project.into()];
    let index = match tx.dialect() {
        _ if terms.is_empty() => {
            let indexed = state(tx, project)?.0;
            format!("(select key as rowid from passage where project = $1 and key > {indexed})")
        }
        Dialect::Sqlite => {
            let any: Vec<String> = terms.iter().map(|any| list(any, " OR ")).collect();
            values.push(format!("({})", any.join(") AND (")).into());
            "trigram($2)".to_owned()
        }
        Dialect::Postgres => {
            let mut found = "true".to_owned();
            for any in terms {
                values.push(format!("{{{}}}", list(any, ",")).into());
                found += &format!(
                    " and terms && cast(cast(${} as text) as integer[])",
                    values.len()
                );
            }
            // PostgreSQL does not know how long it takes to read the terms of each row: it shall ask the index, and do so first.
            tx.batch("set local enable_seqscan = off")?;
            format!("(select rowid from trigram where {found} offset 0)")
        }
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    // SQLite takes tables that are cross joined in this order, and asks the index once.
    let sql = format!(
        "select {columns} from {index} t cross join passage p {tables} \
        where p.key = t.rowid and p.project = $1 {rows} limit {most}"
    );
    tx.query(&sql, &values).map_err(|error| match error {
        StoreError::Damaged { place, why } => {
            let why = format!("the search index: {why}; `callsheet reindex` makes it anew");
            StoreError::damaged(place, why)
        }
        other => other,
    })
}

/// Checks that passages are what prompts show and what logs hold, and that the index has what they say.
pub(crate) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    for (rows, fault) in passage::wrong()
        .iter()
        .zip(["shown by no prompt", "missing"])
    {
        let count = tx.first(&format!("select count(*) from ({rows}) r"), &[])?;
        let count = count.map_or(Ok(0), |row| row.int(0))?;
        if count > 0 {
            audit.find(
                "the table `passage`".to_owned(),
                format!("{count} of its rows are {fault}"),
            );
        }
    }
    for row in tx.query(WRONG_LOGS, &[VERSION.into()])? {
        let what = format!("the index of run {}", row.text(0)?);
        audit.find(what, "it does not hold what it should");
    }
    // Nobody reads it as long as it is not in the index.
    let row = tx.first("select count(*) from passage where key < 1", &[])?;
    let count = row.map_or(Ok(0), |row| row.int(0))?;
    if count > 0 {
        audit.find(
            "the table `passage`".to_owned(),
            format!("{count} of its rows have a key below 1"),
        );
    }
    if !is_right(tx)? {
        audit.find("the search index".to_owned(), DAMAGED);
    }
    Ok(())
}

/// Tells whether the index has what the texts say, by a sum over all terms. What is made anew anyway is left alone.
fn is_right(tx: &mut dyn Tx) -> Result<bool, StoreError> {
    let others = tx.query(OTHER_VERSION, &[VERSION.into()])?;
    let others = others.iter().map(|row| row.int(0));
    let others: BTreeSet<i64> = others.collect::<Result<_, _>>()?;
    let hash = |passage: i64, term: u64| trigram::mix(passage.cast_unsigned() << 32 ^ term);
    let (mut sum, mut last) = (0_u64, i64::MIN);
    let indexed = match tx.dialect() {
        // Each term is looked up, as a search does it: it may be there and not be found.
        Dialect::Sqlite => {
            "select trigram.rowid, cast(term as integer) from trigram_row cross join trigram where trigram match term"
        }
        Dialect::Postgres => "select rowid, cast(unnest(terms) as bigint) from trigram",
    };
    let read = tx.each(indexed, &[], &mut |row| {
        let passage = row.int(0)?;
        if !others.contains(&passage) {
            sum = sum.wrapping_add(hash(passage, row.int(1)?.cast_unsigned()));
        }
        Ok(())
    });
    match read {
        Err(StoreError::Damaged { .. }) => return Ok(false),
        other => other?,
    }
    let next = format!(
        "select {COLUMNS} from passage p join search_index i on i.project = p.project and p.key <= i.through \
        where p.key > $1 and i.version = $2 order by p.key limit {BATCH}"
    );
    loop {
        let rows = tx.query(&next, &[last.into(), VERSION.into()])?;
        let texts = passage::texts(tx, &rows)?;
        for row in &rows {
            last = row.int(0)?;
            let terms = terms(row, &texts)?.into_iter();
            sum = terms.fold(sum, |sum, term| sum.wrapping_sub(hash(last, term.into())));
        }
        if rows.is_empty() {
            return Ok(sum == 0);
        }
    }
}
