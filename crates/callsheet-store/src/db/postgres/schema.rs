//! Where the tables are, and how they are brought to the schema of this program.
//!
//! They have a schema of the database to themselves, so that nothing that others keep in it has the name of one of them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Session, UNHURRIED};
use crate::StoreError;
use crate::db::{Dialect, Tx, migrate};

/// Serialises the migrations of all programs that open the database at the same time.
const MIGRATION_LOCK: i64 = 0x4353_4854;

/// How often to ask for that lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The table that tells the number of the schema.
const NUMBER: &str = "callsheet_schema";

/// Looks for tables by reading a table itself: `to_regclass` may answer from what the connection remembers from before it
/// waited for the lock.
const TABLE: &str = "select c.relkind::text from pg_catalog.pg_class c \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = $2";

const ANY_TABLE: &str = "select c.relname::text from pg_catalog.pg_class c \
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
    where n.nspname = $1 and c.relkind in ('r', 'p', 'f', 'v', 'm') order by 1 limit 1";

const SCHEMA: &str = "select 1 from pg_catalog.pg_namespace where nspname = $1";

/// The tables of a store: in which schema, and which steps it has seen.
struct Tables {
    schema: String,
    number: i64,
}

impl Session {
    /// Checks the schema and, where `make` says so or it is old, brings it to that of this program.
    pub(super) fn migrate(&mut self, make: bool) -> Result<(), StoreError> {
        let (ours, path) = (self.server.schema().to_owned(), self.found.path.clone());
        let mut found = None;
        self.transact(false, &mut |tx| {
            found = find(tx, &ours, &path)?;
            Ok(())
        })?;
        match &found {
            Some(tables) if tables.number == migrate::KNOWN && tables.schema == ours => {
                return Ok(());
            }
            None if !make => return Err(StoreError::unknown("store", &*self.store)),
            _ => {}
        }
        let patience = self.server.answer_limit().saturating_mul(UNHURRIED);
        self.transact(true, &mut |tx| {
            tx.unhurried()?;
            lock(tx, patience)?;
            // Another process may have been faster.
            let found = find(tx, &ours, &path)?;
            make_schema(tx, &ours)?;
            if let Some(tables) = &found {
                take_over(tx, tables, &ours)?;
            }
            migrate::advance(tx, found.map_or(0, |tables| tables.number))?;
            tx.batch("create table if not exists callsheet_schema (version bigint not null)")?;
            tx.execute("delete from callsheet_schema", &[])?;
            let note = "insert into callsheet_schema values ($1)";
            tx.execute(note, &[migrate::KNOWN.into()]).map(|_| ())
        })
        .map_err(StoreError::from)
    }
}

/// Finds the tables of the store: in the schema that is theirs or, where an older program has made them, in one of those
/// in which names were looked up.
fn find(tx: &mut dyn Tx, ours: &str, path: &[String]) -> Result<Option<Tables>, StoreError> {
    let others = path.iter().map(String::as_str).filter(|name| *name != ours);
    for schema in std::iter::once(ours).chain(others) {
        if tx.first(TABLE, &[schema.into(), NUMBER.into()])?.is_some() {
            let sql = format!("select version from {}.{NUMBER}", quoted(schema));
            let Some(row) = tx.first(&sql, &[])? else {
                let why = format!("the table `{NUMBER}` is empty");
                return Err(StoreError::damaged(tx.store(), why));
            };
            let number = row.int(0)?;
            migrate::refuse_newer(tx.store(), number)?;
            return Ok(Some(Tables {
                schema: schema.to_owned(),
                number,
            }));
        }
        if schema == ours
            && let Some(row) = tx.first(ANY_TABLE, &[ours.into()])?
        {
            let why = format!(
                "the schema `{ours}` has the table `{}` but not `{NUMBER}`, by which a store is known",
                row.text(0)?
            );
            return Err(StoreError::damaged(tx.store(), why));
        }
    }
    Ok(None)
}

/// Waits until no other program migrates; each answer comes at once, however long that takes.
fn lock(tx: &mut dyn Tx, patience: Duration) -> Result<(), StoreError> {
    let since = Instant::now();
    let sql = "select pg_catalog.pg_try_advisory_xact_lock($1)";
    loop {
        let row = tx.first(sql, &[MIGRATION_LOCK.into()])?;
        if row.is_some_and(|row| row.int(0) == Ok(1)) {
            return Ok(());
        }
        if since.elapsed() > patience {
            let why = "is locked by another process, which brings it to its schema";
            return Err(StoreError::unavailable(tx.store(), why));
        }
        sleep(PAUSE);
    }
}

fn make_schema(tx: &mut dyn Tx, ours: &str) -> Result<(), StoreError> {
    // `if not exists` would ask for the right to make one even if it is there.
    if tx.first(SCHEMA, &[ours.into()])?.is_none() {
        tx.batch(&format!("create schema {}", quoted(ours)))?;
    }
    Ok(())
}

/// Moves the tables that an older program has made among those of others; those of others stay.
fn take_over(tx: &mut dyn Tx, tables: &Tables, ours: &str) -> Result<(), StoreError> {
    if tables.schema == ours {
        return Ok(());
    }
    let names = migrate::tables(Dialect::Postgres, tables.number);
    for name in names.into_iter().chain([NUMBER]) {
        let row = tx.first(TABLE, &[tables.schema.as_str().into(), name.into()])?;
        if !row.is_some_and(|row| row.text(0) == Ok("r")) {
            let why = format!(
                "the schema `{}` has the table `{NUMBER}` but not `{name}`",
                tables.schema
            );
            return Err(StoreError::damaged(tx.store(), why));
        }
        let from = quoted(&tables.schema);
        tx.batch(&format!(
            "alter table {from}.{name} set schema {}",
            quoted(ours)
        ))?;
    }
    Ok(())
}

/// Returns a name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
