//! PostgreSQL: a few connections share one queue, and each job is a transaction of its own.
//!
//! What a role, a database or a server sets by default has no say in what a connection does: where tables are found, how
//! transactions see each other, and when a commit counts is set here.

mod codec;
mod connection;
mod error;
mod schema;
mod threads;
mod tls;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Statement;

use self::connection::{Connection, ConnectionError};
use self::error::{TransactionError, store_error};
use super::{Dialect, Row, Tx, Value};
use crate::StoreError;
use crate::location::{Durability, Server};

pub(crate) use threads::{Pool, work};
pub(crate) use watch::watch;

/// The clock of the server, in milliseconds since 1970; it goes on within a transaction.
const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/// Has the server notice within seconds that this program is cut off: its transaction would keep others waiting for hours.
const NOTICE: &str = "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2; \
    set tcp_user_timeout = 15000";

/// Has the server run short queries as they are: compiling one takes longer than it does, and where we tell the planner to avoid
/// a sequential scan, it reckons with so high a cost that it would compile.
const NO_JIT: &str = "set jit = off";

/// What the server does with a commit, and which schemas a name was looked up in before we say it.
const LOOK: &str = "select pg_catalog.current_setting('fsync'), pg_catalog.current_setting('full_page_writes'), \
    pg_catalog.current_setting('synchronous_commit'), pg_catalog.array_to_json(pg_catalog.current_schemas(false))::text, \
    pg_catalog.current_setting('server_encoding')";

/// The transactions of others that hold what a writer may wait for, and do not wait themselves, with when they were last seen to
/// work: one that begins another statement gets on, and so does one whose statement takes long.
const HOLDERS: &str = "select distinct pg_catalog.concat(l.virtualtransaction, ' ', \
    case a.state when 'active' then pg_catalog.clock_timestamp() else a.query_start end) from pg_catalog.pg_locks l \
    left join pg_catalog.pg_stat_activity a on a.pid = l.pid \
    where l.granted and l.pid <> pg_catalog.pg_backend_pid() \
    and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()) \
    and l.mode in ('RowShareLock', 'RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') \
    and not exists (select 1 from pg_catalog.pg_locks w where w.pid = l.pid and not w.granted)";

/// How much longer a statement may take than others if it goes through whole tables.
const UNHURRIED: u32 = 10;

/// How many statements a connection keeps prepared.
const STATEMENTS: usize = 256;

/// A connection and what was prepared on it.
struct Session {
    connection: Connection,
    statements: HashMap<String, Statement>,
    store: Arc<str>,
    server: Server,
    /// What the server says of itself.
    found: Found,
}

/// What a server says of itself when a connection begins.
#[derive(Default)]
struct Found {
    /// The setting by which it would lose what it has acknowledged.
    weak: Option<&'static str>,
    /// How a commit waits on this connection.
    commit: &'static str,
    /// The schemas in which names were looked up.
    path: Vec<String>,
    /// How the database encodes texts.
    encoding: String,
}

impl Session {
    fn connect(server: &Server, store: &Arc<str>, busy: Duration) -> Result<Self, ConnectionError> {
        let connection = Connection::connect(server)?;
        let rows = connection.texts(LOOK)?;
        let found = Found::read(rows.first().map_or(&[], Vec::as_slice), server.durability());
        connection.batch(&format!(
            "set search_path = {}, pg_temp; set synchronous_commit = {}; set lock_timeout = {}; \
            set statement_timeout = {}; {NOTICE}; {NO_JIT}",
            server.schema(),
            found.commit,
            busy.as_millis().max(1),
            server.answer_limit().as_millis(),
        ))?;
        Ok(Self {
            connection,
            statements: HashMap::new(),
            store: Arc::clone(store),
            server: server.clone(),
            found,
        })
    }

    /// Refuses a database that cannot keep every text, or compares them in its own way.
    fn refuse_encoding(&self) -> Result<(), StoreError> {
        let encoding = &self.found.encoding;
        if encoding == "UTF8" {
            return Ok(());
        }
        let why = format!(
            "has the encoding `{encoding}`, and a store needs UTF-8; \
            `createdb -E UTF8 -T template0 NAME` makes a database for it"
        );
        Err(StoreError::unavailable(&self.store, why))
    }

    /// Refuses a server that would lose what it has acknowledged, for those who write.
    fn refuse_weak(&self, writes: bool) -> Result<(), StoreError> {
        match self.found.weak {
            Some(weak) if writes && self.server.durability() == Durability::Full => {
                let why = format!(
                    "can lose what it has acknowledged: the server has `{weak}`; \
                    `durability=server` in the URL takes it as it is"
                );
                Err(StoreError::unavailable(&self.store, why))
            }
            _ => Ok(()),
        }
    }

