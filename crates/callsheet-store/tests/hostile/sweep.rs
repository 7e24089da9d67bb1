//! The sweep itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callsheet_store::{Store, Wait};

use crate::database::{Database, Table};
use crate::fill::fill;
use crate::test_store::{TestStore, findings};

/// What `verify` does not find, and what it does not have to: whole tables, columns, or one kind of change.
///
/// `docs/guarantees.md` says why each is harmless.
const HARMLESS: &[&str] = &[
    "delta_base",
    "log.key",
    "prompt_body.first",
    "prompt_body.last",
    "prompt_source.first",
    "prompt_source.last",
    "run.lease_until",
    "search_index",
    "series.last",
    "sqlite_sequence.seq",
    "trigram_config",
    "trigram_data",
    "trigram_docsize",
    "trigram_idx",
];

/// How many rows of a table are tried where time is short.
const SOME: usize = 3;

/// Sweeps a store and returns what `verify` does not find, and how many changes were tried of each table.
struct Sweep {
    store: Store,
    database: Database,
    /// Whether all rows are tried.
    long: bool,
    unnoticed: BTreeSet<String>,
    tried: BTreeSet<String>,
}

impl Sweep {
    fn new(place: &TestStore) -> Self {
        let store = place.open();
        fill(&store);
        assert_eq!(findings(&store), []);
        Self {
            store,
            database: Database::open(place),
            long: std::env::var_os("CALLSHEET_TEST_LONG").is_some(),
            unnoticed: BTreeSet::new(),
            tried: BTreeSet::new(),
        }
    }

    /// Tells whether a change is tried only where there is time: what is found in a file is found by the same code on a server.
    fn is_left_out(&self, what: &str) -> bool {
        let rest = what.bytes().map(usize::from).sum::<usize>() % 3;
        matches!(self.database, Database::Postgres(_)) && rest > 0 && !what.ends_with("delete")
    }

    fn is_noticed(&self) -> bool {
        let found = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&found);
        let verified = self
            .store
            .verify(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .wait();
        verified.is_err() || found.load(Ordering::Relaxed) > 0
    }

    /// Puts rows in the place of others, looks whether that is noticed, and takes it back.
    fn attempt(
        &mut self,
        table: &Table,
        what: String,
        (old, new): (&[&Vec<String>], &[Vec<String>]),
    ) {
        if !self.long && (self.tried.contains(&what) || self.is_left_out(&what)) {
            return;
        }
        // A row that is there already, or a rule of the database, is in the way of some.
        if !self.database.replace(table, old, new) {
            return;
        }
        if self.database.is_as_it_was(table) {
            return;
        }
        self.tried.insert(what.clone());
        if !self.is_noticed() {
            self.unnoticed.insert(what);
        }
        self.database.restore(table);
    }

    fn table(&mut self, table: &Table) {
        let most = if self.long { table.rows.len() } else { SOME };
        let step = table.rows.len().div_ceil(most.max(1)).max(1);
        let rows: Vec<&Vec<String>> = table.rows.iter().step_by(step).collect();
        let name = &table.name;
        for (at, row) in rows.iter().enumerate() {
            self.attempt(table, format!("{name}: delete"), (&[row], &[]));
            let mut all_other = (*row).clone();
            for (column, (title, kind)) in table.columns.iter().enumerate() {
                let others = self.database.others(*kind, &row[column]);
                all_other[column].clone_from(&others[0]);
                for other in others {
                    let mut changed = (*row).clone();
                    changed[column] = other;
                    let what = format!("{name}.{title}: change{}", state(table, row));
                    self.attempt(table, what, (&[row], std::slice::from_ref(&changed)));
                    self.attempt(table, format!("{name}.{title}: add"), (&[], &[changed]));
                }
                let next = rows[(at + 1) % rows.len()];
                if next[column] != row[column] {
                    let (mut one, mut two) = ((*row).clone(), next.clone());
                    std::mem::swap(&mut one[column], &mut two[column]);
                    let what = format!("{name}.{title}: swap");
                    self.attempt(table, what, (&[row, next], &[one, two]));
                }
            }
            self.attempt(table, format!("{name}: add"), (&[], &[all_other]));
        }
    }
}

/// Says in which state a row is, where it has one.
fn state(table: &Table, row: &[String]) -> String {
    let at = table.columns.iter().position(|(name, _)| name == "state");
    at.map_or_else(String::new, |at| {
        format!(" ({})", row[at].trim_matches('\''))
    })
}

/// Sweeps a store and returns what `verify` does not find.
fn sweep(place: &TestStore) -> Vec<String> {
    let mut sweep = Sweep::new(place);
    let tables = sweep.database.tables();
    for table in &tables {
        let name = &table.name;
        assert!(!table.rows.is_empty(), "`{name}` has no row to sweep");
        sweep.table(table);
        assert!(
            sweep.tried.contains(&format!("{name}: delete")),
            "`{name}` was not swept"
        );
        assert_eq!(findings(&sweep.store), [], "`{name}` is not as it was");
    }
    sweep.unnoticed.into_iter().collect()
}

/// Fails unless everything that is not found is on the list; where all was tried, the list has nothing else.
fn check(place: &TestStore) {
    let unnoticed = sweep(place);
    let covers = |entry: &str, what: &str| {
        let rest = what.strip_prefix(entry);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '.']))
    };
    let surprises: Vec<&String> = unnoticed
        .iter()
        .filter(|what| !HARMLESS.iter().any(|entry| covers(entry, what)))
        .collect();
    assert!(surprises.is_empty(), "not found: {surprises:#?}");
    if std::env::var_os("CALLSHEET_TEST_LONG").is_some() && place.is_sqlite() {
        let table = |entry: &str| entry.split(['.', ':']).next().map(str::to_owned);
        let seen = |entry: &&&str| unnoticed.iter().any(|what| table(what) == table(entry));
        let unneeded: Vec<_> = HARMLESS.iter().filter(|entry| !seen(entry)).collect();
        assert!(
            unneeded.is_empty(),
            "found, and listed all the same: {unneeded:?}"
        );
    }
}

#[test]
fn what_is_done_to_a_file_is_found() {
    check(&TestStore::sqlite());
}

#[test]
fn what_is_done_to_a_server_is_found() {
    if let Some(place) = TestStore::postgres() {
        check(&place);
    }
}
