//! Tasks: what is to be done, and which tasks have to be done first.
//!
//! What a task asks for never changes, and the store does not look into it. Whether a task is done is not stored: that
//! follows from its runs.

mod depend;

use callsheet::Event;
use serde::Serialize;
use serde_json::Value as Json;

use crate::db::{Row, Tx, Value};
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, event, id, mark};

pub(crate) use depend::mark_of as mark_of_dependency;

/// A task that is to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// What it is called.
    pub title: String,
    /// What it asks for.
    pub body: Json,
    /// The tasks that have to be done first.
    pub depends: Vec<Id>,
}

/// A task as it is stored. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// The name of the task.
    pub id: Id,
    /// What it is called.
    pub title: String,
    /// What it asks for.
    pub body: Json,
    /// When it was added.
    pub created_at: i64,
    /// When it was cancelled.
    pub cancelled_at: Option<i64>,
    /// The tasks that have to be done first, in the order of their ids.
    pub depends: Vec<Id>,
}

/// The columns of a task that its mark covers.
pub(crate) struct Columns<'t> {
    pub(crate) id: &'t str,
    /// The key of its project.
    pub(crate) project: i64,
    pub(crate) title: &'t str,
    /// The body as JSON.
    pub(crate) body: &'t str,
    pub(crate) created_at: i64,
    pub(crate) cancelled_at: Option<i64>,
}

impl Columns<'_> {
    fn values(&self) -> Vec<Value<'_>> {
        vec![
            self.id.into(),
            self.project.into(),
            self.title.into(),
            self.body.into(),
            self.created_at.into(),
            self.cancelled_at.into(),
        ]
    }

    /// Returns the mark.
    pub(crate) fn mark(&self) -> Vec<u8> {
        mark::of("task", &self.values())
    }

    /// Adds the row and returns its key; nothing where the id is taken.
    pub(crate) fn insert(&self, tx: &mut dyn Tx) -> Result<Option<i64>, StoreError> {
        let mut values = self.values();
        values.push(self.mark().into());
        let row = tx.first(INSERT, &values)?;
        row.map(|row| row.int(0)).transpose()
    }
}

const INSERT: &str = "insert into task (id, project, title, body, created_at, cancelled_at, mark) \
    values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing returning key";

const SELECT: &str =
    "select t.id, t.title, t.body, t.created_at, t.cancelled_at, t.key from task t where ";

const ONE: &str = "select key, title, body, created_at, cancelled_at from task \
    where id = $1 and project = $2";

const OPEN_RUN: &str = "select id from run where task = $1 and state <> 'finished'";

const CANCEL: &str = "update task set cancelled_at = $2, mark = $3 where key = $1";

impl Store {
    /// Adds a task and returns its name.
    pub async fn add_task(&self, project: &Project, task: NewTask) -> Result<Id, StoreError> {
        let project = project.clone();
        self.write(move |tx| add(tx, &project, &task)).await
    }

    /// Returns a task by its id or a prefix of it that no other task of the project has.
    pub async fn task(&self, project: &Project, name: &str) -> Result<Task, StoreError> {
        let (key, name) = (project.key, name.to_owned());
        self.read(move |tx| {
            let sql = format!(
                "{SELECT}t.id >= $1 and t.id < $2 and t.project = {key} order by t.id limit 6"
            );
            let row = id::find(tx, "task", &name, &sql)?;
            let depends = depend::of_task(tx, row.int(5)?)?;
            task(&row, depends)
        })
        .await
    }

    /// Returns all tasks of a project, the oldest first.
    pub async fn tasks(&self, project: &Project) -> Result<Vec<Task>, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let mut depends = depend::of_project(tx, key)?;
            let rows = tx.query(
                &format!("{SELECT}t.project = $1 order by t.key"),
                &[key.into()],
            )?;
            let task = |row: &Row| {
                let needs = depends.remove(row.text(0)?).unwrap_or_default();
                let needs = needs.iter().map(|id| id.parse());
                task(row, needs.collect::<Result<_, _>>()?)
            };
            rows.iter().map(task).collect()
        })
        .await
    }

    /// Cancels a task for good; `false` where it is cancelled already.
    ///
    /// A run of it that is not over goes on; no other one can be queued.
    pub async fn cancel_task(&self, project: &Project, task: Id) -> Result<bool, StoreError> {
        let project = project.clone();
        self.write(move |tx| cancel(tx, &project, task)).await
    }
}

