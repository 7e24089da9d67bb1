//! Where the tables are, and how they are brought to the schema of this program.
//!
//! They have a schema of the database to themselves, so that nothing that others keep in it has the name of one of them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::seconds;
use super::{Session, UNHURRIED};
use crate::StoreError;
use crate::db::{Row, Tx, migrate};

/// Serialises the migrations of all programs that open the database at the same time.
const MIGRATION_LOCK: i64 = 0x4353_4854;

/// How often to ask for that lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The table that tells the number of the schema.
const NUMBER: &str = "callsheet_schema";

/// Looks for a table by reading a table itself: `to_regclass` may answer from what the connection remembers from before it
/// waited for the lock.
const TABLE: &str = "select 1 from pg_catalog.pg_class c \
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
        self.transact(false, &mut |tx| {
            found = number(tx, &ours)?;
            if found.is_none() {
                refuse_elsewhere(tx, &ours, &path)?;
            }
            Ok(())
        })?;
        if found == Some(migrate::KNOWN) {
            return Ok(());
        }
        if found.is_none() && !make {
            return Err(StoreError::unknown("store", &*self.store));
        }
        let patience = self.server.answer_limit().saturating_mul(UNHURRIED);
        self.transact(true, &mut |tx| {
            tx.unhurried()?;
            lock(tx, patience)?;
            // Another process may have been faster.
            let found = number(tx, &ours)?;
            make_schema(tx, &ours)?;
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
    let Some(row) = noted(tx, schema)? else {
        let why = format!("the table `{NUMBER}` is empty");
        return Err(StoreError::damaged(tx.store(), why));
    };
    let number = row.int(0)?;
    migrate::refuse_unknown(tx.store(), number)?;
    Ok(Some(number))
}

/// Returns the row with the number of a schema.
fn noted(tx: &mut dyn Tx, schema: &str) -> Result<Option<Row>, StoreError> {
    let sql = format!("select version from {}.{NUMBER}", quoted(schema));
    tx.first(&sql, &[])
}

/// Refuses tables of a build before the first release in the schemas in which it looked names up: a new store beside them
/// would look as if everything were gone. Other stores may stand there.
fn refuse_elsewhere(tx: &mut dyn Tx, ours: &str, path: &[String]) -> Result<(), StoreError> {
    for schema in path.iter().filter(|name| *name != ours) {
        if tx.first(TABLE, &[schema.into(), NUMBER.into()])?.is_none() {
            continue;
        }
        if let Some(row) = noted(tx, schema)? {
            let store = format!("{}?schema={schema}", tx.store());
            migrate::refuse_older(&store, row.int(0)?)?;
        }
    }
    Ok(())
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

/// Returns a name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
