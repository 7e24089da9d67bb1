//! Two databases behind one small trait: statements with `$1` go in, rows of plain values come out.
//!
//! Every noun is written once, as synchronous code over [`Tx`]. What differs between the databases stays here, but for
//! the few statements that ask for the [`Dialect`].

mod job;
mod migrate;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod shutdown;
pub(crate) mod sqlite;
mod value;

use std::fmt::Write as _;

pub(crate) use job::{Closure, Job, Queue};
pub(crate) use migrate::KNOWN;
pub(crate) use shutdown::Shutdown;
pub(crate) use sqlite::fresh;
pub(crate) use value::{Row, Value};

use crate::StoreError;

/// Which SQL a database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// What one transaction can do. It is committed by whoever began it, and only if its work went well.
///
/// After an error the work has to give up: the transaction is good for nothing more.
pub(crate) trait Tx {
    /// Returns which SQL is spoken.
    fn dialect(&self) -> Dialect;

    /// Returns the name of the store for errors.
    fn store(&self) -> &str;

    /// Returns the time in milliseconds since 1970, by the one clock that all users of the store share.
    fn now(&mut self) -> Result<i64, StoreError>;

    /// Runs a statement and returns how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Runs a query and hands out one row after the other, without keeping them.
    fn each(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Runs several statements without values.
    fn batch(&mut self, sql: &str) -> Result<(), StoreError>;

    /// Lets the statements of this transaction take longer than others, because they go through whole tables.
    fn unhurried(&mut self) -> Result<(), StoreError>;

    /// Runs a query and returns all rows.
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        self.each(sql, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs a query and returns its first row.
    fn first(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// Returns `($1, $2), ($3, $4)` and so on: `rows` groups of `columns` placeholders.
pub(crate) fn groups(rows: usize, columns: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        for column in 0..columns {
            let before = match (row, column) {
                (0, 0) => "(",
                (_, 0) => "), (",
                _ => ", ",
            };
            text.push_str(before);
            // Writing to a text cannot fail.
            let _ = write!(text, "${}", row * columns + column + 1);
        }
    }
    text.push(')');
    text
}

/// How many values a list has at most.
const AT_ONCE: usize = 1024;

/// Runs a query about a list of values, as often as it takes; `sql` gets the placeholders for `in`.
pub(crate) fn query_in<'v>(
    tx: &mut dyn Tx,
    others: &[Value<'v>],
    list: impl IntoIterator<Item = Value<'v>>,
    sql: impl Fn(&str) -> String,
) -> Result<Vec<Row>, StoreError> {
    let list: Vec<Value<'v>> = list.into_iter().collect();
    let mut rows = Vec::new();
    for some in list.chunks(AT_ONCE) {
        let mut values = others.to_vec();
        let places = put_list(&mut values, some);
        rows.extend(tx.query(&sql(&places), &values)?);
    }
    Ok(rows)
}

/// Adds a list of values and returns their placeholders.
///
/// The last value is repeated where that makes a list as long as others, so that few statements have to be prepared.
fn put_list<'v>(values: &mut Vec<Value<'v>>, list: &[Value<'v>]) -> String {
    let from = values.len();
    values.extend_from_slice(list);
    if let Some(last) = list.last() {
        values.resize(from + list.len().next_power_of_two(), last.clone());
    }
    let places = (from..values.len()).map(|at| format!("${}", at + 1));
    format!("({})", places.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::{Value, groups, put_list};

    #[test]
    fn lists_have_few_lengths() {
        let mut values = vec![Value::Int(7)];
        let list = put_list(&mut values, &[1, 2, 3].map(Value::Int));
        assert_eq!(list, "($2, $3, $4, $5)");
        assert_eq!(values, [7, 1, 2, 3, 3].map(Value::Int));
        assert_eq!(put_list(&mut Vec::new(), &[]), "()");
    }

    #[test]
    fn placeholders_are_numbered_through() {
        assert_eq!(groups(1, 1), "($1)");
        assert_eq!(groups(2, 3), "($1, $2, $3), ($4, $5, $6)");
    }
}
