//! Reading runs: by name, and in pages that cost the same however deep they are.

use serde_json::Value as Json;

use super::{Run, RunKind, RunState};
use crate::db::{Row, Tx, Value};
use crate::project::Project;
use crate::{Id, Store, StoreError, batch, task};

const SELECT: &str = "select r.id, p.name, s.id, r.kind, a.id, r.state, r.worker, r.attempt, r.queued_at, \
    r.started_at, r.lease_until, r.finished_at, r.outcome, r.records, r.request, r.stop_requested_at, \
    r.imported_at, t.id, b.id, r.action, r.key \
    from run r join project p on p.key = r.project join prompt s on s.key = r.prompt \
    left join run a on a.key = r.parent left join task t on t.key = r.task \
    left join batch b on b.key = r.batch where ";

const KEY: &str = "select key from run where id = $1 and project = $2";

/// How many queued runs are looked at with one query.
const AT_ONCE: usize = 64;

/// Which runs of a project are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPage {
    /// Only runs that were queued before this one.
    pub before: Option<Id>,
    /// Only runs that stand here.
    pub state: Option<RunState>,
    /// No more runs than this.
    pub limit: usize,
}

impl Default for RunPage {
    fn default() -> Self {
        Self {
            before: None,
            state: None,
            limit: 20,
        }
    }
}

impl Store {
    /// Returns all runs of a task, the oldest first.
    pub async fn runs_of_task(&self, project: &Project, task: Id) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| of_task(tx, key, task)).await
    }

    /// Returns the runs that got a prompt, the oldest first.
    pub async fn runs_of_prompt(
        &self,
        project: &Project,
        prompt: Id,
    ) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let sql = format!("{SELECT}s.id = $1 and r.project = $2 order by r.key");
            let values = [prompt.to_string().into(), key.into()];
            tx.query(&sql, &values)?.iter().map(run).collect()
        })
        .await
    }

    /// Returns all runs of a batch in the order of their actions; those of one action come the oldest first.
    pub async fn runs_of_batch(
        &self,
        project: &Project,
        batch: Id,
    ) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| of_batch(tx, key, batch)).await
    }

    /// Returns all runs of a project that have a task, the oldest first.
    pub async fn runs_of_tasks(&self, project: &Project) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| of_tasks(tx, key)).await
    }
}

/// Returns the query for runs of a project whose id is in a range.
pub(super) fn by_prefix(project: i64) -> String {
    format!("{SELECT}r.id >= $1 and r.id < $2 and r.project = {project} order by r.id limit 6")
}

/// Returns all runs of a project that are running, the oldest first.
pub(crate) fn running(tx: &mut dyn Tx, project: i64) -> Result<Vec<Run>, StoreError> {
    let sql = format!("{SELECT}r.project = $1 and r.state = 'running' order by r.key");
    tx.query(&sql, &[project.into()])?.iter().map(run).collect()
}

/// Returns some runs of a project that are queued and whose key is above `after`, each with its key, the oldest first.
pub(crate) fn queued(
    tx: &mut dyn Tx,
    project: i64,
    after: i64,
) -> Result<Vec<(i64, Run)>, StoreError> {
    let sql = format!(
        "{SELECT}r.project = $1 and r.state = 'queued' and r.key > $2 order by r.key limit {AT_ONCE}"
    );
    let rows = tx.query(&sql, &[project.into(), after.into()])?;
    rows.iter()
        .map(|row| Ok((row.int(20)?, run(row)?)))
        .collect()
}

/// Returns all runs of a task, the oldest first.
fn of_task(tx: &mut dyn Tx, project: i64, task: Id) -> Result<Vec<Run>, StoreError> {
    let key = task::key(tx, project, task)?;
    let sql = format!("{SELECT}r.task = $1 order by r.key");
    tx.query(&sql, &[key.into()])?.iter().map(run).collect()
}

