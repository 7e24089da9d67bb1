//! Starting a batch, and taking over one whose holder is dead or has released it.
//!
//! Nothing here finds out whether a process lives.

use std::time::Duration;

use serde_json::Value as Json;

use super::columns::Columns;
use super::journal::{self, Progress};
use super::{Batch, BatchClaim, BatchState, batch_event, list};
use crate::db::Tx;
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, claim, event, id};

impl Store {
    /// Starts a batch and claims it at once, with what its journal begins with.
    ///
    /// `begin` gets the name of the batch. It may be asked more than once, and only its last answer counts. A project
    /// whose last batch has not ended is refused.
    #[expect(
        clippy::too_many_arguments,
        reason = "a claim needs its worker and its lease, a new batch its project and its settings"
    )]
    pub async fn start_batch<F>(
        &self,
        project: &Project,
        settings: Json,
        worker: &str,
        lease: Duration,
        begin: F,
    ) -> Result<BatchClaim, StoreError>
    where
        F: Fn(Id) -> Progress + Send + 'static,
    {
        let (project, worker, settings) =
            (project.clone(), worker.to_owned(), settings.to_string());
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            refuse_second(tx, &project)?;
            let now = tx.now()?;
            let new = Columns {
                key: 0,
                id: String::new(),
                project: project.key,
                settings: settings.clone(),
                started_at: now,
                state: BatchState::Running.as_str().to_owned(),
                status: None,
                worker: worker.clone(),
                attempt: 1,
                lease_until: Some(now.saturating_add(claim::millis(lease))),
                ended_at: None,
                stop_requested_at: None,
                stop_policy: None,
                entries: 0,
            };
            let (id, mut columns) = id::fresh(tx, "batch", now, |tx, id| {
                let mut columns = new.clone();
                columns.id = id.to_string();
                let key = columns.insert(tx)?;
                Ok(key.map(|key| Columns { key, ..columns }))
            })?;
            journal::add(tx, &project, &mut columns, &begin(id))?;
            columns.save(tx)?;
            claimed(tx, &project, &columns)
        })
        .await
    }

    /// Claims a batch that has not ended, with exactly the attempt and the lease that `batch` has, as a further attempt.
    ///
    /// For whoever has evidence that its holder is dead, however long the lease is, or has found it released; the holder
    /// is fenced off. Nothing comes back, and nothing changes, where the batch has changed hands, ended or been renewed
    /// meanwhile.
    pub async fn take_batch(
        &self,
        batch: &Batch,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<BatchClaim>, StoreError> {
        let (seen, worker) = (batch.clone(), worker.to_owned());
        self.write(move |tx| {
            let Some(project) = project::find(tx, &seen.project)? else {
                return Err(StoreError::unknown("project", &seen.project));
            };
            project::lock(tx, project.key)?;
            let found = Columns::lock(tx, "b.id = $1", seen.id.as_str().into())?;
            let same = |now: &Columns| {
                !now.is_ended()
                    && (now.attempt, now.lease_until) == (seen.attempt, seen.lease_until)
            };
            let Some(mut columns) = found.filter(same) else {
                return Ok(None);
            };
            columns.worker.clone_from(&worker);
            columns.attempt += 1;
            columns.lease_until = Some(tx.now()?.saturating_add(claim::millis(lease)));
            columns.save(tx)?;
            let facts = vec![
                ("worker", worker.clone().into()),
                ("attempt", columns.attempt.into()),
            ];
            let said = format!("batch {} is taken over by {worker}", seen.id);
            let taken = batch_event(seen.id, "batch:taken_over", facts, said);
            event::append(tx, &project, &[taken])?;
            claimed(tx, &project, &columns).map(Some)
        })
        .await
    }
}

/// Refuses a project that has a batch which has not ended, and says who holds that one.
fn refuse_second(tx: &mut dyn Tx, project: &Project) -> Result<(), StoreError> {
    let filter = "b.project = $1 and b.state <> 'ended'";
    let Some(open) = Columns::lock(tx, filter, project.key.into())? else {
        return Ok(());
    };
    let worker = &open.worker;
    let held = match open.lease_until {
        None => "nobody holds it".to_owned(),
        Some(until) if until <= tx.now()? => format!("the lease of `{worker}` has run out"),
        Some(_) => format!("`{worker}` holds it"),
    };
    let why = format!("batch `{}` has not ended: {held}", open.id);
    Err(StoreError::refused(why))
}

/// Makes the claim of a batch that was just saved.
fn claimed(
    tx: &mut dyn Tx,
    project: &Project,
    columns: &Columns,
) -> Result<BatchClaim, StoreError> {
    let batch = list::by_key(tx, columns.key)?;
    Ok(BatchClaim {
        batch: batch.ok_or_else(|| StoreError::unknown("batch", &columns.id))?,
        worker: columns.worker.clone(),
        attempt: columns.attempt,
        key: columns.key,
        project: project.clone(),
    })
}
