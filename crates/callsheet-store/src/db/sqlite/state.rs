//! What a file says of itself, and how a connection to it is set up.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

use crate::StoreError;
use crate::db::migrate;

/// Marks a file as ours: `CSHT`.
pub(super) const APPLICATION: i64 = 0x4353_4854;

/// The largest value that is read or written, so that a forged file cannot ask for all memory.
const LARGEST: i32 = 256 << 20;

/// How many statements a connection keeps prepared.
const STATEMENTS: usize = 64;

/// What a file says of itself.
pub(super) struct State {
    application: i64,
    /// The number of its schema; 0 where it has none.
    pub(super) schema: i64,
    tables: i64,
}

impl State {
    /// Refuses what another program, or a newer or older one, has written.
    pub(super) fn refuse(&self, store: &str) -> Result<(), StoreError> {
        let is_new = self.application == 0 && self.schema == 0 && self.tables == 0;
        if self.application != APPLICATION && !is_new {
            let why = "this file is not a database of Callsheet";
            return Err(StoreError::damaged(store, why));
        }
        migrate::refuse_unknown(store, self.schema)
    }
}

/// Reads what a file says of itself; the first look at it, which fails if it is not a database.
pub(super) fn state(connection: &Connection) -> rusqlite::Result<State> {
    // One look: another process may bring the file to its schema at this moment.
    let sql = "select a.application_id, v.user_version, (select count(*) from sqlite_schema) \
        from pragma_application_id a, pragma_user_version v";
    connection.query_row(sql, [], |row| {
        Ok(State {
            application: row.get(0)?,
            schema: row.get(1)?,
            tables: row.get(2)?,
        })
    })
}

/// Sets what every connection needs: the contents of a file are not trusted.
pub(super) fn configure(connection: &Connection, busy: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LARGEST)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    connection.execute_batch("pragma cell_size_check = on")
}
