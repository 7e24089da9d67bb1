//! The status of tasks, from their runs, from what was decided about these, and from what the repository says.
//!
//! Nothing else gathers these facts, and what they mean is decided by [`callsheet::task::derive`]. What an agent says of
//! itself is not among them.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::task::{self, Derived, TaskStatus};
use callsheet_store::{Id, Project, Run, Store, Task, Wait};
use serde_json::{Value, json};

use super::gather;
use crate::RunError;

/// What the repository says of the work of tasks.
pub trait Merged {
    /// Tells of each work whether all of it is part of a branch. Work is what lies between two commits.
    ///
    /// What cannot be told, because the branch or a commit is not here, is not merged.
    fn merged(&self, base: &str, work: &[(&str, &str)]) -> Result<Vec<bool>, RunError>;

    /// Returns the paths that differ between two commits; nothing where that cannot be told.
    fn changed(&self, from: &str, to: &str) -> Result<Option<BTreeSet<String>>, RunError>;
}

/// A repository of which nothing is known: nothing is merged, and nothing was taken back.
#[derive(Clone, Copy, Debug)]
pub struct Unmerged;

impl Merged for Unmerged {
    fn merged(&self, _: &str, work: &[(&str, &str)]) -> Result<Vec<bool>, RunError> {
        Ok(vec![false; work.len()])
    }

    fn changed(&self, _: &str, _: &str) -> Result<Option<BTreeSet<String>>, RunError> {
        Ok(None)
    }
}

/// A run of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// The run.
    pub run: Run,
    /// Its document, with what was found out and decided after it finished.
    pub document: Value,
}

/// A task with what follows from its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    /// The task.
    pub task: Task,
    /// Its runs, the oldest first.
    pub runs: Vec<TaskRun>,
    /// The tasks that it depends on and that are not done.
    pub waits_for: Vec<Id>,
    /// Its status and the reasons for it.
    pub derived: Derived,
}

/// Returns all tasks of a project with their status, the oldest first.
pub fn statuses(
    store: &Store,
    project: &Project,
    merged: &impl Merged,
) -> Result<Vec<TaskState>, RunError> {
    let tasks = store.tasks(project).wait()?;
    states(load(store, project, tasks)?, merged)
}

/// Returns a task with its status, by its id or a unique prefix.
///
/// Only the task and what it depends on is looked at.
pub fn status(
    store: &Store,
    project: &Project,
    name: &str,
    merged: &impl Merged,
) -> Result<TaskState, RunError> {
    let wanted = store.task(project, name).wait()?;
    let mut tasks = store.tasks(project).wait()?;
    let depends: BTreeMap<Id, &[Id]> = tasks
        .iter()
        .map(|task| (task.id, &task.depends[..]))
        .collect();
    let (mut needed, mut waiting) = (BTreeSet::new(), vec![wanted.id]);
    while let Some(id) = waiting.pop() {
        if needed.insert(id) {
            waiting.extend(depends.get(&id).copied().unwrap_or_default());
        }
    }
    tasks.retain(|task| needed.contains(&task.id));
    let states = states(load(store, project, tasks)?, merged)?;
    let found = states.into_iter().find(|state| state.task.id == wanted.id);
    found.ok_or_else(|| RunError::Unknown {
        what: "task",
        name: name.to_owned(),
        known: Vec::new(),
    })
}

/// A task with its runs, before anything follows from them.
pub(super) struct Loaded {
    pub(super) task: Task,
    pub(super) runs: Vec<TaskRun>,
}

fn load(store: &Store, project: &Project, tasks: Vec<Task>) -> Result<Vec<Loaded>, RunError> {
    let mut of_task: BTreeMap<Id, Vec<Run>> = BTreeMap::new();
    for run in store.runs_of_tasks(project).wait()? {
        if let Some(task) = run.task {
            of_task.entry(task).or_default().push(run);
        }
    }
    let ids: Vec<Id> = tasks
        .iter()
        .filter_map(|task| of_task.get(&task.id))
        .flatten()
        .map(|run| run.id)
        .collect();
    let mut annotations = store.annotations(project, &ids).wait()?;
    let mut run = |run: Run| {
        let annotations = json!(annotations.remove(&run.id).unwrap_or_default());
        let document = task::annotated(&crate::document::document(&run), &annotations);
        TaskRun { run, document }
    };
    Ok(tasks
        .into_iter()
        .map(|task| {
            let runs = of_task.remove(&task.id).unwrap_or_default();
            let runs = runs.into_iter().map(&mut run).collect();
            Loaded { task, runs }
        })
        .collect())
}

/// Derives the status of tasks, in the order in which they came; all that they depend on has to be among them.
fn states(loaded: Vec<Loaded>, merged: &impl Merged) -> Result<Vec<TaskState>, RunError> {
    let mut facts = gather::facts(&loaded, merged)?;
    let order = in_order(&loaded);
    let mut derived: BTreeMap<Id, (Vec<Id>, Derived)> = BTreeMap::new();
    for at in order {
        let task = &loaded[at].task;
        let is_done = |id: &Id| {
            let found = derived.get(id);
            found.is_some_and(|(_, derived)| derived.status == TaskStatus::Done)
        };
        let depends = task.depends.iter().copied();
        let waits_for: Vec<Id> = depends.filter(|id| !is_done(id)).collect();
        facts[at].blocked = !waits_for.is_empty();
        derived.insert(task.id, (waits_for, task::derive(&facts[at])));
    }
    let states = loaded.into_iter().filter_map(|Loaded { task, runs }| {
        let (waits_for, derived) = derived.remove(&task.id)?;
        Some(TaskState {
            task,
            runs,
            waits_for,
            derived,
        })
    });
    Ok(states.collect())
}

/// Returns the indexes of tasks, each behind what it depends on; those of a cycle come last, and none of them is done.
fn in_order(loaded: &[Loaded]) -> Vec<usize> {
    let place: BTreeMap<Id, usize> = (0..)
        .zip(loaded)
        .map(|(at, one)| (one.task.id, at))
        .collect();
    let mut missing: Vec<usize> = loaded.iter().map(|one| one.task.depends.len()).collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); loaded.len()];
    for (at, one) in loaded.iter().enumerate() {
        for on in &one.task.depends {
            match place.get(on) {
                Some(on) => needed_by[*on].push(at),
                // What is not there is never done; it holds nobody up here.
                None => missing[at] -= 1,
            }
        }
    }
    let mut order: Vec<usize> = (0..loaded.len()).filter(|at| missing[*at] == 0).collect();
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        for waiting in &needed_by[at] {
            missing[*waiting] -= 1;
            if missing[*waiting] == 0 {
                order.push(*waiting);
            }
        }
    }
    order.extend((0..loaded.len()).filter(|at| missing[*at] > 0));
    order
}

#[cfg(test)]
mod tests;
