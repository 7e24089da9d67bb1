//! Tasks: they come back as they were added, wait for each other without cycles, and have one open run at a time.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use callsheet_store::{
    Claim, Id, NewRun, NewTask, Project, RunKind, Store, StoreError, Task, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::on_both;
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, claim, findings, seqs};

on_both!(
    a_task_comes_back_as_it_was_added,
    a_task_is_found_by_a_unique_prefix,
    a_task_that_cannot_be_is_refused,
    a_cancelled_task_stays_cancelled,
    dependencies_are_added_and_removed,
    a_cycle_is_refused_with_its_path,
    any_dependencies_are_without_cycles,
    dependencies_of_many_threads_are_without_cycles,
    a_task_has_one_open_run,
    runs_of_tasks_are_told_apart,
    one_of_many_runs_of_a_task_is_taken,
);

const LONG: Duration = Duration::from_mins(1);

/// Adds a task.
pub(crate) fn add(store: &Store, project: &Project, title: &str, depends: &[Id]) -> Id {
    let task = NewTask {
        title: title.to_owned(),
        body: json!({"description": title, "write_scope": ["src/**"]}),
        depends: depends.to_vec(),
    };
    store.add_task(project, task).wait().unwrap()
}

/// Makes a run of a task that can be queued.
pub(crate) fn run_of(store: &Store, project: &Project, task: Id) -> NewRun {
    NewRun {
        prompt: prompts::seal(store, project, "A task.").0.id,
        kind: RunKind::First,
        parent: None,
        request: json!({"runner": "local"}),
        task: Some(task),
        batch: None,
    }
}

/// Makes a finished run of a task.
pub(crate) fn finished(store: &Store, project: &Project, task: Id) -> Id {
    finish(store, project, run_of(store, project, task))
}

/// Makes a finished run without a task.
pub(crate) fn finished_free(store: &Store, project: &Project) -> Id {
    let prompt = prompts::seal(store, project, "A task.").0.id;
    let new = NewRun {
        prompt,
        kind: RunKind::First,
        parent: None,
        request: Value::Null,
        task: None,
        batch: None,
    };
    finish(store, project, new)
}

fn finish(store: &Store, project: &Project, new: NewRun) -> Id {
    let claim = store.start_run(project, new, "w", LONG, |_| Ok(())).wait();
    let claim: Claim = claim.unwrap().unwrap();
    assert!(
        store
            .finish_run(&claim, &json!({"exit": 0}))
            .wait()
            .unwrap()
    );
    claim.run.id
}

fn demo(place: &TestStore) -> (Store, Project) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    (store, project)
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    result.unwrap_err().to_string()
}

fn task(store: &Store, project: &Project, id: Id) -> Task {
    store.task(project, id.as_str()).wait().unwrap()
}

fn a_task_comes_back_as_it_was_added(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    assert_eq!(store.tasks(&project).wait(), Ok(vec![]));
    let first = add(&store, &project, "Log in ‹safely›", &[]);
    let new = NewTask {
        title: "Second".to_owned(),
        body: json!({"description": "a\u{0}\nb", "price": 0.1, "deep": [[{"a": null}]]}),
        depends: vec![first],
    };
    let second = store.add_task(&project, new.clone()).wait().unwrap();
    add(&store, &other, "Elsewhere", &[]);
    let third = add(&store, &project, "Third", &[second, first]);

    let tasks = store.tasks(&project).wait().unwrap();
    let ids: Vec<Id> = tasks.iter().map(|task| task.id).collect();
    assert_eq!(ids, [first, second, third]);
    assert_eq!(tasks[0].title, "Log in ‹safely›");
    assert_eq!((&tasks[1].title, &tasks[1].body), (&new.title, &new.body));
    assert_eq!(tasks[1].depends, [first]);
    assert_eq!(tasks[1].created_at, second.at());
    assert_eq!(tasks[1].cancelled_at, None);
    let mut needs = [first, second];
    needs.sort();
    assert_eq!(tasks[2].depends, needs);
    for found in tasks {
        assert_eq!(task(&store, &project, found.id), found);
    }
    let stored = store.events_since(&project, 1, 1).wait().unwrap();
    let stored = &stored[0];
    assert_eq!(
        (stored.event.kind.as_str(), stored.run),
        ("task:added", None)
    );
    assert_eq!(
        Value::from(stored.event.payload.clone()),
        json!({
            "task": second, "title": "Second", "depends": [first],
            "message": format!("task {second} is added"),
        })
    );
    assert_eq!(findings(&store), []);
    let verified = store.verify(|_| ()).wait().unwrap();
    assert_eq!(
        (verified.checked["tasks"], verified.checked["dependencies"]),
        (4, 3)
    );
}

