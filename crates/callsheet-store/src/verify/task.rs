//! Tasks, what they depend on, and their branches: marks, ids, texts that are JSON, and no cycles.

use std::collections::{BTreeMap, BTreeSet};

use super::{Audit, CHANGED, not_json};
use crate::db::{Row, Tx};
use crate::task::{self, Columns};
use crate::{Id, StoreError, branch};

const TASKS: &str =
    "select id, project, title, body, created_at, cancelled_at, mark from task order by key";

const DEPENDENCIES: &str = "select d.task, d.needs, d.mark, t.id, n.id, t.project, n.project from dependency d \
    left join task t on t.key = d.task left join task n on n.key = d.needs order by d.task, d.needs";

const BRANCHES: &str = "select b.task, b.at, b.refs, b.bundle, b.mark, t.id from branch b \
    left join task t on t.key = b.task order by b.task";

/// Checks tasks one by one.
pub(super) fn tasks(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(TASKS, &[], &mut |row| {
        let what = || format!("task {}", row.text(0).unwrap_or("?"));
        audit.row("tasks", what, || task(&row));
        Ok(())
    })
}

fn task(row: &Row) -> Result<Option<String>, StoreError> {
    let columns = Columns {
        id: row.text(0)?,
        project: row.int(1)?,
        title: row.text(2)?,
        body: row.text(3)?,
        created_at: row.int(4)?,
        cancelled_at: row.maybe(5, Row::int)?,
    };
    if row.bytes(6)? != columns.mark() {
        return Ok(Some(CHANGED.to_owned()));
    }
    let is_id = columns
        .id
        .parse::<Id>()
        .is_ok_and(|parsed| parsed.as_str() == columns.id && parsed.is_of(columns.created_at));
    let wrong = (!is_id).then(|| "has an id that is not that of its time".to_owned());
    Ok(wrong.or_else(|| not_json("a body")(columns.body)))
}

/// Checks dependencies one by one, and that they have no cycle.
pub(super) fn dependencies(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let mut edges = Vec::new();
    tx.each(DEPENDENCIES, &[], &mut |row| {
        let name = |at| row.text(at).unwrap_or("?").to_owned();
        let (task, needs) = (name(3), name(4));
        let what = || format!("the dependency of task {task} on {needs}");
        audit.row("dependencies", what, || dependency(&row));
        edges.push((task, needs));
        Ok(())
    })?;
    for task in stuck(&edges) {
        audit.find(format!("task {task}"), "waits for a cycle of dependencies");
    }
    Ok(())
}

fn dependency(row: &Row) -> Result<Option<String>, StoreError> {
    let (task, needs) = (row.int(0)?, row.int(1)?);
    if row.bytes(2)? != task::mark_of_dependency(task, needs) {
        return Ok(Some(CHANGED.to_owned()));
    }
    let elsewhere = row.maybe(5, Row::int)? != row.maybe(6, Row::int)?;
    Ok(elsewhere.then(|| "is between tasks of two projects".to_owned()))
}

/// Returns the tasks that can never be done: those on a cycle, and those that wait for one of them.
fn stuck(edges: &[(String, String)]) -> BTreeSet<&str> {
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (task, needs) in edges {
        *waits.entry(task).or_default() += 1;
        waits.entry(needs).or_default();
        waiters.entry(needs).or_default().push(task);
    }
    let free = waits.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<&str> = free.map(|(task, _)| *task).collect();
    while let Some(done) = free.pop() {
        waits.remove(done);
        for task in waiters.get(done).into_iter().flatten().copied() {
            let Some(count) = waits.get_mut(task) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                free.push(task);
            }
        }
    }
    waits.into_keys().collect()
}

/// Checks branches one by one.
pub(super) fn branches(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(BRANCHES, &[], &mut |row| {
        let what = || format!("the branch of task {}", row.text(5).unwrap_or("?"));
        audit.row("branches", what, || branch(&row));
        Ok(())
    })
}

fn branch(row: &Row) -> Result<Option<String>, StoreError> {
    let columns = [
        row.int(0)?.into(),
        row.int(1)?.into(),
        row.text(2)?.into(),
        row.bytes(3)?.into(),
    ];
    if row.bytes(4)? != branch::mark_of(&columns) {
        return Ok(Some(CHANGED.to_owned()));
    }
    Ok(not_json("refs")(row.text(2)?))
}
