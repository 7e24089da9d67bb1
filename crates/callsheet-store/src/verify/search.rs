//! What can be found: passages are what prompts show and what logs hold, and the index has what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::Audit;
use crate::StoreError;
use crate::db::{Dialect, Row, Tx, Value, query_in};
use crate::passage::{self, SHOWN};
use crate::search::index::{VERSION, next_terms};

/// What is said of an index that does not do.
pub(super) const DAMAGED: &str =
    "it does not have what the texts say; `callsheet reindex` makes it anew";

/// Runs with passages that do not follow each other from the first record on, or that do not hold all that they should.
const WRONG_LOGS: &str = "select r.id from (select run, project, first, last, \
    lag(last) over (partition by run order by first) as before from passage where run is not null) p join run r on r.key = p.run \
    where p.first <> cast(coalesce(p.before, 0) as numeric) + 1 or p.last < p.first or p.last > r.records or p.project <> r.project \
    union select r.id from search_index i join run r on r.project = i.project and r.key <= i.runs \
    where i.version = $1 and r.records <> coalesce((select max(p.last) from passage p where p.run = r.key), 0) order by 1";

/// Checks that there are the passages that there should be, and no others.
pub(super) fn passages(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let missing = format!(
        "select s.body as key, s.project from ({SHOWN}) s left join passage p \
        on s.project = p.project and s.body = p.body and s.ranked = p.ranked where p.key is null"
    );
    // What is not in the index yet is read from the first key on.
    let unread = "select key, project from passage where key < 1".to_owned();
    for (rows, fault) in [
        (passage::loose(), "shown by no prompt"),
        (missing, "missing"),
        (unread, "never read"),
    ] {
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
    Ok(())
}

/// Checks that the index has the terms of all passages.
pub(super) fn index(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
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
    let hash = |term: i64| BuildHasherDefault::<DefaultHasher>::default().hash_one(term);
    let all = match tx.dialect() {
        // Each term is looked up, as a search does it: it may be there and not be found.
        Dialect::Sqlite => {
            "select trigram.rowid, cast(term as integer) from trigram_row cross join trigram where trigram match term"
        }
        Dialect::Postgres => "select rowid, cast(unnest(terms) as bigint) from trigram",
    };
    tx.each(all, &[], &mut |row| {
        let sum = sums.entry(row.int(0)?).or_default();
        *sum = sum.wrapping_add(hash(row.int(1)?));
        Ok(())
    })?;
    let indexed = "join search_index i on i.project = p.project and i.version = $1 and p.key <= i.through where p.key > $2";
    let mut last = i64::MIN;
    loop {
        let passages = next_terms(tx, indexed, &[VERSION.into(), last.into()])?;
        let Some((key, _)) = passages.last() else {
            break;
        };
        last = *key;
        for (key, terms) in passages {
            let sum = sums.entry(key).or_default();
            let hashes = terms.into_iter().map(|term| hash(term.into()));
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
