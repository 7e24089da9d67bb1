//! SQLite: one thread writes, a few read, and each commit is on the disk before anybody hears of it.

mod error;
mod leftovers;
mod open;
mod reserve;
mod state;
mod threads;
mod vacuum;
mod wal;
mod watch;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};

use self::error::store_error;
use super::{Dialect, Row, Tx, Value, migrate};
use crate::StoreError;

pub(crate) use open::File;
pub(crate) use threads::{Writer, read};
pub(crate) use watch::watch;

/// A transaction that somebody else has begun on a connection.
struct Session<'c> {
    connection: &'c Connection,
    store: &'c Arc<str>,
}

impl<'c> Session<'c> {
    /// Prepares a statement, or takes the one that was prepared before, and gives it its values.
    fn bound(&self, sql: &str, values: &[Value<'_>]) -> Result<CachedStatement<'c>, StoreError> {
        let failed = |error| store_error(self.store, &error);
        let mut statement = self
            .connection
            .prepare_cached(&numbered(sql))
            .map_err(failed)?;
        for (number, value) in (1..).zip(values) {
            if let Value::Text(text) = value {
                refuse_nul(text)?;
            }
            statement
                .raw_bind_parameter(number, value)
                .map_err(failed)?;
        }
        Ok(statement)
    }
}

/// Returns what a query finds in a new store.
pub(crate) fn fresh(sql: &str) -> Result<Vec<Row>, StoreError> {
    in_memory(|tx| {
        migrate::advance(tx, 0)?;
        tx.query(sql, &[])
    })
}

/// Works in a database of its own, without any table, which is gone afterwards.
pub(super) fn in_memory<T>(
    work: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let store: Arc<str> = "a new store".into();
    let connection = Connection::open_in_memory().map_err(|error| store_error(&store, &error))?;
    work(&mut Session {
        connection: &connection,
        store: &store,
    })
}

/// Refuses what PostgreSQL could not keep, so that both stores take the same texts.
pub(crate) fn refuse_nul(text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        let why = "a text with the character NUL cannot be stored";
        return Err(StoreError::refused(why));
    }
    Ok(())
}

/// Turns `$1` into `?1`: SQLite counts the first kind by where they stand, and means the number in the second.
fn numbered(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let is_number = after[1..].starts_with(|c: char| c.is_ascii_digit());
        text.push(if is_number { '?' } else { '$' });
        rest = &after[1..];
    }
    text + rest
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Reads one value. Text that is not UTF-8 comes out as bytes, which nobody takes for a text.
fn value(found: ValueRef<'_>) -> Value<'static> {
    match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec())
            .map_or_else(|error| error.into_bytes().into(), Value::from),
        ValueRef::Blob(bytes) => bytes.to_vec().into(),
    }
}

impl Tx for Session<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn store(&self) -> &str {
        self.store
    }

    fn now(&mut self) -> Result<i64, StoreError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |passed| passed.as_millis());
        Ok(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.bound(sql, values)?;
        let changed = statement
            .raw_execute()
            .map_err(|error| store_error(self.store, &error))?;
        Ok(changed as u64)
    }

    fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.bound(sql, values)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        while let Some(row) = rows
            .next()
            .map_err(|error| store_error(self.store, &error))?
        {
            let values = (0..columns)
                .map(|at| row.get_ref(at).map(value))
                .collect::<Result<_, _>>()
                .map_err(|error| store_error(self.store, &error))?;
            take(Row::new(self.store, values))?;
        }
        Ok(())
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection
            .execute_batch(sql)
            .map_err(|error| store_error(self.store, &error))
    }

    fn unhurried(&mut self) -> Result<(), StoreError> {
        // Nobody else has to answer.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn placeholders_keep_their_numbers() {
        assert_eq!(numbered("a = $2 and b = $1"), "a = ?2 and b = ?1");
        assert_eq!(numbered("json_extract(a, '$.b')"), "json_extract(a, '$.b')");
        assert_eq!(numbered("$"), "$");
    }
}
