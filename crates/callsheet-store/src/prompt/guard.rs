//! Who may add and remove prompts: one at a time, as on SQLite, where everybody who writes waits for the others.
//!
//! A prompt touches many rows that others share. Locking them one by one, in whatever order they come, would have two
//! sealers wait for each other.

use crate::StoreError;
use crate::db::{Dialect, Tx};

const ALONE: &str = "select pg_advisory_xact_lock(7227201901)";

const SHARED: &str = "select pg_advisory_xact_lock_shared(7227201901)";

/// Waits until nobody else adds or removes prompts; holds until the transaction ends.
pub(crate) fn alone(tx: &mut dyn Tx) -> Result<(), StoreError> {
    take(tx, ALONE)
}

/// Waits until nobody adds or removes prompts, for whoever relies on one that is there.
pub(crate) fn shared(tx: &mut dyn Tx) -> Result<(), StoreError> {
    take(tx, SHARED)
}

fn take(tx: &mut dyn Tx, lock: &str) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        tx.query(lock, &[])?;
    }
    Ok(())
}