fn add(tx: &mut dyn Tx, project: &Project, new: &NewTask) -> Result<Id, StoreError> {
    if !is_title(&new.title) {
        return Err(StoreError::refused("a task needs a title"));
    }
    project::lock(tx, project.key)?;
    let body = new.body.to_string();
    let at = tx.now()?;
    let (id, key) = id::fresh(tx, "task", at, |tx, id| {
        let columns = Columns {
            id: id.as_str(),
            project: project.key,
            title: &new.title,
            body: &body,
            created_at: at,
            cancelled_at: None,
        };
        columns.insert(tx)
    })?;
    for needs in &new.depends {
        depend::insert(tx, project, (id, key), *needs)?;
    }
    let facts = [
        ("task", id.to_string().into()),
        ("title", new.title.clone().into()),
        ("depends", serde_json::json!(new.depends)),
    ];
    let event = Event::new("task:added", facts, format!("task {id} is added"));
    event::append(tx, project, &[event.into()])?;
    Ok(id)
}

fn cancel(tx: &mut dyn Tx, project: &Project, id: Id) -> Result<bool, StoreError> {
    project::lock(tx, project.key)?;
    let row = find(tx, project.key, id)?;
    if row.maybe(4, Row::int)?.is_some() {
        return Ok(false);
    }
    let at = tx.now()?;
    let columns = Columns {
        id: id.as_str(),
        project: project.key,
        title: row.text(1)?,
        body: row.text(2)?,
        created_at: row.int(3)?,
        cancelled_at: Some(at),
    };
    let values = [row.int(0)?.into(), at.into(), columns.mark().into()];
    tx.execute(CANCEL, &values)?;
    let facts = [("task", id.to_string().into())];
    let event = Event::new("task:cancelled", facts, format!("task {id} is cancelled"));
    event::append(tx, project, &[event.into()])?;
    Ok(true)
}

/// Tells whether a text can be the title of a task.
pub(crate) fn is_title(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Returns the row of a task, if there is one: its key, title, body, and when it was added and cancelled.
pub(crate) fn row(tx: &mut dyn Tx, project: i64, id: Id) -> Result<Option<Row>, StoreError> {
    tx.first(ONE, &[id.as_str().into(), project.into()])
}

/// Returns the row of a task that has to be there.
fn find(tx: &mut dyn Tx, project: i64, id: Id) -> Result<Row, StoreError> {
    row(tx, project, id)?.ok_or_else(|| StoreError::unknown("task", id.as_str()))
}

/// Returns the key of a task.
pub(crate) fn key(tx: &mut dyn Tx, project: i64, id: Id) -> Result<i64, StoreError> {
    find(tx, project, id)?.int(0)
}

/// Returns the key of a task that a run can be queued for.
///
/// Whoever calls holds the lock of the project.
pub(crate) fn vacant(tx: &mut dyn Tx, project: &Project, id: Id) -> Result<i64, StoreError> {
    let row = find(tx, project.key, id)?;
    if row.maybe(4, Row::int)?.is_some() {
        return Err(StoreError::refused(format!("task `{id}` is cancelled")));
    }
    let key = row.int(0)?;
    if let Some(open) = tx.first(OPEN_RUN, &[key.into()])? {
        let run = open.text(0)?;
        let why = format!("task `{id}` has a run that is not over: `{run}`");
        return Err(StoreError::refused(why));
    }
    Ok(key)
}

/// Reads a row.
fn task(row: &Row, depends: Vec<Id>) -> Result<Task, StoreError> {
    let id: Id = row.text(0)?.parse()?;
    let body = serde_json::from_str(row.text(2)?).map_err(|error| {
        row.damaged(format!("task `{id}` has a body that is not JSON: {error}"))
    })?;
    Ok(Task {
        id,
        title: row.text(1)?.to_owned(),
        body,
        created_at: row.int(3)?,
        cancelled_at: row.maybe(4, Row::int)?,
        depends,
    })
}
