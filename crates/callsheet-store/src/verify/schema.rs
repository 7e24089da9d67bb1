//! The schema that the steps of this program make, and the one that is there: tables, columns, constraints, indexes, and that
//! nobody has added a trigger.
//!
//! What a file should have comes from a new one in memory. What a server should have stands in a file, which a test keeps.

use std::collections::BTreeMap;

use super::Audit;
use crate::StoreError;
use crate::db::{Dialect, KNOWN, Row, Tx, fresh};

const SQLITE: &str = include_str!("../../schema/sqlite.sql");

const POSTGRES: &str = include_str!("../../schema/postgres.sql");

/// What the second statement finds on a server with a new store, with a tab between two columns.
const WANTED: &str = include_str!("../../schema/postgres.txt");

const REFERENCES: &str = "select pg_catalog.quote_ident(c.relname), pg_catalog.quote_ident(a.attname), \
    pg_catalog.quote_ident(p.relname), pg_catalog.quote_ident(k.attname) \
    from pg_catalog.pg_constraint f join pg_catalog.pg_class c on c.oid = f.conrelid \
    join pg_catalog.pg_class p on p.oid = f.confrelid \
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = f.conkey[1] \
    join pg_catalog.pg_attribute k on k.attrelid = p.oid and k.attnum = f.confkey[1] \
    where f.contype = 'f' and f.connamespace = \
    (select n.oid from pg_catalog.pg_namespace n where n.nspname = pg_catalog.current_schema()) order by 1, 2";

/// Things by their table and name, such as `column key`, with their definition.
type Things = BTreeMap<(String, String), String>;

/// Compares the schema with the one that this program makes; `false` where what is missing keeps rows from being read.
pub(super) fn check(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<bool, StoreError> {
    let (wanted, found) = match tx.dialect() {
        Dialect::Sqlite => (things(&fresh(SQLITE)?)?, things(&tx.query(SQLITE, &[])?)?),
        Dialect::Postgres => (listed(WANTED), ours(tx)?),
    };
    let mut whole = true;
    for (name, wanted) in &wanted {
        let (table, thing) = name;
        let itself = itself(table);
        let detail = match found.get(name) {
            None if *name == itself => "it is missing".to_owned(),
            // What belongs to a table that is missing is, too.
            None if !found.contains_key(&itself) => continue,
            None => format!("its {} is missing", quoted(thing)),
            Some(found) if found == wanted => continue,
            Some(found) if *name == itself => format!("it is not as it was made: `{found}`"),
            Some(found) => format!("its {} is not as it was made: `{found}`", quoted(thing)),
        };
        let readable = *name != itself && !thing.starts_with("column ");
        whole &= readable || found.contains_key(name);
        audit.find(called(table), detail);
    }
    for (table, thing) in found.keys().filter(|name| !wanted.contains_key(name)) {
        if wanted.contains_key(&itself(table)) {
            audit.find(called(table), format!("its {} was added", quoted(thing)));
        } else if thing.split_once(' ').is_some_and(|(_, name)| name == table) {
            audit.find(called(table), "it was added");
        }
    }
    if whole && tx.dialect() == Dialect::Postgres {
        check_references(tx, audit)?;
        check_number(tx, audit)?;
    }
    Ok(whole)
}

fn called(table: &str) -> String {
    format!("the table `{table}`")
}

/// Returns the name of a table among things.
fn itself(table: &str) -> (String, String) {
    (table.to_owned(), format!("table {table}"))
}

/// Puts the name of a thing between backticks.
fn quoted(thing: &str) -> String {
    match thing.split_once(' ') {
        Some((kind, name)) => format!("{kind} `{name}`"),
        None => thing.to_owned(),
    }
}

fn things(rows: &[Row]) -> Result<Things, StoreError> {
    let thing = |row: &Row| {
        let name = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
        Ok((name, plain(row.text(2)?)))
    };
    rows.iter().map(thing).collect()
}

/// Returns a definition with one space where it has some.
fn plain(definition: &str) -> String {
    definition.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn listed(text: &str) -> Things {
    let thing = |line: &str| {
        let mut columns = line.splitn(3, '\t').map(str::to_owned);
        Some(((columns.next()?, columns.next()?), columns.next()?))
    };
    text.lines().filter_map(thing).collect()
}

/// Returns what a server has about our tables; other tables may stand beside them.
fn ours(tx: &mut dyn Tx) -> Result<Things, StoreError> {
    let mut found = things(&tx.query(POSTGRES, &[])?)?;
    let wanted = listed(WANTED);
    found.retain(|(table, _), _| wanted.contains_key(&itself(table)));
    Ok(found)
}

/// Checks that whatever refers to a row refers to one that is there: a server can be told not to look.
fn check_references(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    for row in tx.query(REFERENCES, &[])? {
        let names = [0, 1, 2, 3].map(|at| row.text(at));
        let [Ok(table), Ok(column), Ok(parent), Ok(key)] = names else {
            continue;
        };
        let sql = format!(
            "select count(*) from {table} c where c.{column} is not null \
            and not exists (select 1 from {parent} p where p.{key} = c.{column})"
        );
        let loose = tx.first(&sql, &[])?.map_or(Ok(0), |row| row.int(0))?;
        if loose > 0 {
            let detail =
                format!("{loose} of its rows refer to rows of `{parent}` that are not there");
            audit.find(called(table), detail);
        }
    }
    Ok(())
}

/// Checks that the number of the schema is there once.
fn check_number(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let numbers = tx.query("select version from callsheet_schema", &[])?;
    let numbers = numbers.iter().map(|row| row.int(0));
    let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    if numbers != [KNOWN] {
        let detail = format!("it says that the schema is {numbers:?}");
        audit.find(called("callsheet_schema"), detail);
    }
    Ok(())
}
