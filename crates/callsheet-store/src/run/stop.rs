//! Asking for a run to stop. Whoever holds it looks now and then whether somebody did.
//!
//! Nothing here ends a process. A run that nobody has claimed is over at once, and never starts.

use callsheet::Event;
use serde_json::json;

use crate::claim::{self, Claim};
use crate::db::{Dialect, Row, Tx};
use crate::event::{self, EventRow};
use crate::project::Project;
use crate::{Id, Store, StoreError};

/// The event of a run that somebody asked to stop.
pub(crate) const STOPPING: &str = "run:stopping";

/// The worker of a run that was over before anybody claimed it.
const NOBODY: &str = "callsheet";

const FIND: &str = "select r.key, r.state, r.stop_requested_at, r.project, p.name \
    from run r join project p on p.key = r.project where r.id = $1";

const REQUEST: &str = "update run set stop_requested_at = $2 where key = $1";

const CLAIM: &str = "update run set state = 'running', worker = $1, attempt = 1, lease_until = $2, started_at = $2 \
    where key = $3 returning key, project, attempt";

const REQUESTED: &str = "select stop_requested_at from run \
    where key = $1 and worker = $2 and attempt = $3 and state = 'running'";

impl Store {
    /// Asks for a run to stop; `false` where it is over already.
    ///
    /// Asking twice is asking once. A run that is queued is finished as cancelled, so that nobody ever starts it.
    pub async fn request_stop(&self, run: Id) -> Result<bool, StoreError> {
        self.write(move |tx| request(tx, run)).await
    }

    /// Tells whether somebody asked for the run of a claim to stop; `true` also where the claim is lost.
    pub async fn stop_requested(&self, claim: &Claim) -> Result<bool, StoreError> {
        let claim = claim.clone();
        self.read(move |tx| {
            let row = tx.first(REQUESTED, &claim.fence())?;
            row.map_or(Ok(true), |row| Ok(row.maybe(0, Row::int)?.is_some()))
        })
        .await
    }
}

fn request(tx: &mut dyn Tx, run: Id) -> Result<bool, StoreError> {
    let lock = match tx.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => " for no key update of r",
    };
    let Some(row) = tx.first(&format!("{FIND}{lock}"), &[run.as_str().into()])? else {
        return Err(StoreError::unknown("run", run.as_str()));
    };
    let key = row.int(0)?;
    let queued = match row.text(1)? {
        "finished" => return Ok(false),
        state => state == "queued",
    };
    if row.maybe(2, Row::int)?.is_some() {
        return Ok(true);
    }
    let at = tx.now()?;
    tx.execute(REQUEST, &[key.into(), at.into()])?;
    let project = Project::new(row.int(3)?, row.text(4)?);
    let facts = [("run", run.to_string().into())];
    let event = Event::new(STOPPING, facts, format!("run {run} is asked to stop"));
    let event = EventRow {
        at: Some(at),
        kind: STOPPING,
        payload: serde_json::Value::Object(event.payload).to_string(),
        run: Some(key),
    };
    event::append_rows(tx, &project, vec![event])?;
    if queued {
        cancel(tx, key, at)?;
    }
    Ok(true)
}

/// Finishes a run that nobody has claimed.
fn cancel(tx: &mut dyn Tx, key: i64, at: i64) -> Result<(), StoreError> {
    let claimed = tx.first(CLAIM, &[NOBODY.into(), at.into(), key.into()])?;
    let row = claimed.ok_or_else(|| StoreError::refused("a queued run cannot be claimed"))?;
    let held = claim::of(tx, &row, NOBODY)?;
    claim::finish(
        tx,
        &held,
        &json!({"status": "cancelled", "class": "cancelled"}),
    )
    .map(|_| ())
}