/// Returns all runs of a batch in the order of their actions.
fn of_batch(tx: &mut dyn Tx, project: i64, batch: Id) -> Result<Vec<Run>, StoreError> {
    let key = batch::key(tx, project, batch)?;
    let sql = format!("{SELECT}r.batch = $1 order by r.action, r.key");
    tx.query(&sql, &[key.into()])?.iter().map(run).collect()
}

/// Returns all runs of a project that have a task, the oldest first.
fn of_tasks(tx: &mut dyn Tx, project: i64) -> Result<Vec<Run>, StoreError> {
    let sql = format!("{SELECT}r.project = $1 and r.task is not null order by r.key");
    tx.query(&sql, &[project.into()])?.iter().map(run).collect()
}

/// Returns the key of a run.
pub(crate) fn key(tx: &mut dyn Tx, project: i64, id: Id) -> Result<i64, StoreError> {
    match tx.first(KEY, &[id.as_str().into(), project.into()])? {
        Some(row) => row.int(0),
        None => Err(StoreError::unknown("run", id.as_str())),
    }
}

/// Returns a run by its key.
pub(crate) fn by_key(tx: &mut dyn Tx, key: i64) -> Result<Option<Run>, StoreError> {
    let sql = format!("{SELECT}r.key = $1");
    tx.first(&sql, &[key.into()])?.as_ref().map(run).transpose()
}

/// Returns a page of runs, the newest first.
pub(super) fn runs(tx: &mut dyn Tx, project: i64, page: RunPage) -> Result<Vec<Run>, StoreError> {
    let before = match page.before {
        None => i64::MAX,
        Some(id) => key(tx, project, id)?,
    };
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let mut values: Vec<Value<'_>> = vec![project.into(), before.into(), limit.into()];
    let mut filter = "r.project = $1 and r.key < $2".to_owned();
    if let Some(state) = page.state {
        filter.push_str(" and r.state = $4");
        values.push(state.as_str().into());
    }
    let sql = format!("{SELECT}{filter} order by r.key desc limit $3");
    tx.query(&sql, &values)?.iter().map(run).collect()
}

/// Returns the runs that a condition holds for.
pub(super) fn select(
    tx: &mut dyn Tx,
    condition: &str,
    values: &[Value<'_>],
) -> Result<Vec<Run>, StoreError> {
    let rows = tx.query(&format!("{SELECT}{condition}"), values)?;
    rows.iter().map(run).collect()
}

/// Reads a row.
pub(super) fn run(row: &Row) -> Result<Run, StoreError> {
    let name = |at| row.text(at)?.parse::<Id>();
    Ok(Run {
        id: name(0)?,
        project: row.text(1)?.to_owned(),
        prompt: name(2)?,
        kind: RunKind::parse(row, 3)?,
        parent: row.maybe(4, Row::text)?.map(str::parse).transpose()?,
        state: RunState::parse(row, 5)?,
        worker: row.maybe(6, Row::text)?.map(str::to_owned),
        attempt: row.int(7)?,
        queued_at: row.int(8)?,
        started_at: row.maybe(9, Row::int)?,
        lease_until: row.maybe(10, Row::int)?,
        finished_at: row.maybe(11, Row::int)?,
        outcome: document(row, 12, "an outcome")?,
        records: row.int(13)?,
        request: document(row, 14, "a request")?,
        stop_requested_at: row.maybe(15, Row::int)?,
        imported_at: row.maybe(16, Row::int)?,
        task: row.maybe(17, Row::text)?.map(str::parse).transpose()?,
        batch: match row.maybe(18, Row::text)? {
            Some(id) => Some((id.parse()?, row.int(19)?)),
            None => None,
        },
    })
}

fn document(row: &Row, at: usize, what: &str) -> Result<Option<Json>, StoreError> {
    let text = row.maybe(at, Row::text)?;
    text.map(serde_json::from_str)
        .transpose()
        .map_err(|error| row.damaged(format!("a run has {what} that is not JSON: {error}")))
}
