//! The steps that bring a database to the schema of this program, one file per step and dialect.
//!
//! A step that has been released never changes; a change of the schema is a new step at the end. What builds before the
//! first release have made is refused.

use super::{Dialect, Tx};
use crate::StoreError;

/// One step: the same for both databases, in their own words.
struct Step {
    sqlite: &'static str,
    postgres: &'static str,
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
        Step {
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
        }
    };
}

/// All steps in order. Each makes the number of the schema one more.
const STEPS: &[Step] = &[step!("0001-first")];

/// The number of the schema after the first step; the smaller ones belong to builds before the first release.
const FIRST: i64 = 9;

/// The schema that this program writes.
#[expect(clippy::cast_possible_wrap, reason = "they can be counted on fingers")]
pub(crate) const KNOWN: i64 = FIRST - 1 + STEPS.len() as i64;

/// Returns the error of a schema that this program cannot bring to its own, if it is one; 0 is a database without any.
pub(crate) fn refuse_unknown(store: &str, found: i64) -> Result<(), StoreError> {
    refuse_older(store, found)?;
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

/// Returns the error of a schema that a build before the first release has made, if it is one.
pub(crate) fn refuse_older(store: &str, found: i64) -> Result<(), StoreError> {
    if (1..FIRST).contains(&found) {
        return Err(StoreError::Older {
            store: store.to_owned(),
            found,
            known: KNOWN,
        });
    }
    Ok(())
}

/// Takes the steps that a schema has not seen. Whoever calls holds the lock for it and writes the number down.
pub(crate) fn advance(tx: &mut dyn Tx, found: i64) -> Result<(), StoreError> {
    take(tx, missing(STEPS, found))
}

/// Returns the steps that a schema has not seen.
fn missing(steps: &[Step], found: i64) -> &[Step] {
    let seen = usize::try_from(found - FIRST + 1).unwrap_or(0);
    steps.get(seen..).unwrap_or_default()
}

fn take(tx: &mut dyn Tx, steps: &[Step]) -> Result<(), StoreError> {
    for step in steps {
        tx.batch(step.sql(tx.dialect()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::sqlite::in_memory;

    const THREE: [Step; 3] = [
        step("create table one (a)"),
        step("create table two (a); insert into two values (2)"),
        step("alter table one add column b; insert into one select a, 3 from two"),
    ];

    const fn step(sql: &'static str) -> Step {
        Step {
            sqlite: sql,
            postgres: "",
        }
    }

    #[test]
    fn a_step_that_is_missing_is_taken_once() {
        // From no schema, and from each that was the newest once.
        for (found, seen) in [(0, 0), (FIRST, 1), (FIRST + 1, 2), (FIRST + 2, 3)] {
            let rows = in_memory(|tx| {
                take(tx, &THREE[..seen])?;
                take(tx, missing(&THREE, found))?;
                tx.query("select a, b from one", &[])
            });
            let rows: Vec<_> = rows
                .unwrap()
                .iter()
                .map(|row| [row.int(0).unwrap(), row.int(1).unwrap()])
                .collect();
            assert_eq!(rows, [[2, 3]], "schema {found}");
        }
    }

    #[test]
    fn a_schema_is_refused_unless_steps_lead_from_it() {
        assert_eq!(KNOWN, 9);
        assert_eq!(missing(STEPS, 0).len(), STEPS.len());
        assert!(missing(STEPS, KNOWN).is_empty());
        for found in -2..=KNOWN + 2 {
            let refused = refuse_unknown("s", found).is_err();
            assert_eq!(
                refused,
                found != 0 && !(FIRST..=KNOWN).contains(&found),
                "{found}"
            );
        }
    }
}
