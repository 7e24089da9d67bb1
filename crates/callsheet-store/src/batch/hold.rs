//! Holding a batch: renewing its lease, letting go of it, and hearing that it should stop.
//!
//! Nothing here ends a process. Whoever holds a batch looks now and then whether somebody asked for it to stop.

use std::time::Duration;

use super::columns::Columns;
use super::{BatchClaim, BatchStop, batch_event, list};
use crate::db::Tx;
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, claim, event};

const KEY: &str = "select key from batch where id = $1 and project = $2";

impl Store {
    /// Renews the claim of a batch from now on; `false` where it has passed to somebody else, was released or has ended.
    pub async fn heartbeat_batch(
        &self,
        claim: &BatchClaim,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let claim = claim.clone();
        self.write(move |tx| {
            let until = tx.now()?.saturating_add(claim::millis(lease));
            leased(tx, &claim, Some(until))
        })
        .await
    }

    /// Lets go of a batch that has not ended, so that anybody can take it at once; `false` where the claim is lost.
    pub async fn release_batch(&self, claim: &BatchClaim) -> Result<bool, StoreError> {
        let claim = claim.clone();
        self.write(move |tx| leased(tx, &claim, None)).await
    }

    /// Asks for a batch to stop; `false` where it has ended.
    ///
    /// What `policy` means is not known here. Whoever asks again can change it.
    pub async fn request_batch_stop(
        &self,
        project: &Project,
        batch: Id,
        policy: &str,
    ) -> Result<bool, StoreError> {
        let (project, policy) = (project.clone(), policy.to_owned());
        self.write(move |tx| request(tx, &project, batch, &policy))
            .await
    }

    /// Returns the request to stop the batch of a claim, if there is one; a claim that is lost is an error.
    pub async fn batch_stop(&self, claim: &BatchClaim) -> Result<Option<BatchStop>, StoreError> {
        let claim = claim.clone();
        self.read(move |tx| {
            let found = list::by_key(tx, claim.key)?;
            let mine = found.filter(|it| {
                let held = (it.lease_until.is_some(), &it.worker, it.attempt);
                held == (true, &claim.worker, claim.attempt)
            });
            mine.map(|batch| batch.stop).ok_or_else(|| claim.lost())
        })
        .await
    }
}

/// Returns the row of a batch that a claim still holds; nobody else changes it until the transaction ends.
pub(super) fn held(tx: &mut dyn Tx, claim: &BatchClaim) -> Result<Columns, StoreError> {
    let Some(columns) = Columns::lock(tx, "b.key = $1", claim.key.into())? else {
        return Err(StoreError::unknown("batch", claim.batch.id.as_str()));
    };
    if let Some(status) = columns.status.as_deref().filter(|_| columns.is_ended()) {
        let why = format!("batch `{}` has ended: {status}", columns.id);
        return Err(StoreError::refused(why));
    }
    if !is_held(&columns, claim) {
        return Err(claim.lost());
    }
    Ok(columns)
}

/// Returns the key of a batch that a claim holds, with the number of an action in it that a run is queued for.
///
/// Whoever calls holds the lock of the project.
pub(crate) fn action(
    tx: &mut dyn Tx,
    project: &Project,
    claim: &BatchClaim,
    number: i64,
) -> Result<(i64, i64), StoreError> {
    if claim.project.key != project.key {
        return Err(StoreError::unknown("batch", claim.batch.id.as_str()));
    }
    Ok((held(tx, claim)?.key, number))
}

fn is_held(columns: &Columns, claim: &BatchClaim) -> bool {
    // Neither a batch that has ended nor one that was released has a lease.
    let leased = columns.lease_until.is_some() && !columns.is_ended();
    leased && columns.worker == claim.worker && columns.attempt == claim.attempt
}

/// Changes the lease of a batch that a claim still holds; `false` where it does not.
fn leased(tx: &mut dyn Tx, claim: &BatchClaim, until: Option<i64>) -> Result<bool, StoreError> {
    let found = Columns::lock(tx, "b.key = $1", claim.key.into())?;
    let Some(mut columns) = found.filter(|columns| is_held(columns, claim)) else {
        return Ok(false);
    };
    columns.lease_until = until;
    columns.save(tx)?;
    Ok(true)
}

fn request(tx: &mut dyn Tx, project: &Project, id: Id, policy: &str) -> Result<bool, StoreError> {
    project::lock(tx, project.key)?;
    let key = key(tx, project.key, id)?;
    let Some(mut columns) = Columns::lock(tx, "b.key = $1", key.into())? else {
        return Err(StoreError::unknown("batch", id.as_str()));
    };
    if columns.is_ended() {
        return Ok(false);
    }
    if columns.stop_policy.as_deref() == Some(policy) {
        return Ok(true);
    }
    columns.stop_requested_at = Some(match columns.stop_requested_at {
        Some(at) => at,
        None => tx.now()?,
    });
    columns.stop_policy = Some(policy.to_owned());
    columns.save(tx)?;
    let facts = vec![("policy", policy.into())];
    let said = format!("batch {id} is asked to stop");
    event::append(
        tx,
        project,
        &[batch_event(id, "batch:stopping", facts, said)],
    )?;
    Ok(true)
}

/// Returns the key of a batch.
pub(crate) fn key(tx: &mut dyn Tx, project: i64, id: Id) -> Result<i64, StoreError> {
    match tx.first(KEY, &[id.as_str().into(), project.into()])? {
        Some(row) => row.int(0),
        None => Err(StoreError::unknown("batch", id.as_str())),
    }
}
