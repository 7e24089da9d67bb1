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

/// Takes the steps that a schema has not seen. Whoever calls holds the lock for it and writes the number down.
pub(crate) fn advance(tx: &mut dyn Tx, found: i64) -> Result<(), StoreError> {
    let seen = usize::try_from(found).unwrap_or(0);
    for step in STEPS.iter().skip(seen) {
        let sql = match tx.dialect() {
            Dialect::Sqlite => step.sqlite,
            Dialect::Postgres => step.postgres,
        };
        tx.batch(sql)?;
        (step.then)(tx)?;
    }
    Ok(())
}
