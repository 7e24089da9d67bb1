//! The database behind the back of the store: its tables from the catalogue, their rows as SQL literals, and a copy of
//! everything to go back to.

use std::collections::BTreeMap;

use rusqlite::types::Value;

use crate::test_store::TestStore;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    Bytes,
    Ints,
}

/// A table as the catalogue tells it.
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, Kind)>,
    /// The rows, each value as it is written in a statement.
    pub(crate) rows: Vec<Vec<String>>,
}

/// A connection that obeys no reference.
pub(crate) enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(Box<postgres::Client>),
}

impl Database {
    pub(crate) fn open(place: &TestStore) -> Self {
        if place.is_sqlite() {
            let connection = rusqlite::Connection::open(place.file()).unwrap();
            let copy = place.folder().join("copy.db");
            connection
                .execute_batch(&format!(
                    "pragma foreign_keys = off; pragma synchronous = off; attach '{}' as copy",
                    copy.display()
                ))
                .unwrap();
            return Self::Sqlite(connection);
        }
        let mut client = place.client();
        client
            .batch_execute("set session_replication_role = replica; create schema copy")
            .unwrap();
        Self::Postgres(Box::new(client))
    }

    /// Runs statements together; `false` where the database refuses one of them.
    pub(crate) fn run(&mut self, sql: &str) -> bool {
        let sql = format!("begin; {sql}; commit");
        let done = match self {
            Self::Sqlite(connection) => connection.execute_batch(&sql).is_ok(),
            Self::Postgres(client) => client.batch_execute(&sql).is_ok(),
        };
        if !done {
            match self {
                Self::Sqlite(connection) => connection.execute_batch("rollback").unwrap(),
                Self::Postgres(client) => client.batch_execute("rollback").unwrap(),
            }
        }
        done
    }

    /// Finds all tables with their rows, and keeps a copy of each.
    pub(crate) fn tables(&mut self) -> Vec<Table> {
        let mut tables: BTreeMap<String, Vec<(String, Kind)>> = BTreeMap::new();
        for [table, column, kind] in self.catalogue() {
            let kind = match kind.to_lowercase().as_str() {
                "integer" | "bigint" => Kind::Int,
                "blob" | "bytea" => Kind::Bytes,
                "array" => Kind::Ints,
                "text" | "" => Kind::Text,
                other => panic!("{table}.{column} is `{other}`, which is not swept yet"),
            };
            tables.entry(table).or_default().push((column, kind));
        }
        let table = |(name, columns): (String, Vec<(String, Kind)>)| {
            assert!(self.run(&format!(
                "create table copy.c_{name} as select * from {name}"
            )));
            let rows = self.rows(&name, &columns);
            Table {
                name,
                columns,
                rows,
            }
        };
        tables.into_iter().map(table).collect()
    }