    /// Runs work in a transaction and commits it if the work went well.
    fn transact(
        &mut self,
        writes: bool,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), TransactionError> {
        // Writers lock what they read and have to see what others have committed. A read sees one state of the store,
        // however many queries it makes.
        let begin = if writes {
            "begin isolation level read committed read write"
        } else {
            "begin isolation level repeatable read read only"
        };
        let begun = self.connection.batch(begin);
        begun.map_err(|failure| TransactionError::at_begin(&self.store, &failure))?;
        let limit = self.connection.limit();
        let mut step = Step {
            connection: &self.connection,
            statements: &mut self.statements,
            store: &self.store,
            failed: None,
        };
        let verdict = work(&mut step);
        let failed = step.failed;
        self.connection.set_limit(limit);
        match (verdict, failed) {
            (Ok(()), _) => {
                // Whatever a trigger has set meanwhile: a commit waits for the disk.
                let commit = format!(
                    "set local synchronous_commit = {}; commit",
                    self.found.commit
                );
                self.connection.batch(&commit).map_err(|failure| {
                    let error = TransactionError::new(&self.store, &failure);
                    self.roll_back();
                    error
                })
            }
            (Err(error), failed) => {
                self.roll_back();
                Err(failed.unwrap_or_else(|| TransactionError::of_work(error)))
            }
        }
    }

    fn roll_back(&self) {
        // If this fails the connection is lost, which ends the transaction as well.
        let _ = self.connection.batch("rollback");
    }

    /// Returns the transactions of others that somebody may wait for.
    fn holders(&self) -> Option<Vec<String>> {
        let rows = self.connection.texts(HOLDERS).ok()?;
        Some(rows.into_iter().flatten().collect())
    }

    /// Makes room that removed rows took usable again.
    fn vacuum(&self, tables: &[&str]) -> Result<(), StoreError> {
        let limit = self.connection.limit();
        let unhurried = limit.saturating_mul(UNHURRIED);
        self.connection.set_limit(unhurried);
        let failed = |failure| store_error(&self.store, &failure);
        let set = |limit: Duration| format!("set statement_timeout = {}", limit.as_millis());
        self.connection.batch(&set(unhurried)).map_err(failed)?;
        let vacuumed = self
            .connection
            .batch(&format!("vacuum {}", tables.join(", ")));
        self.connection.batch(&set(limit)).map_err(failed)?;
        self.connection.set_limit(limit);
        vacuumed.map_err(failed)
    }
}

impl Found {
    fn read(row: &[String], durability: Durability) -> Self {
        let [fsync, full_page_writes, commit, path, encoding] = row else {
            return Self::default();
        };
        let weak = match (fsync.as_str(), full_page_writes.as_str()) {
            ("off", _) => Some("fsync = off"),
            (_, "off") => Some("full_page_writes = off"),
            _ => None,
        };
        let commit = match commit.as_str() {
            "off" if durability == Durability::Server => "off",
            "local" => "local",
            "remote_write" => "remote_write",
            "remote_apply" => "remote_apply",
            _ => "on",
        };
        Self {
            weak,
            commit,
            path: serde_json::from_str(path).unwrap_or_default(),
            encoding: encoding.clone(),
        }
    }
}

/// A transaction on a connection.
struct Step<'s> {
    connection: &'s Connection,
    statements: &'s mut HashMap<String, Statement>,
    store: &'s Arc<str>,
    /// What the server said of the first statement that failed.
    failed: Option<TransactionError>,
}

impl Step<'_> {
    fn prepared(&mut self, sql: &str) -> Result<Statement, ConnectionError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        let statement = self.connection.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Keeps what the server said, because whoever runs the job may want to try again.
    fn store_error(&mut self, failure: &ConnectionError) -> StoreError {
        let failed = TransactionError::new(self.store, failure);
        let error = StoreError::from(failed.clone());
        self.failed.get_or_insert(failed);
        error
    }
}

/// Refuses what the server could not keep before it breaks the transaction.
fn check(values: &[Value<'_>]) -> Result<(), StoreError> {
    values.iter().try_for_each(|value| match value {
        Value::Text(text) => super::sqlite::refuse_nul(text),
        _ => Ok(()),
    })
}

impl Tx for Step<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn store(&self) -> &str {
        self.store
    }

    fn now(&mut self) -> Result<i64, StoreError> {
        match self.first(NOW, &[])? {
            Some(row) => row.int(0),
            None => Err(StoreError::unavailable(
                self.store,
                "does not tell the time",
            )),
        }
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        check(values)?;
        let changed = self
            .prepared(sql)
            .and_then(|statement| self.connection.query(&statement, values, |_| Ok(true)));
        changed.map_err(|failure| self.store_error(&failure))
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        check(values)?;
        let store = Arc::clone(self.store);
        let mut refused = None;
        let walked = self.prepared(sql).and_then(|statement| {
            self.connection.query(&statement, values, |row| {
                let values = (0..row.len())
                    .map(|at| row.try_get::<_, Value<'static>>(at))
                    .collect::<Result<_, _>>()?;
                refused = take(Row::new(&store, values)).err();
                Ok(refused.is_none())
            })
        });
        walked.map_err(|failure| self.store_error(&failure))?;
        refused.map_or(Ok(()), Err)
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        let done = self.connection.batch(sql);
        done.map_err(|failure| self.store_error(&failure))
    }

    fn unhurried(&mut self) -> Result<(), StoreError> {
        let limit = self.connection.limit().saturating_mul(UNHURRIED);
        self.connection.set_limit(limit);
        self.batch(&format!(
            "set local statement_timeout = {}",
            limit.as_millis()
        ))
    }
}
