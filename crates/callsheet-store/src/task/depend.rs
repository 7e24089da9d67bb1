//! Which tasks have to be done before others. A dependency that would close a cycle is refused.

use std::collections::BTreeMap;

use callsheet::Event;
use callsheet::task::cycle;

use super::key;
use crate::db::Tx;
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, event, mark};

const INSERT: &str = "insert into dependency (task, needs, mark) values ($1, $2, $3) \
    on conflict (task, needs) do nothing";

const DELETE: &str = "delete from dependency where task = $1 and needs = $2";

const OF_TASK: &str = "select n.id from dependency d join task n on n.key = d.needs \
    where d.task = $1 order by n.id";

const OF_PROJECT: &str = "select t.id, n.id from dependency d join task t on t.key = d.task \
    join task n on n.key = d.needs where t.project = $1 order by t.id, n.id";

impl Store {
    /// Makes a task depend on another one of the project.
    pub async fn add_dependency(
        &self,
        project: &Project,
        task: Id,
        on: Id,
    ) -> Result<(), StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            let key = key(tx, project.key, task)?;
            insert(tx, &project, (task, key), on)?;
            let said = format!("task {task} depends on {on}");
            append_event(tx, &project, ("task:dependency_added", said), [task, on])
        })
        .await
    }

    /// Makes a task no longer depend on another one; `false` where it did not.
    pub async fn remove_dependency(
        &self,
        project: &Project,
        task: Id,
        on: Id,
    ) -> Result<bool, StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            let keys = [
                key(tx, project.key, task)?.into(),
                key(tx, project.key, on)?.into(),
            ];
            if tx.execute(DELETE, &keys)? == 0 {
                return Ok(false);
            }
            let said = format!("task {task} no longer depends on {on}");
            append_event(tx, &project, ("task:dependency_removed", said), [task, on])?;
            Ok(true)
        })
        .await
    }
}

fn append_event(
    tx: &mut dyn Tx,
    project: &Project,
    (kind, said): (&str, String),
    [task, on]: [Id; 2],
) -> Result<(), StoreError> {
    let facts = [
        ("task", task.to_string().into()),
        ("on", on.to_string().into()),
    ];
    let event = Event::new(kind, facts, said);
    event::append(tx, project, &[event.into()]).map(|_| ())
}

/// Adds a dependency of a task, given with its key. Whoever calls holds the lock of the project.
pub(super) fn insert(
    tx: &mut dyn Tx,
    project: &Project,
    (task, task_key): (Id, i64),
    on: Id,
) -> Result<(), StoreError> {
    let needs = key(tx, project.key, on)?;
    if task == on {
        let why = format!("task `{task}` cannot depend on itself");
        return Err(StoreError::refused(why));
    }
    if let Some(path) = cycle(&of_project(tx, project.key)?, task.as_str(), on.as_str()) {
        let names: Vec<String> = path.iter().map(|id| format!("`{id}`")).collect();
        let why = format!(
            "task `{task}` cannot depend on `{on}`, because that closes a cycle: {}",
            names.join(" → ")
        );
        return Err(StoreError::refused(why));
    }
    let mark = mark_of(task_key, needs);
    let values = [task_key.into(), needs.into(), mark.into()];
    if tx.execute(INSERT, &values)? == 0 {
        let why = format!("task `{task}` already depends on `{on}`");
        return Err(StoreError::refused(why));
    }
    Ok(())
}

/// Returns the mark of a dependency between the keys of two tasks.
pub(crate) fn mark_of(task: i64, needs: i64) -> Vec<u8> {
    mark::of("dependency", &[task.into(), needs.into()])
}

/// Returns what a task depends on, in the order of the ids.
pub(super) fn of_task(tx: &mut dyn Tx, key: i64) -> Result<Vec<Id>, StoreError> {
    let rows = tx.query(OF_TASK, &[key.into()])?;
    rows.iter().map(|row| row.text(0)?.parse()).collect()
}

/// Returns what each task of a project depends on, in the order of the ids.
pub(super) fn of_project(
    tx: &mut dyn Tx,
    project: i64,
) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
    let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in tx.query(OF_PROJECT, &[project.into()])? {
        let needs = edges.entry(row.text(0)?.to_owned()).or_default();
        needs.push(row.text(1)?.to_owned());
    }
    Ok(edges)
}
