//! The inverted index: FTS5 on SQLite, GIN on PostgreSQL. Both only know which passage has which terms.
//!
//! It may lag behind: what it does not have yet is read as if the index had offered it. So it never decides what is found,
//! only how fast.

use std::collections::{BTreeMap, BTreeSet};

use super::trigram;
use crate::db::{Dialect, Row, Tx, Value, query_in};
use crate::passage::{self, BATCH, COLUMNS};
use crate::project::Project;
use crate::verify::Audit;
use crate::{Store, StoreError, locks};

/// Grows whenever passages have other terms than before; an index of another version is made anew.
const VERSION: i64 = 3;

/// What is said of an index that does not do.
pub(crate) const DAMAGED: &str =
    "it does not have what the texts say; `callsheet reindex` makes it anew";

const SET_STATE: &str = "insert into search_index (project, version, through, runs) values ($1, $2, $3, $4) \
    on conflict (project) do update set version = excluded.version, through = excluded.through, runs = excluded.runs";

/// Runs with passages that do not follow each other from the first record on, or that do not hold all that they should.
const WRONG_LOGS: &str = "select r.id from (select run, project, first, last, \
    lag(last) over (partition by run order by first) as before from passage where run is not null) p join run r on r.key = p.run \
    where p.first <> cast(coalesce(p.before, 0) as numeric) + 1 or p.last < p.first or p.last > r.records or p.project <> r.project \
    union select r.id from search_index i join run r on r.project = i.project and r.key <= i.runs \
    where i.version = $1 and r.records <> coalesce((select max(p.last) from passage p where p.run = r.key), 0) order by 1";

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
fn state(tx: &mut dyn Tx, project: i64) -> Result<(i64, i64, bool), StoreError> {
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
        let passages = next(tx, newer, &[project.into(), through.into()])?;
        is_all = passages.is_empty();
        for (key, terms) in passages {
            let list = format!("{{{}}}", list(&terms, ","));
            tx.execute(insert, &[key.into(), list.into()])?;
            added += terms.len();
            through = key;
        }
    }
    if is_all && tx.dialect() == Dialect::Postgres {
        // Whoever asks goes through the whole list of what is not merged yet.
        tx.query("select gin_clean_pending_list('trigram_terms')", &[])?;
    }
    let values = [project, VERSION, through, runs].map(Value::from);
    tx.execute(SET_STATE, &values)?;
    Ok(is_all)
}

/// The keys and the terms of passages.
type Terms = Vec<(i64, Vec<u32>)>;