fn a_task_is_found_by_a_unique_prefix(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let ids: Vec<Id> = (0..7)
        .map(|n| add(&store, &project, &format!("Task {n}"), &[]))
        .collect();
    for id in &ids {
        let upper = id.to_string().to_uppercase();
        assert_eq!(store.task(&project, &upper).wait().unwrap().id, *id);
        assert_eq!(
            refused(store.task(&other, id.as_str()).wait()),
            format!("no task `{id}`")
        );
    }
    let StoreError::Unknown {
        what, candidates, ..
    } = store
        .task(&project, &ids[0].as_str()[..2])
        .wait()
        .unwrap_err()
    else {
        panic!("a prefix of all is ambiguous");
    };
    assert_eq!((what, candidates.len()), ("task", 5));
    for unknown in ["zzz", "", "%"] {
        assert_eq!(
            refused(store.task(&project, unknown).wait()),
            format!("no task `{unknown}`")
        );
    }
}

fn a_task_that_cannot_be_is_refused(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let first = add(&store, &project, "First", &[]);
    let strange = add(&store, &other, "Strange", &[]);
    let before = seqs(&store, &project).len();
    let ask = |title: &str, depends: &[Id]| {
        let task = NewTask {
            title: title.to_owned(),
            body: Value::Null,
            depends: depends.to_vec(),
        };
        refused(store.add_task(&project, task).wait())
    };
    assert_eq!(ask(" \n", &[]), "a task needs a title");
    assert_eq!(
        ask("a\u{0}b", &[]),
        "a text with the character NUL cannot be stored"
    );
    assert_eq!(ask("Second", &[strange]), format!("no task `{strange}`"));
    let twice = ask("Second", &[first, first]);
    let (_, rest) = twice.split_at("task `".len() + 14);
    assert_eq!(rest, format!("` already depends on `{first}`"));
    assert_eq!(store.tasks(&project).wait().unwrap().len(), 1);
    assert_eq!(seqs(&store, &project).len(), before);
    let new = run_of(&store, &project, strange);
    assert_eq!(
        refused(store.queue_run(&project, new).wait()),
        format!("no task `{strange}`")
    );
    assert_eq!(
        refused(store.runs_of_task(&project, strange).wait()),
        format!("no task `{strange}`")
    );
}

fn a_cancelled_task_stays_cancelled(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let id = add(&store, &project, "First", &[]);
    let done = finished(&store, &project, id);
    assert_eq!(store.cancel_task(&project, id).wait(), Ok(true));
    let cancelled = task(&store, &project, id);
    assert!(cancelled.cancelled_at.unwrap() >= cancelled.created_at);
    assert_eq!(store.cancel_task(&project, id).wait(), Ok(false));
    assert_eq!(task(&store, &project, id), cancelled);
    let new = run_of(&store, &project, id);
    let why = format!("task `{id}` is cancelled");
    assert_eq!(refused(store.queue_run(&project, new.clone()).wait()), why);
    let started = store.start_run(&project, new, "w", LONG, |_| Ok(()));
    assert_eq!(refused(started.wait()), why);
    let runs = store.runs_of_task(&project, id).wait().unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [done]);
    let events = store.events_since(&project, 0, usize::MAX).wait().unwrap();
    let cancelled = events.iter().filter(|it| it.event.kind == "task:cancelled");
    let messages: Vec<&str> = cancelled.map(|it| it.event.message()).collect();
    assert_eq!(messages, [format!("task {id} is cancelled")]);
    assert_eq!(
        refused(store.cancel_task(&other, id).wait()),
        format!("no task `{id}`")
    );
    assert_eq!(findings(&store), []);
}

fn dependencies_are_added_and_removed(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let [a, b] = ["a", "b"].map(|title| add(&store, &project, title, &[]));
    let strange = add(&store, &other, "c", &[]);
    assert_eq!(store.add_dependency(&project, a, b).wait(), Ok(()));
    assert_eq!(task(&store, &project, a).depends, [b]);
    assert_eq!(task(&store, &project, b).depends, []);
    let twice = store.add_dependency(&project, a, b);
    assert_eq!(
        refused(twice.wait()),
        format!("task `{a}` already depends on `{b}`")
    );
    for (task, on) in [(a, strange), (strange, a)] {
        let unknown = format!("no task `{strange}`");
        let added = store.add_dependency(&project, task, on);
        assert_eq!(refused(added.wait()), unknown);
        let removed = store.remove_dependency(&project, task, on);
        assert_eq!(refused(removed.wait()), unknown);
    }
    assert_eq!(store.remove_dependency(&project, b, a).wait(), Ok(false));
    assert_eq!(store.remove_dependency(&project, a, b).wait(), Ok(true));
    assert_eq!(store.remove_dependency(&project, a, b).wait(), Ok(false));
    assert_eq!(task(&store, &project, a).depends, []);
    let messages: Vec<(String, String)> = store
        .events_since(&project, 2, 9)
        .wait()
        .unwrap()
        .iter()
        .map(|it| (it.event.kind.clone(), it.event.message().to_owned()))
        .collect();
    assert_eq!(
        messages,
        [
            (
                "task:dependency_added".to_owned(),
                format!("task {a} depends on {b}")
            ),
            (
                "task:dependency_removed".to_owned(),
                format!("task {a} no longer depends on {b}")
            ),
        ]
    );
    assert_eq!(findings(&store), []);
}

