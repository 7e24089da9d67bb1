//! Where the tables are, and how they are brought to the schema of this program.
//!
//! They have a schema of the database to themselves, so that nothing that others keep in it has the name of one of them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::fault::seconds;
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

impl Session {
    /// Checks the schema and, where `make` says so or it is old, brings it to that of this program.
    pub(super) fn migrate(&mut self, make: bool) -> Result<(), StoreError> {
        let (ours, path) = (self.server.schema().to_owned(), self.found.path.clone());
        let mut found = None;
        let mut is_elsewhere = false;
        self.transact(false, &mut |tx| {
            found = number(tx, &ours)?;
            is_elsewhere = found.is_none() && elsewhere(tx, &ours, &path)?.is_some();
            Ok(())
        })?;
        if found == Some(migrate::KNOWN) {
            return Ok(());
        }
        if found.is_none() && !is_elsewhere && !make {
            return Err(StoreError::unknown("store", &*self.store));
        }
        let patience = self.server.answer_limit().saturating_mul(UNHURRIED);
        self.transact(true, &mut |tx| {
            tx.unhurried()?;
            lock(tx, patience)?;
            // Another process may have been faster.
            let mut found = number(tx, &ours)?;
            make_schema(tx, &ours)?;
            if found.is_none()
                && let Some(schema) = elsewhere(tx, &ours, &path)?
            {
                found = take_over(tx, &schema, &ours)?;
            }
            migrate::advance(tx, found.unwrap_or(0))?;
            tx.batch("create table if not exists callsheet_schema (version bigint not null)")?;
            tx.execute("delete from callsheet_schema", &[])?;
            let note = "insert into callsheet_schema values ($1)";
            tx.execute(note, &[migrate::KNOWN.into()]).map(|_| ())
        })
        .map_err(StoreError::from)
    }
}

/// Returns the number of the schema; none where there is no store.
fn number(tx: &mut dyn Tx, schema: &str) -> Result<Option<i64>, StoreError> {
    if tx.first(TABLE, &[schema.into(), NUMBER.into()])?.is_none() {
        return match tx.first(ANY_TABLE, &[schema.into()])? {
            None => Ok(None),
            Some(row) => Err(row.damaged(format!(
                "the schema `{schema}` has the table `{}` but not `{NUMBER}`, by which a store is known",
                row.text(0)?
            ))),
        };
    }
    let sql = format!("select version from {}.{NUMBER}", quoted(schema));
    let Some(row) = tx.first(&sql, &[])? else {
        let why = format!("the table `{NUMBER}` is empty");
        return Err(StoreError::damaged(tx.store(), why));
    };
    let number = row.int(0)?;
    migrate::refuse_newer(tx.store(), number)?;
    Ok(Some(number))
}

/// Returns the schema in which an older program has made the tables, among those in which names were looked up.
fn elsewhere(tx: &mut dyn Tx, ours: &str, path: &[String]) -> Result<Option<String>, StoreError> {
    for schema in path.iter().filter(|name| *name != ours) {
        if tx.first(TABLE, &[schema.into(), NUMBER.into()])?.is_some() {
            return Ok(Some(schema.clone()));
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
            let why = format!(
                "is locked: another program brings it to its schema, and was not done within {}; \
                try again when it is",
                seconds(patience)
            );
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

/// Moves the tables that an older program has made among those of others, which stay; returns the number of their schema.
fn take_over(tx: &mut dyn Tx, schema: &str, ours: &str) -> Result<Option<i64>, StoreError> {
    let found = number(tx, schema)?;
    let names = migrate::tables(Dialect::Postgres, found.unwrap_or(0));
    for name in names.into_iter().chain([NUMBER]) {
        let row = tx.first(TABLE, &[schema.into(), name.into()])?;
        if !row.is_some_and(|row| row.text(0) == Ok("r")) {
            let why = format!("the schema `{schema}` has the table `{NUMBER}` but not `{name}`");
            return Err(StoreError::damaged(tx.store(), why));
        }
        let from = quoted(schema);
        tx.batch(&format!(
            "alter table {from}.{name} set schema {}",
            quoted(ours)
        ))?;
    }
    Ok(found)
}

/// Returns a name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
