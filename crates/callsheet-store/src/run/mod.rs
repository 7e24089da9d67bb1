//! Runs: one start of one agent on one sealed prompt.
//!
//! Runs are only ever added. A retry or a continuation is a run of its own with a parent, and a run that has finished
//! never changes again.

mod end;
mod events;
mod filter;
mod list;
mod start;
mod stop;

use callsheet::Event;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::batch::{self, BatchClaim};
use crate::db::{Row, Tx, Value};
use crate::event::{self, NewEvent};
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, id, locks, mark, task};

pub(crate) use end::End;
pub use events::{EventFilter, EventPages};
pub use filter::RunFilter;
pub use list::RunPage;
pub(crate) use list::{by_key, key, queued, running};
pub(crate) use stop::STOPPING;

/// How a run came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// The first run of its line.
    First,
    /// The same once more, after a run that has finished.
    Retry,
    /// More of it, after a run that has finished.
    Continue,
}

impl RunKind {
    /// Returns the word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Continue => "continue",
        }
    }

    pub(crate) fn parse(row: &Row, at: usize) -> Result<Self, StoreError> {
        let known = [Self::First, Self::Retry, Self::Continue];
        let word = row.text(at)?;
        let found = known.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| row.damaged(format!("`{word}` is not a kind of run")))
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It waits for a worker.
    Queued,
    /// A worker has claimed it.
    Running,
    /// It is over.
    Finished,
}

impl RunState {
    /// Returns the word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finished => "finished",
        }
    }

    fn parse(row: &Row, at: usize) -> Result<Self, StoreError> {
        let known = [Self::Queued, Self::Running, Self::Finished];
        let word = row.text(at)?;
        let found = known.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| row.damaged(format!("`{word}` is not a state of a run")))
    }
}

/// A run that is to be queued.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// The sealed prompt that the agent gets.
    pub prompt: Id,
    /// How it comes to be.
    pub kind: RunKind,
    /// The finished run before it; none for the first one.
    pub parent: Option<Id>,
    /// What is asked for, such as the runner, the adapter and the model; `null` says nothing.
    pub request: Json,
    /// The task that it works on, if any.
    pub task: Option<Id>,
    /// The batch that it belongs to, in the hands of whoever queues it, and the number of the action in it, if any.
    pub batch: Option<(BatchClaim, i64)>,
}

/// A run as it is stored. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The name of the run.
    pub id: Id,
    /// The project that it belongs to.
    pub project: String,
    /// The sealed prompt that the agent gets.
    pub prompt: Id,
    /// How it came to be.
    pub kind: RunKind,
    /// The run before it.
    pub parent: Option<Id>,
    /// Where it stands.
    pub state: RunState,
    /// Who has claimed it last.
    pub worker: Option<String>,
    /// How often it was claimed.
    pub attempt: i64,
    /// When it was queued.
    pub queued_at: i64,
    /// When it was claimed first.
    pub started_at: Option<i64>,
    /// Until when it is the worker's alone.
    pub lease_until: Option<i64>,
    /// When it was over.
    pub finished_at: Option<i64>,
    /// How it ended.
    pub outcome: Option<Json>,
    /// How many records its log has.
    pub records: i64,
    /// What was asked for when it was queued.
    pub request: Option<Json>,
    /// When somebody asked for it to stop.
    pub stop_requested_at: Option<i64>,
    /// When it was imported; none for a run of this store.
    pub imported_at: Option<i64>,
    /// The task that it works on, if any.
    pub task: Option<Id>,
    /// The batch that it belongs to, and the number of the action in it, if any.
    pub batch: Option<(Id, i64)>,
}

const PROMPT_KEY: &str = "select key from prompt where id = $1 and project = $2";

const PARENT: &str = "select key, state from run where id = $1 and project = $2";

const INSERT: &str = "insert into run (id, project, prompt, parent, kind, queued_at, mark, request, task, batch, action) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (id) do nothing returning key";

impl Store {
    /// Queues a run and returns its name.
    ///
    /// A task that is cancelled, or has a run that is not over, is refused, and so is a batch whose claim is lost.
    pub async fn queue_run(&self, project: &Project, run: NewRun) -> Result<Id, StoreError> {
        let project = project.clone();
        self.write(move |tx| Ok(queue(tx, &project, &run)?.0)).await
    }

    /// Returns a run by its id or a prefix of it that no other run of the project has.
    pub async fn run(&self, project: &Project, name: &str) -> Result<Run, StoreError> {
        let (key, name) = (project.key, name.to_owned());
        self.read(move |tx| {
            let sql = list::by_prefix(key);
            list::run(&id::find(tx, "run", &name, &sql)?)
        })
        .await
    }

