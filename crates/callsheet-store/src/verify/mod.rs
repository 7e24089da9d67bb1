//! Checks everything that a store keeps: its schema, marks, numbers, states, references, and that nothing is gone.
//!
//! It reads row by row and repairs nothing. What breaks a rule is a finding; a database that cannot even be read is an
//! error.

mod annotation;
mod batch;
mod event;
mod log;
mod replayed;
mod run;
mod schema;
mod search;
mod setting;
mod task;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::db::{Dialect, Row, Tx, Value};
use crate::{Store, StoreError, mark, prompt};

/// One thing that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing, such as `event 17 of project demo`.
    pub what: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many of each noun.
    pub checked: BTreeMap<&'static str, u64>,
    /// How many findings there were.
    pub findings: u64,
}

/// What is said of a row that does not match its mark.
const CHANGED: &str = "does not match its mark: it has been changed";

/// Checks all rows of a noun.
type Check = fn(&mut dyn Tx, &mut Audit<'_>) -> Result<(), StoreError>;

/// The checks of all nouns, in the order in which they are made.
const CHECKS: &[Check] = &[
    event::projects,
    event::events,
    setting::settings,
    task::tasks,
    task::dependencies,
    task::branches,
    batch::batches,
    batch::journal,
    run::runs,
    run::counters,
    annotation::annotations,
    log::records,
    prompt::verify,
    search::passages,
    search::index,
    replayed::compare,
];

impl Store {
    /// Checks everything and calls `found` with each finding, on the thread that reads.
    pub async fn verify<F>(&self, mut found: F) -> Result<Verified, StoreError>
    where
        F: FnMut(Finding) + Send + 'static,
    {
        self.read(move |tx| {
            let mut audit = Audit {
                verified: Verified::default(),
                found: &mut found,
                replayed: replayed::Replayed::default(),
            };
            if tx.dialect() == Dialect::Sqlite {
                check_file(tx, &mut audit)?;
            }
            if !schema::check(tx, &mut audit)? {
                return Ok(audit.verified);
            }
            for check in CHECKS {
                check(tx, &mut audit)?;
            }
            Ok(audit.verified)
        })
        .await
    }
}

/// Collects what the checks count and find.
pub(crate) struct Audit<'f> {
    verified: Verified,
    found: &'f mut dyn FnMut(Finding),
    replayed: replayed::Replayed,
}

impl Audit<'_> {
    /// Checks one row: counts it, and reports what `check` finds wrong with it.
    ///
    /// A value of the wrong type is one more thing that can be wrong with a row.
    pub(crate) fn row(
        &mut self,
        noun: &'static str,
        what: impl FnOnce() -> String,
        check: impl FnOnce() -> Result<Option<String>, StoreError>,
    ) {
        self.count(noun);
        match check() {
            Ok(None) => {}
            Ok(Some(detail)) => self.find(what(), detail),
            Err(StoreError::Damaged { why, .. }) => self.find(what(), why),
            Err(error) => self.find(what(), error.to_string()),
        }
    }

    /// Counts one thing that is checked.
    pub(crate) fn count(&mut self, noun: &'static str) {
        *self.verified.checked.entry(noun).or_default() += 1;
    }

    /// Reports a finding.
    pub(crate) fn find(&mut self, what: String, detail: impl Into<String>) {
        self.verified.findings += 1;
        (self.found)(Finding {
            what,
            detail: detail.into(),
        });
    }
}

/// Numbers that have to follow each other without a gap, within groups that come one after the other.
#[derive(Default)]
struct Sequence {
    group: Option<i64>,
    last: i64,
}

impl Sequence {
    /// Says what is wrong with the next number.
    fn next(&mut self, group: i64, seq: i64) -> Option<String> {
        if self.group != Some(group) {
            *self = Self {
                group: Some(group),
                last: 0,
            };
        }
        let expected = self.last + 1;
        self.last = seq;
        (seq != expected).then(|| format!("has the number {seq} where {expected} is next"))
    }
}

/// Says whether the mark of a row is not that of its values.
fn marked(
    row: &Row,
    at: usize,
    table: &str,
    values: &[Value<'_>],
) -> Result<Option<String>, StoreError> {
    let matches = row.bytes(at)? == mark::of(table, values);
    Ok((!matches).then(|| CHANGED.to_owned()))
}

/// Says what is wrong with a document.
fn not_json(what: &str) -> impl Fn(&str) -> Option<String> {
    move |text| {
        let error = serde_json::from_str::<Json>(text).err()?;
        Some(format!("has {what} that is not JSON: {error}"))
    }
}

/// The indexes that have each row of their table.
const INDEXES: &str = "select m.tbl_name, m.name from sqlite_schema m join pragma_index_list(m.tbl_name) i on i.name = m.name \
    where m.type = 'index' and i.partial = 0";

/// Checks the pages of the file and what refers to what.
///
/// A row that breaks a rule is a finding; after damage of the pages themselves nothing else can be trusted.
fn check_file(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let store = tx.store().to_owned();
    // Only a query of its own lets FTS5 see that another connection has changed the index.
    let _ = tx.query("select rowid from trigram limit 1", &[]);
    for row in tx.query("pragma integrity_check(20)", &[])? {
        let said = row.text(0)?.replace('\n', " ");
        if said == "ok" {
            continue;
        }
        if said.to_lowercase().contains("fts5") {
            audit.find("the search index".to_owned(), search::DAMAGED);
            continue;
        }
        if !is_about_rows(&said) {
            let why = format!("the database is damaged: {said}");
            return Err(StoreError::damaged(store, why));
        }
        audit.find("a row".to_owned(), said);
    }
    // The root of an index is not looked at by that where its table is empty.
    for row in tx.query(INDEXES, &[])? {
        let (table, index) = (row.text(0)?, row.text(1)?);
        tx.query(
            &format!("select 1 from \"{table}\" indexed by \"{index}\" limit 1"),
            &[],
        )?;
    }
    let loose = "select \"table\", parent from pragma_foreign_key_check limit 20";
    for row in tx.query(loose, &[])? {
        let (table, parent) = (row.text(0)?, row.text(1)?);
        let detail = format!("it refers to a row of `{parent}` that is not there");
        audit.find(format!("a row of `{table}`"), detail);
    }
    Ok(())
}

/// Tells whether SQLite speaks of the values of rows, and not of the pages that hold them.
fn is_about_rows(said: &str) -> bool {
    let begins = [
        "row ",
        "wrong # of entries in index",
        "non-unique entry in index",
        "CHECK constraint failed",
        "NULL value in",
    ];
    begins.iter().any(|begin| said.starts_with(begin)) || said.contains(" value in ")
}
