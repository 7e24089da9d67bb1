//! Claims: a worker takes a queued run for a while, and only its holder may write to it.
//!
//! A run whose lease ran out is not handed out again; whoever finds its holder dead takes it over, as a further attempt.
//! The number of the attempt is a fencing token: whatever a former holder still sends changes nothing. Nothing here starts
//! a process.

use std::time::Duration;

use callsheet::Event;
use serde_json::Value as Json;

use crate::db::{Dialect, Row, Tx, Value};
use crate::event::{self, NewEvent};
use crate::project::{self, Project};
use crate::run::{self, End, Run};
use crate::{Id, Store, StoreError};

const CLAIM: &str = "update run set state = 'running', worker = $1, attempt = 1, lease_until = $2, started_at = $3 \
    where key = (select key from run where key = $4 and state = 'queued'";

const RENEW: &str = "update run set lease_until = $4 \
    where key = $1 and worker = $2 and attempt = $3 and state = 'running'";

const HELD: &str = "select started_at, records, stop_requested_at from run \
    where key = $1 and worker = $2 and attempt = $3 and state = 'running'";

const FINISH: &str = "update run set state = 'finished', lease_until = null, finished_at = $2, outcome = $3, \
    finish_mark = $4 where key = $1";

/// A run in the hands of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The run as it was when it was claimed.
    pub run: Run,
    /// The worker that holds it.
    pub worker: String,
    /// The attempt, which no other claim of the run has.
    pub attempt: i64,
    pub(crate) key: i64,
    pub(crate) project: Project,
}

impl Store {
    /// Claims the queued run of a project that waits longest and that `admit` takes; none where there is no such run.
    ///
    /// `admit` gets a queued run, and the runs of the project that are running, the oldest first. Nobody else can start
    /// one until it has answered and the run is claimed. It may be asked more than once about a run, and only its last
    /// answer counts. Times are those of the store: of the server, or of this machine where the store is a file.
    pub async fn claim_queued<F>(
        &self,
        project: &Project,
        worker: &str,
        lease: Duration,
        admit: F,
    ) -> Result<Option<Claim>, StoreError>
    where
        F: Fn(&Run, &[Run]) -> bool + Send + 'static,
    {
        let (project, worker) = (project.key, worker.to_owned());
        self.write(move |tx| claim(tx, project, (&worker, lease), &admit))
            .await
    }

    /// Renews a claim from now on; `false` where it has passed to somebody else or the run is over.
    pub async fn heartbeat(&self, claim: &Claim, lease: Duration) -> Result<bool, StoreError> {
        let claim = claim.clone();
        self.write(move |tx| {
            let until = tx.now()?.saturating_add(millis(lease));
            let [key, worker, attempt] = claim.fence();
            let renewed = tx.execute(RENEW, &[key, worker, attempt, until.into()])?;
            Ok(renewed == 1)
        })
        .await
    }

    /// Finishes a run; `false` where the claim has passed to somebody else or the run is over, and nothing changes.
    pub async fn finish_run(&self, claim: &Claim, outcome: &Json) -> Result<bool, StoreError> {
        let (claim, outcome) = (claim.clone(), outcome.clone());
        self.write(move |tx| finish(tx, &claim, &outcome)).await
    }
}

impl Claim {
    /// Returns what tells this claim from all others: the key of the run, the worker and the attempt.
    pub(crate) fn fence(&self) -> [Value<'_>; 3] {
        [self.key.into(), (&self.worker).into(), self.attempt.into()]
    }

    /// Makes the error of a write that comes too late.
    pub(crate) fn lost(&self) -> StoreError {
        let (run, worker, attempt) = (self.run.id, &self.worker, self.attempt);
        StoreError::refused(format!(
            "run `{run}` is no longer held by `{worker}`: its attempt {attempt} is over"
        ))
    }
}