    /// Returns a page of the runs of a project, the newest first.
    pub async fn runs(&self, project: &Project, page: RunPage) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| list::runs(tx, key, page)).await
    }

    /// Returns all runs of a project that are running, the oldest first.
    pub async fn running(&self, project: &Project) -> Result<Vec<Run>, StoreError> {
        let key = project.key;
        self.read(move |tx| list::running(tx, key)).await
    }
}

/// Queues a run within a transaction; returns its name and its key.
fn queue(tx: &mut dyn Tx, project: &Project, run: &NewRun) -> Result<(Id, i64), StoreError> {
    locks::shared(tx)?;
    project::lock(tx, project.key)?;
    let of = |id: Id| [Value::from(id.to_string()), project.key.into()];
    let Some(prompt) = tx.first(PROMPT_KEY, &of(run.prompt))? else {
        return Err(StoreError::unknown("prompt", run.prompt.as_str()));
    };
    let parent = match (run.kind, run.parent) {
        (RunKind::First, None) => None,
        (RunKind::First, Some(_)) => {
            return Err(StoreError::refused("a first run has no parent"));
        }
        (_, None) => {
            let why = format!("a run of kind `{}` needs a parent", run.kind.as_str());
            return Err(StoreError::refused(why));
        }
        (_, Some(id)) => Some(finished(tx, project, id)?),
    };
    let task = run
        .task
        .map(|id| task::vacant(tx, project, id))
        .transpose()?;
    let batch = run
        .batch
        .as_ref()
        .map(|(claim, action)| batch::action(tx, project, claim, *action))
        .transpose()?;
    let request = (!run.request.is_null()).then(|| run.request.to_string());
    let prompt = prompt.int(0)?;
    let at = tx.now()?;
    let (id, key) = id::fresh(tx, "run", at, |tx, id| {
        let mut values: Vec<Value<'_>> = vec![
            id.as_str().into(),
            project.key.into(),
            prompt.into(),
            parent.into(),
            run.kind.as_str().into(),
            at.into(),
        ];
        values.push(mark_of(&values, request.as_deref(), task, batch).into());
        let (batch, action) = batch.unzip();
        values.extend([request.as_deref().into(), task.into()]);
        values.extend([batch.into(), action.into()]);
        let row = tx.first(INSERT, &values)?;
        row.map(|row| row.int(0)).transpose()
    })?;
    event::append(tx, project, &[queued_event(id, run)])?;
    Ok((id, key))
}

/// Returns the key of a run that has to be over.
fn finished(tx: &mut dyn Tx, project: &Project, id: Id) -> Result<i64, StoreError> {
    let Some(row) = tx.first(PARENT, &[id.as_str().into(), project.key.into()])? else {
        return Err(StoreError::unknown("run", id.as_str()));
    };
    if RunState::parse(&row, 1)? != RunState::Finished {
        let why = format!("run `{id}` has not finished, so none can follow it");
        return Err(StoreError::refused(why));
    }
    row.int(0)
}

/// Returns the mark of a run: of its first columns, and of its request, the key of its task, and the key of its batch with
/// the number of the action, where it has them.
///
/// A request is a text and the others are numbers, one for a task and two for a batch, so none passes for another.
pub(crate) fn mark_of(
    columns: &[Value<'_>],
    request: Option<&str>,
    task: Option<i64>,
    batch: Option<(i64, i64)>,
) -> Vec<u8> {
    let mut values = columns.to_vec();
    values.extend(request.map(Value::from));
    values.extend(task.map(Value::from));
    let batch = batch.map(|(key, action)| [key, action].map(Value::from));
    values.extend(batch.into_iter().flatten());
    mark::of("run", &values)
}

fn queued_event(id: Id, run: &NewRun) -> NewEvent {
    let parent = run.parent.map_or(Json::Null, |id| id.to_string().into());
    let mut facts = vec![
        ("run", id.to_string().into()),
        ("prompt", run.prompt.to_string().into()),
        ("kind", run.kind.as_str().into()),
        ("parent", parent),
    ];
    facts.extend(run.task.map(|task| ("task", task.to_string().into())));
    if let Some((claim, action)) = &run.batch {
        let batch = claim.batch.id.to_string();
        facts.extend([("batch", batch.into()), ("action", (*action).into())]);
    }
    NewEvent {
        event: Event::new("run:queued", facts, format!("run {id} is queued")),
        run: Some(id),
    }
}
