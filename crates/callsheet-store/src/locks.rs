//! Who may add, remove and rely on prompts at the same time, by advisory locks that end with the transaction.
//!
//! Prompts of one project are sealed one after the other: each one builds on what the last one has left. Projects do not wait
//! for each other. Bodies and sources that they share are inserted in a sorted order, so that two sealers rarely wait in a
//! circle; where they do, the server ends one of them, and its transaction is repeated. Only whoever removes bodies is alone.
//!
//! On SQLite everybody who writes waits for the others anyway.

use crate::StoreError;
use crate::db::{Dialect, Tx, Value};
use crate::project::Project;

/// Held together by those who add prompts or rely on one, and alone by whoever removes some.
const STORE: &str = "select pg_advisory_xact_lock(7227201901)";

const STORE_SHARED: &str = "select pg_advisory_xact_lock_shared(7227201901)";

/// Held by the one who adds prompts to a project. Projects whose keys have the same lower half share it, which does no harm.
const PROJECT: &str =
    "select pg_advisory_xact_lock(1129529676, (($1::bigint << 32) >> 32)::integer)";

/// Waits until nobody removes prompts and nobody else adds some to this project.
pub(crate) fn sealing(tx: &mut dyn Tx, project: &Project) -> Result<(), StoreError> {
    shared(tx)?;
    take(tx, PROJECT, &[project.key.into()])
}

/// Waits until nobody removes prompts, for whoever relies on one that is there.
pub(crate) fn shared(tx: &mut dyn Tx) -> Result<(), StoreError> {
    take(tx, STORE_SHARED, &[])
}

/// Waits until nobody adds or removes prompts of any project, or relies on one.
pub(crate) fn collecting(tx: &mut dyn Tx) -> Result<(), StoreError> {
    take(tx, STORE, &[])
}

fn take(tx: &mut dyn Tx, lock: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        tx.query(lock, values)?;
    }
    Ok(())
}