/// Returns the next of some passages with their terms. One that is damaged has none.
fn next(tx: &mut dyn Tx, of: &str, values: &[Value<'_>]) -> Result<Terms, StoreError> {
    let sql = format!("select {COLUMNS} from passage p {of} order by p.key limit {BATCH}");
    let rows = tx.query(&sql, values)?;
    let texts = passage::texts(tx, &rows)?;
    let terms = |(row, text): (&Row, Option<String>)| {
        let text = text.unwrap_or_default();
        let terms = trigram::terms(row.int(1)?, &text, row.int(3)? != 0);
        Ok((row.int(0)?, terms))
    };
    rows.iter().zip(texts).map(terms).collect()
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

/// Runs a query over `t`: the keys, as `rowid`, of passages of project `$1` that may have, of each list of terms, at least one.
/// Without lists, of those that are not in the index yet.
pub(super) fn select(
    tx: &mut dyn Tx,
    project: i64,
    terms: &[Vec<u32>],
    sql: &str,
) -> Result<Vec<Row>, StoreError> {
    let mut values = vec![project.into()];
    let keys = match tx.dialect() {
        _ if terms.is_empty() => {
            values.push(state(tx, project)?.0.into());
            "select key as rowid from passage where project = $1 and key > $2".to_owned()
        }
        Dialect::Sqlite => {
            let any: Vec<String> = terms.iter().map(|any| list(any, " OR ")).collect();
            values.push(format!("({})", any.join(") AND (")).into());
            "select rowid from trigram($2)".to_owned()
        }
        Dialect::Postgres => {
            // It does not know how long it takes to read the terms of each row: it shall ask the index, and do so first.
            tx.batch("set local enable_seqscan = off")?;
            let mut all = String::from("true");
            for any in terms {
                values.push(format!("{{{}}}", list(any, ",")).into());
                let any = format!("cast(cast(${} as text) as integer[])", values.len());
                all += &format!(" and terms && {any}");
            }
            format!("select rowid from trigram where {all} offset 0")
        }
    };
    // SQLite takes tables that are cross joined in their order, and asks the index once.
    let rows = tx.query(&format!("with t as ({keys}) {sql}"), &values);
    rows.map_err(|error| match error {
        StoreError::Damaged { place, why } => {
            let why = format!("the search index: {why}; `callsheet reindex` makes it anew");
            StoreError::damaged(place, why)
        }
        other => other,
    })
}

/// Checks that passages are what prompts show and what logs hold, and that the index has what they say.
pub(crate) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let [loose, missing] = passage::wrong();
    // What is not in the index yet is read from the first key on.
    let unread = "select key, project from passage where key < 1".to_owned();
    let faults = ["shown by no prompt", "missing", "never read"];
    for (rows, fault) in [loose, missing, unread].iter().zip(faults) {
        let sql = format!(
            "select r.name, count(*) from ({rows}) w join project r on r.key = w.project \
            group by r.name order by r.name"
        );
        for row in tx.query(&sql, &[])? {
            let (project, count) = (row.text(0)?, row.int(1)?);
            let detail = format!("{count} {fault}; `callsheet reindex` makes them anew");
            audit.find(format!("the passages of project {project}"), detail);
        }
    }
    for row in tx.query(WRONG_LOGS, &[VERSION.into()])? {
        let what = format!("the index of run {}", row.text(0)?);
        audit.find(what, "it does not hold what it should");
    }
    match wrong(tx) {
        Err(StoreError::Damaged { .. }) => audit.find("the search index".to_owned(), DAMAGED),
        projects => projects?
            .into_iter()
            .for_each(|project| audit.find(format!("the search index{project}"), DAMAGED)),
    }
    Ok(())
}

/// Returns of which projects the index does not have what the texts say, by a sum over the terms of each passage. An index of
/// another version is made anew anyway.
fn wrong(tx: &mut dyn Tx) -> Result<BTreeSet<String>, StoreError> {
    let mut sums: BTreeMap<i64, u64> = BTreeMap::new();
    let all = match tx.dialect() {
        // Each term is looked up, as a search does it: it may be there and not be found.
        Dialect::Sqlite => {
            "select trigram.rowid, cast(term as integer) from trigram_row cross join trigram where trigram match term"
        }
        Dialect::Postgres => "select rowid, cast(unnest(terms) as bigint) from trigram",
    };
    tx.each(all, &[], &mut |row| {
        let sum = sums.entry(row.int(0)?).or_default();
        *sum = sum.wrapping_add(trigram::mix(row.int(1)?.cast_unsigned()));
        Ok(())
    })?;
    let indexed = "join search_index i on i.project = p.project and i.version = $1 and p.key <= i.through where p.key > $2";
    let mut last = i64::MIN;
    loop {
        let passages = next(tx, indexed, &[VERSION.into(), last.into()])?;
        let Some((key, _)) = passages.last() else {
            break;
        };
        last = *key;
        for (key, terms) in passages {
            let sum = sums.entry(key).or_default();
            let hashes = terms.into_iter().map(|term| trigram::mix(term.into()));
            *sum = hashes.fold(*sum, u64::wrapping_sub);
        }
    }
    sums.retain(|_, sum| *sum != 0);
    let keys: Vec<Value<'_>> = sums.keys().map(|key| (*key).into()).collect();
    let rows = query_in(tx, &[], keys, |list| {
        format!(
            "select p.key, r.name, i.version from passage p join project r on r.key = p.project \
            left join search_index i on i.project = p.project where p.key in {list}"
        )
    })?;
    let mut projects = BTreeSet::new();
    for row in rows {
        sums.remove(&row.int(0)?);
        if row.maybe(2, Row::int)?.unwrap_or(VERSION) == VERSION {
            projects.insert(format!(" of project {}", row.text(1)?));
        }
    }
    // What belongs to no passage belongs to no project.
    projects.extend((!sums.is_empty()).then(String::new));
    Ok(projects)
}
