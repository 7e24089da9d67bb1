//! PostgreSQL: a few connections share one queue, and each job is a transaction of its own.

mod codec;
mod fault;
mod threads;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, IsolationLevel, NoTls, Statement, Transaction};

use self::fault::{Fault, told};
use super::{Dialect, Row, Tx, Value, migrate};
use crate::StoreError;
use crate::location::Server;

pub(crate) use threads::{Link, work};
pub(crate) use watch::watch;

/// The clock of the server, in milliseconds since 1970; it goes on within a transaction.
const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/// Has the server notice within seconds that this program is cut off: its transaction would keep others waiting for hours.
const NOTICE: &str = "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2; \
    set tcp_user_timeout = 15000";

/// How many statements a connection keeps prepared.
const STATEMENTS: usize = 256;

/// Serialises the migrations of all programs that open the database at the same time.
const MIGRATION_LOCK: i64 = 0x4353_4854;

/// Looks for the table of the schema by reading a table itself: `to_regclass` may answer from what the connection
/// remembers from before it waited for the lock.
const HAS_SCHEMA: &str = "select c.relkind::text from pg_catalog.pg_class c \
    where c.relname = 'callsheet_schema' and pg_catalog.pg_table_is_visible(c.oid)";

/// A connection and what was prepared on it.
struct Session {
    client: Client,
    statements: HashMap<String, Statement>,
    store: Arc<str>,
}

impl Session {
    fn connect(server: &Server, store: &Arc<str>, busy: Duration) -> Result<Self, StoreError> {
        let failed = |error| told(store, &error);
        let mut client = server.config().connect(NoTls).map_err(failed)?;
        let wait = format!("set lock_timeout = {}; {NOTICE}", busy.as_millis().max(1));
        client.batch_execute(&wait).map_err(failed)?;
        Ok(Self {
            client,
            statements: HashMap::new(),
            store: Arc::clone(store),
        })
    }

    /// Runs work in a transaction and commits it if the work went well.
    fn transact(
        &mut self,
        writes: bool,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), Fault> {
        // A read sees one state of the store, however many queries it makes.
        let begun = if writes {
            self.client.transaction()
        } else {
            self.client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
        };
        let mut step = Step {
            transaction: begun.map_err(|error| Fault::at_begin(&self.store, &error))?,
            statements: &mut self.statements,
            store: &self.store,
            fault: None,
        };
        let verdict = work(&mut step);
        let Step {
            transaction, fault, ..
        } = step;
        match (verdict, fault) {
            (Err(_), Some(fault)) => Err(fault),
            (Err(error), None) => Err(Fault::of_work(error)),
            (Ok(()), _) => transaction
                .commit()
                .map_err(|error| Fault::new(&self.store, &error)),
        }
    }

    /// Returns the number of the schema; none where there is no store.
    fn schema(tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
        let Some(row) = tx.first(HAS_SCHEMA, &[])? else {
            return Ok(None);
        };
        match tx.first("select version from callsheet_schema", &[])? {
            Some(row) => row.int(0).map(Some),
            None => Err(row.damaged("the table `callsheet_schema` is empty")),
        }
    }

    /// Checks the schema and, where `make` says so or it is old, brings it to that of this program.
    fn migrate(&mut self, make: bool) -> Result<(), StoreError> {
        let mut found = None;
        self.transact(false, &mut |tx| {
            found = Self::schema(tx)?;
            migrate::refuse_newer(tx.store(), found.unwrap_or(0))
        })?;
        if found == Some(migrate::KNOWN) {
            return Ok(());
        }
        if found.is_none() && !make {
            return Err(StoreError::unknown("store", &*self.store));
        }
        self.transact(true, &mut |tx| {
            // However long another program takes for it, it is done afterwards.
            tx.batch("set local lock_timeout = 0")?;
            let lock = "select pg_advisory_xact_lock($1)";
            tx.query(lock, &[MIGRATION_LOCK.into()])?;
            // Another process may have been faster.
            let found = Self::schema(tx)?.unwrap_or(0);
            migrate::refuse_newer(tx.store(), found)?;
            migrate::advance(tx, found)?;
            tx.batch("create table if not exists callsheet_schema (version bigint not null)")?;
            tx.execute("delete from callsheet_schema", &[])?;
            let note = "insert into callsheet_schema values ($1)";
            tx.execute(note, &[migrate::KNOWN.into()]).map(|_| ())
        })
        .map_err(StoreError::from)
    }
}

/// A transaction on a connection.
struct Step<'s> {
    transaction: Transaction<'s>,
    statements: &'s mut HashMap<String, Statement>,
    store: &'s Arc<str>,
    /// What the server said of the first statement that failed.
    fault: Option<Fault>,
}

impl Step<'_> {
    fn prepared(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        let statement = self.transaction.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Keeps what the server said, because whoever runs the job may want to try again.
    fn told(&mut self, error: &postgres::Error) -> StoreError {
        let fault = Fault::new(self.store, error);
        let told = StoreError::from(fault.clone());
        self.fault.get_or_insert(fault);
        told
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
        let changed = self.prepared(sql).and_then(|statement| {
            let rows = self.transaction.query_raw(&statement, values)?;
            let mut rows = rows;
            while rows.next()?.is_some() {}
            Ok(rows.rows_affected().unwrap_or(0))
        });
        changed.map_err(|error| self.told(&error))
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        check(values)?;
        let statement = self.prepared(sql).map_err(|error| self.told(&error))?;
        let store = Arc::clone(self.store);
        let mut refused = None;
        let walked = self
            .transaction
            .query_raw(&statement, values)
            .and_then(|mut rows| {
                while let Some(row) = rows.next()? {
                    let values = (0..row.len())
                        .map(|at| row.try_get::<_, Value<'static>>(at))
                        .collect::<Result<_, _>>()?;
                    if let Err(error) = take(Row::new(&store, values)) {
                        refused = Some(error);
                        break;
                    }
                }
                Ok(())
            });
        walked.map_err(|error| self.told(&error))?;
        refused.map_or(Ok(()), Err)
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        let done = self.transaction.batch_execute(sql);
        done.map_err(|error| self.told(&error))
    }
}