    fn catalogue(&mut self) -> Vec<[String; 3]> {
        match self {
            Self::Sqlite(connection) => {
                let sql = "select m.name, x.name, x.type from main.sqlite_schema m join pragma_table_info(m.name) x \
                    where m.type = 'table' and m.name not like 'sqlite_stat%' and m.sql not like 'create virtual%' order by m.name, x.cid";
                let mut statement = connection.prepare(sql).unwrap();
                let rows =
                    statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]));
                rows.unwrap().map(Result::unwrap).collect()
            }
            Self::Postgres(client) => {
                let sql = "select table_name::text, column_name::text, data_type::text from information_schema.columns \
                    where table_schema = current_schema() order by table_name, ordinal_position";
                let rows = client.query(sql, &[]).unwrap();
                rows.iter()
                    .map(|row| [0, 1, 2].map(|at| row.get(at)))
                    .collect()
            }
        }
    }

    fn rows(&mut self, table: &str, columns: &[(String, Kind)]) -> Vec<Vec<String>> {
        match self {
            Self::Sqlite(connection) => {
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let sql = format!("select {} from {table}", names.join(", "));
                let mut statement = connection.prepare(&sql).unwrap();
                let rows = statement.query_map([], |row| {
                    let value = |at| row.get::<_, Value>(at).map(literal);
                    (0..columns.len()).map(value).collect()
                });
                rows.unwrap().map(Result::unwrap).collect()
            }
            Self::Postgres(client) => {
                let value = |(name, kind): &(String, Kind)| match kind {
                    Kind::Int => format!("coalesce({name}::text, 'null')"),
                    Kind::Text => format!("quote_nullable({name})"),
                    Kind::Ints => format!("quote_nullable({name}::text)"),
                    Kind::Bytes => {
                        format!(
                            "coalesce('decode(''' || encode({name}, 'hex') || ''', ''hex'')', 'null')"
                        )
                    }
                };
                let values: Vec<String> = columns.iter().map(value).collect();
                let sql = format!("select {} from {table}", values.join(", "));
                let rows = client.query(&sql, &[]).unwrap();
                let read = |row: &postgres::Row| (0..columns.len()).map(|at| row.get(at)).collect();
                rows.iter().map(read).collect()
            }
        }
    }

    /// Tells whether a table has the rows that it had.
    pub(crate) fn is_as_it_was(&mut self, table: &Table) -> bool {
        let mut now = self.rows(&table.name, &table.columns);
        let mut before = table.rows.clone();
        now.sort();
        before.sort();
        now == before
    }

    /// Puts a table back as it was.
    pub(crate) fn restore(&mut self, table: &Table) {
        let over = self.over();
        let Table { name, columns, .. } = table;
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        // SQLite notes there which keys it has seen.
        let seen = match self {
            Self::Sqlite(_) => {
                "; delete from sqlite_sequence; insert into sqlite_sequence select * from copy.c_sqlite_sequence"
            }
            Self::Postgres(_) => "",
        };
        assert!(self.run(&format!(
            "delete from {name}; insert into {name} ({names}) {over} select {names} from copy.c_{name}{seen}"
        )));
    }

    /// Returns what lets a statement write keys that the database would make.
    fn over(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => "overriding system value",
        }
    }

    /// Returns bytes as the database writes them.
    fn bytes(&self, digits: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("x'{digits}'"),
            Self::Postgres(_) => format!("decode('{digits}', 'hex')"),
        }
    }

    /// Returns other values of a cell: one that is near, and one that is nothing.
    pub(crate) fn others(&self, kind: Kind, value: &str) -> Vec<String> {
        let null = "null".to_owned();
        if value == "null" {
            return match kind {
                Kind::Int => vec!["1".to_owned()],
                Kind::Text => vec!["'x'".to_owned()],
                Kind::Bytes => vec![self.bytes("00")],
                Kind::Ints => vec!["'{1}'".to_owned()],
            };
        }
        // What SQLite keeps for itself has no types.
        let kind = match kind {
            Kind::Text if value.parse::<i64>().is_ok() => Kind::Int,
            Kind::Text if value.starts_with("x'") => Kind::Bytes,
            kind => kind,
        };
        match kind {
            Kind::Int => {
                let number: i64 = value.parse().unwrap();
                vec![(number + 1).to_string(), (number - 1).to_string(), null]
            }
            Kind::Text => vec![near(value, 'x', 'y'), "''".to_owned(), null],
            Kind::Ints => vec![near(value, '1', '2'), "'{}'".to_owned(), null],
            Kind::Bytes => {
                let digits = value.split('\'').nth(1).unwrap();
                let near = near(&format!("'{digits}'"), '0', '1');
                vec![self.bytes(near.trim_matches('\'')), self.bytes(""), null]
            }
        }
    }

    /// Puts rows in the place of others.
    pub(crate) fn replace(
        &mut self,
        table: &Table,
        old: &[&Vec<String>],
        new: &[Vec<String>],
    ) -> bool {
        let is = match self {
            Self::Sqlite(_) => "is",
            Self::Postgres(_) => "is not distinct from",
        };
        let over = self.over();
        let Table { name, columns, .. } = table;
        let mut sql = Vec::new();
        for row in old {
            let same = columns
                .iter()
                .zip(*row)
                .map(|((column, _), value)| format!("{column} {is} {value}"));
            let same: Vec<String> = same.collect();
            sql.push(format!("delete from {name} where {}", same.join(" and ")));
        }
        let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
        for row in new {
            let (names, values) = (names.join(", "), row.join(", "));
            sql.push(format!(
                "insert into {name} ({names}) {over} values ({values})"
            ));
        }
        self.run(&sql.join("; "))
    }
}

/// Changes the character in the middle of a text between quotes.
fn near(quoted: &str, one: char, other: char) -> String {
    let inner = &quoted[1..quoted.len() - 1];
    let mut letters: Vec<char> = inner.chars().collect();
    // Quotes within are doubled; a letter or digit stands alone.
    let places: Vec<usize> = (0..letters.len())
        .filter(|at| letters[*at].is_ascii_alphanumeric())
        .collect();
    match places.get(places.len() / 2) {
        Some(&at) => letters[at] = if letters[at] == one { other } else { one },
        None => letters.push(one),
    }
    format!("'{}'", letters.into_iter().collect::<String>())
}

fn literal(value: Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Blob(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{}'", digits.concat())
        }
    }
}
