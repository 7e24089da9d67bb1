//! Starting a run at once, and taking over one whose holder is dead.
//!
//! Whether a run may start is asked while nobody else can start one, so a limit holds however many ask at the same
//! time. Nothing here starts a process, or finds out whether one lives.

use std::time::Duration;

use super::{NewRun, Run, list, queue};
use crate::claim::{self, Claim};
use crate::project::{self, Project};
use crate::{Store, StoreError, locks};

const CLAIM: &str = "update run set state = 'running', worker = $1, attempt = 1, lease_until = $2, started_at = $3 \
    where key = $4 returning key, project, attempt";

const TAKE: &str = "update run set worker = $1, attempt = attempt + 1, lease_until = $2 \
    where id = $3 and attempt = $4 and state = 'running' returning key, project, attempt";

impl Store {
    /// Queues a run and claims it at once, unless `admit` has a reason not to.
    ///
    /// `admit` gets the runs of the project that are running, the oldest first. Nobody else can start one until it has
    /// answered and the run is claimed. A task that is cancelled, or has a run that is not over, is an error. Where it refuses, nothing changes and its reason comes back. It may be asked
    /// more than once, and only its last answer counts.
    #[expect(
        clippy::too_many_arguments,
        reason = "a claim needs its worker and its lease, a new run its project and its limit"
    )]
    pub async fn start_run<F>(
        &self,
        project: &Project,
        run: NewRun,
        worker: &str,
        lease: Duration,
        admit: F,
    ) -> Result<Result<Claim, String>, StoreError>
    where
        F: Fn(&[Run]) -> Result<(), String> + Send + 'static,
    {
        let (project, worker) = (project.clone(), worker.to_owned());
        self.write(move |tx| {
            // Everybody takes these two in this order, so that nobody waits in a circle.
            locks::shared(tx)?;
            project::lock(tx, project.key)?;
            if let Err(reason) = admit(&list::running(tx, project.key)?) {
                return Ok(Err(reason));
            }
            let (_, key) = queue(tx, &project, &run)?;
            let now = tx.now()?;
            let until = now.saturating_add(claim::millis(lease));
            let values = [(&worker).into(), until.into(), now.into(), key.into()];
            let claimed = tx.first(CLAIM, &values)?;
            let row = claimed.ok_or_else(|| StoreError::refused("a new run cannot be claimed"))?;
            claim::append_claimed(tx, &row, &worker, "run:started").map(Ok)
        })
        .await
    }

    /// Claims a run that is running with exactly the attempt that `run` has, as a further one.
    ///
    /// For whoever has evidence that its holder is dead, however long the lease is; the holder is fenced off. Nothing
    /// comes back, and nothing changes, where the run has changed meanwhile.
    pub async fn take_over(
        &self,
        run: &Run,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Claim>, StoreError> {
        let (id, attempt, worker) = (run.id, run.attempt, worker.to_owned());
        self.write(move |tx| {
            let until = tx.now()?.saturating_add(claim::millis(lease));
            let values = [
                (&worker).into(),
                until.into(),
                id.as_str().into(),
                attempt.into(),
            ];
            let taken = tx.first(TAKE, &values)?;
            taken
                .map(|row| claim::append_claimed(tx, &row, &worker, "run:taken_over"))
                .transpose()
        })
        .await
    }
}