fn a_cycle_is_refused_with_its_path(place: &TestStore) {
    let (store, project) = demo(place);
    let a = add(&store, &project, "a", &[]);
    let b = add(&store, &project, "b", &[a]);
    let c = add(&store, &project, "c", &[b]);
    let depend = |task, on| refused(store.add_dependency(&project, task, on).wait());
    assert_eq!(depend(a, a), format!("task `{a}` cannot depend on itself"));
    assert_eq!(
        depend(a, c),
        format!(
            "task `{a}` cannot depend on `{c}`, because that closes a cycle: `{a}` → `{c}` → `{b}` → `{a}`"
        )
    );
    store.remove_dependency(&project, b, a).wait().unwrap();
    assert_eq!(store.add_dependency(&project, a, c).wait(), Ok(()));
    assert_eq!(findings(&store), []);
}

/// Tells whether one can get from a task to another over dependencies.
fn leads(edges: &BTreeSet<(usize, usize)>, from: usize, to: usize) -> bool {
    let mut reached = BTreeSet::from([from]);
    loop {
        let next = edges.iter().filter(|(task, _)| reached.contains(task));
        let next: BTreeSet<usize> = next.map(|(_, on)| *on).chain(reached.clone()).collect();
        if next == reached {
            return reached.contains(&to);
        }
        reached = next;
    }
}

/// Whatever is added and removed, the store holds what a plain set of edges without cycles holds.
fn any_dependencies_are_without_cycles(place: &TestStore) {
    const TASKS: usize = 5;
    let store = place.open();
    let steps = prop::collection::vec((any::<bool>(), 0..TASKS, 0..TASKS), 1..25);
    let mut runner = TestRunner::new(Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    });
    let number = std::cell::Cell::new(0);
    let tried = runner.run(&steps, |steps| {
        number.set(number.get() + 1);
        let name = format!("p{}", number.get());
        let project = store.project(&name).wait().unwrap();
        let ids: Vec<Id> = (0..TASKS)
            .map(|n| add(&store, &project, &format!("t{n}"), &[]))
            .collect();
        let mut edges = BTreeSet::new();
        for (adds, task, on) in steps {
            let (a, b) = (ids[task], ids[on]);
            if adds {
                let fits = !edges.contains(&(task, on)) && !leads(&edges, on, task);
                let added = store.add_dependency(&project, a, b).wait();
                prop_assert_eq!(added.is_ok(), fits, "{:?}", added);
                edges.extend(fits.then_some((task, on)));
            } else {
                let was = edges.remove(&(task, on));
                prop_assert_eq!(store.remove_dependency(&project, a, b).wait(), Ok(was));
            }
        }
        let mut wanted: Vec<(Id, Id)> = edges.iter().map(|(a, b)| (ids[*a], ids[*b])).collect();
        wanted.sort();
        let tasks = store.tasks(&project).wait().unwrap();
        let mut found: Vec<(Id, Id)> = tasks
            .iter()
            .flat_map(|task| task.depends.iter().map(|on| (task.id, *on)))
            .collect();
        found.sort();
        prop_assert_eq!(found, wanted);
        Ok(())
    });
    tried.unwrap();
    assert_eq!(findings(&store), []);
}