fn claim(
    tx: &mut dyn Tx,
    project: i64,
    (worker, lease): (&str, Duration),
    admit: &dyn Fn(&Run, &[Run]) -> bool,
) -> Result<Option<Claim>, StoreError> {
    project::lock(tx, project)?;
    let unlocked = match tx.dialect() {
        Dialect::Sqlite => "",
        // Whoever asks a run to stop holds its row and waits for the project: passing it by avoids a deadlock.
        Dialect::Postgres => " for no key update skip locked",
    };
    let sql = format!("{CLAIM}{unlocked}) returning key, project, attempt");
    let running = run::running(tx, project)?;
    let mut after = 0;
    loop {
        let queued = run::queued(tx, project, after)?;
        let Some((last, _)) = queued.last() else {
            return Ok(None);
        };
        after = *last;
        for (key, _) in queued.iter().filter(|(_, run)| admit(run, &running)) {
            let now = tx.now()?;
            let until = now.saturating_add(millis(lease));
            let values = [worker.into(), until.into(), now.into(), (*key).into()];
            if let Some(row) = tx.first(&sql, &values)? {
                return append_claimed(tx, &row, worker, "run:started").map(Some);
            }
        }
    }
}

/// Makes the claim of a row with the key of the run, its project and the attempt.
pub(crate) fn of(tx: &mut dyn Tx, row: &Row, worker: &str) -> Result<Claim, StoreError> {
    let key = row.int(0)?;
    let Some(run) = run::by_key(tx, key)? else {
        return Err(row.damaged("a run has no project or no prompt"));
    };
    Ok(Claim {
        key,
        worker: worker.to_owned(),
        attempt: row.int(2)?,
        project: Project::new(row.int(1)?, &run.project),
        run,
    })
}

/// Makes the claim of a row, and the event that tells of it.
pub(crate) fn append_claimed(
    tx: &mut dyn Tx,
    row: &Row,
    worker: &str,
    kind: &str,
) -> Result<Claim, StoreError> {
    let claim = of(tx, row, worker)?;
    let verb = kind.trim_start_matches("run:").replace('_', " ");
    let said = format!("run {} is {verb} by {worker}", claim.run.id);
    let more = vec![("started_at", claim.run.started_at.into())];
    event::append(tx, &claim.project, &[claim_event(&claim, kind, more, said)])?;
    Ok(claim)
}

/// Finishes a run within a transaction; `false` where the claim is lost.
pub(crate) fn finish(tx: &mut dyn Tx, claim: &Claim, outcome: &Json) -> Result<bool, StoreError> {
    let lock = match tx.dialect() {
        Dialect::Sqlite => "",
        // Events that refer to the run need not wait for its end, which in turn may wait for them.
        Dialect::Postgres => " for no key update",
    };
    let Some(row) = tx.first(&format!("{HELD}{lock}"), &claim.fence())? else {
        return Ok(false);
    };
    let (at, text) = (tx.now()?, outcome.to_string());
    let end = End {
        key: claim.key,
        worker: &claim.worker,
        attempt: claim.attempt,
        started_at: row.maybe(0, Row::int)?,
        finished_at: at,
        outcome: &text,
        records: row.int(1)?,
        stop_requested_at: row.maybe(2, Row::int)?,
        imported_at: None,
    };
    let finish_mark = end.mark();
    let values = [
        claim.key.into(),
        at.into(),
        (&text).into(),
        finish_mark.into(),
    ];
    tx.execute(FINISH, &values)?;
    let said = format!("run {} is finished by {}", claim.run.id, claim.worker);
    let more = vec![
        ("outcome", outcome.clone()),
        ("records", end.records.into()),
    ];
    let over = claim_event(claim, "run:finished", more, said);
    event::append(tx, &claim.project, &[over])?;
    Ok(true)
}

fn claim_event(
    claim: &Claim,
    kind: &str,
    more: Vec<(&'static str, Json)>,
    said: String,
) -> NewEvent {
    let id: Id = claim.run.id;
    let mut facts = vec![
        ("run", id.to_string().into()),
        ("worker", claim.worker.clone().into()),
        ("attempt", claim.attempt.into()),
    ];
    facts.extend(more);
    NewEvent {
        event: Event::new(kind, facts, said),
        run: Some(id),
    }
}

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
