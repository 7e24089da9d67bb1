//! The steps that bring a database to the schema of this program, one file per step and dialect.
//!
//! A step that has been released never changes; a change of the schema is a new step at the end.

use super::{Dialect, Tx};
use crate::{StoreError, chain};

/// One step: the same for both databases, in their own words.
struct Step {
    sqlite: &'static str,
    postgres: &'static str,
    /// What SQL cannot say, afterwards.
    then: fn(&mut dyn Tx) -> Result<(), StoreError>,
}

impl Step {
    fn sql(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
        }
    }
}

/// Reads the two files of a step.
macro_rules! step {
    ($name:literal) => {
        step!($name, |_| Ok(()))
    };
    ($name:literal, $then:expr) => {
        Step {
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
            then: $then,
        }
    };
}

/// All steps in order; the number of a schema is how many of them it has seen.
const STEPS: &[Step] = &[
    step!("0001-project"),
    step!("0002-prompt"),
    step!("0003-run"),
    step!("0004-search"),
    step!("0005-request"),
    step!("0006-task"),
    step!("0007-batch"),
    step!("0008-chain", chain::make),
];

/// The schema that this program writes.
#[expect(clippy::cast_possible_wrap, reason = "they can be counted on fingers")]
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// Returns the error of a schema that this program does not know, if it is one.
pub(crate) fn refuse_newer(store: &str, found: i64) -> Result<(), StoreError> {
    if found > KNOWN {
        return Err(StoreError::Newer {
            store: store.to_owned(),
            found,
            known: KNOWN,
        });
    }
    if found < 0 {
        let why = format!("it says that its schema is {found}");
        return Err(StoreError::damaged(store, why));
    }
    Ok(())
}

/// Returns the names of the tables that a schema has.
#[cfg(any(feature = "postgres", test))]
pub(crate) fn tables(dialect: Dialect, schema: i64) -> Vec<&'static str> {
    let seen = usize::try_from(schema).unwrap_or(0);
    let mut names = Vec::new();
    for line in STEPS
        .iter()
        .take(seen)
        .flat_map(|step| step.sql(dialect).lines())
    {
        if let Some(rest) = line.strip_prefix("create table ") {
            names.extend(rest.split([' ', '(']).next());
        } else if let Some(rest) = line.strip_prefix("drop table ") {
            names.retain(|name| *name != rest.trim_end_matches(';'));
        }
    }
    names
}

/// Takes the steps that a schema has not seen. Whoever calls holds the lock for it and writes the number down.
pub(crate) fn advance(tx: &mut dyn Tx, found: i64) -> Result<(), StoreError> {
    let seen = usize::try_from(found).unwrap_or(0);
    for step in STEPS.iter().skip(seen) {
        tx.batch(step.sql(tx.dialect()))?;
        (step.then)(tx)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_the_steps() {
        assert_eq!(tables(Dialect::Postgres, 1), ["project", "setting"]);
        for schema in 0..=KNOWN {
            let both = [Dialect::Sqlite, Dialect::Postgres].map(|dialect| tables(dialect, schema));
            assert_eq!(both[0], both[1], "schema {schema}");
        }
    }
}