/// Each thread adds the edges of a ring from another place on; together they would close it.
fn dependencies_of_many_threads_are_without_cycles(place: &TestStore) {
    const TASKS: usize = 6;
    let (store, project) = demo(place);
    let ids: Vec<Id> = (0..TASKS)
        .map(|n| add(&store, &project, &format!("t{n}"), &[]))
        .collect();
    let barrier = Barrier::new(TASKS);
    let added: usize = thread::scope(|scope| {
        let asked: Vec<_> = (0..TASKS)
            .map(|start| {
                let (store, project, ids, barrier) = (place.open(), &project, &ids, &barrier);
                scope.spawn(move || {
                    let add = |step: usize| {
                        let (task, on) = ((start + step) % TASKS, (start + step + 1) % TASKS);
                        store.add_dependency(project, ids[task], ids[on]).wait()
                    };
                    barrier.wait();
                    (0..TASKS).filter(|step| add(*step).is_ok()).count()
                })
            })
            .collect();
        asked.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(added, TASKS - 1, "the last one would close the ring");
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}

fn a_task_has_one_open_run(place: &TestStore) {
    let (store, project) = demo(place);
    let id = add(&store, &project, "a", &[]);
    let new = run_of(&store, &project, id);
    let queue = || store.queue_run(&project, new.clone()).wait();
    let start = || {
        store
            .start_run(&project, new.clone(), "w", LONG, |_| Ok(()))
            .wait()
    };
    let first = queue().unwrap();
    let why = |run| format!("task `{id}` has a run that is not over: `{run}`");
    assert_eq!(refused(queue()), why(first));
    assert_eq!(refused(start()), why(first));
    let held = claim(&store, &project, "w", LONG).unwrap();
    assert_eq!((held.run.id, held.run.task), (first, Some(id)));
    assert_eq!(refused(queue()), why(first));
    assert!(store.finish_run(&held, &json!(0)).wait().unwrap());

    let second = queue().unwrap();
    assert!(store.request_stop(second).wait().unwrap());
    let third = start().unwrap().unwrap().run.id;
    assert_eq!(refused(queue()), why(third));
    let runs = store.runs_of_task(&project, id).wait().unwrap();
    assert_eq!(
        runs.iter().map(|run| run.id).collect::<Vec<_>>(),
        [first, second, third]
    );
    let stored = store.events_of_run(third, 0, 1).wait().unwrap();
    assert_eq!(stored[0].event.payload["task"], id.as_str());
    // What may run is asked first, and a task that is taken changes nothing.
    let no = |_: &[callsheet_store::Run]| Err("full".to_owned());
    let full = store.start_run(&project, new.clone(), "w", LONG, no).wait();
    assert_eq!(full, Ok(Err("full".to_owned())));
    assert_eq!(findings(&store), []);
}

fn runs_of_tasks_are_told_apart(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let [a, b] = ["a", "b"].map(|title| add(&store, &project, title, &[]));
    let elsewhere = add(&store, &other, "c", &[]);
    finished(&store, &other, elsewhere);
    let free = place.queue(&store, &project, 1)[0];
    let runs = [a, b, a].map(|task| (finished(&store, &project, task), task));
    let all = store.runs_of_tasks(&project).wait().unwrap();
    let all: Vec<(Id, Id)> = all.iter().map(|run| (run.id, run.task.unwrap())).collect();
    assert_eq!(all, runs);
    let of_a = store.runs_of_task(&project, a).wait().unwrap();
    assert_eq!(
        of_a.iter().map(|run| run.id).collect::<Vec<_>>(),
        [runs[0].0, runs[2].0]
    );
    let run = store.run(&project, free.as_str()).wait().unwrap();
    assert_eq!(run.task, None);
    assert_eq!(findings(&store), []);
}

/// Many queue and start a run of one task at the same time, round after round: one of them wins.
fn one_of_many_runs_of_a_task_is_taken(place: &TestStore) {
    const ASKERS: usize = 8;
    const ROUNDS: usize = 5;
    let (store, project) = demo(place);
    let id = add(&store, &project, "a", &[]);
    let new = run_of(&store, &project, id);
    let stores: Vec<Store> = (0..ASKERS).map(|_| place.open()).collect();
    for round in 0..ROUNDS {
        let barrier = Barrier::new(ASKERS);
        let ask = |number: usize| {
            let (store, new) = (&stores[number], new.clone());
            barrier.wait();
            if (number + round).is_multiple_of(2) {
                store.queue_run(&project, new).wait()
            } else {
                let started = store.start_run(&project, new, "w", LONG, |_| Ok(()));
                started.wait().map(|claim| claim.unwrap().run.id)
            }
        };
        let queued: Vec<Result<Id, StoreError>> = thread::scope(|scope| {
            let asked: Vec<_> = (0..ASKERS)
                .map(|number| {
                    let ask = &ask;
                    scope.spawn(move || ask(number))
                })
                .collect();
            asked.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let won: Vec<Id> = queued.iter().flatten().copied().collect();
        let [run] = won[..] else {
            panic!("{queued:?}");
        };
        let why = format!("task `{id}` has a run that is not over: `{run}`");
        let lost = queued.into_iter().filter_map(Result::err);
        assert!(lost.into_iter().all(|error| error.to_string() == why));
        let running = store.running(&project).wait().unwrap();
        let held = match running.first() {
            Some(run) => store.take_over(run, "w", LONG).wait().unwrap(),
            None => claim(&store, &project, "w", LONG),
        };
        assert!(store.finish_run(&held.unwrap(), &json!(0)).wait().unwrap());
    }
    assert_eq!(
        store.runs_of_task(&project, id).wait().unwrap().len(),
        ROUNDS
    );
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}
