//! Whatever is changed behind the back of the store in tasks, and in what belongs to them, is found and named.

use callsheet_store::{Finding, Id, Store, Wait};
use serde_json::json;

use crate::on_both;
use crate::tasks;
use crate::test_store::{TestStore, findings};

on_both!(
    every_changed_value_of_tasks_is_found_and_named,
    what_is_missing_or_too_much_is_found,
    a_cycle_that_no_store_writes_is_found,
);

/// The things of a store with one of everything that belongs to a task.
struct Filled {
    store: Store,
    /// A task that depends on another one, and the other one, which is cancelled.
    tasks: [Id; 2],
    run: Id,
}

fn filled(place: &TestStore) -> Filled {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store.project("zother").wait().unwrap();
    let needed = tasks::add(&store, &project, "needed", &[]);
    let task = tasks::add(&store, &project, "first", &[needed]);
    let run = tasks::finished(&store, &project, task);
    for name in ["one", "two"] {
        let value = json!({"said": name});
        let added = store.annotate(&project, run, "check", name, value, |_, _| Ok(()));
        added.wait().unwrap().unwrap();
    }
    store
        .put_branch(&project, task, None, (&json!({"a": 1}), b"bundle".to_vec()))
        .wait()
        .unwrap();
    store.cancel_task(&project, needed).wait().unwrap();
    assert_eq!(findings(&store), []);
    Filled {
        store,
        tasks: [task, needed],
        run,
    }
}

/// What has to be named, the table and a condition, what is set, and what takes it back.
struct Change(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const CHANGES: &[Change] = &[
    Change(
        "task {task}",
        "task",
        "title = 'first'",
        "body = '{}'",
        "body = '{body}'",
    ),
    Change(
        "task {task}",
        "task",
        "id = '{task}'",
        "title = 'firsu'",
        "title = 'first'",
    ),
    Change(
        "task {task}",
        "task",
        "id = '{task}'",
        "created_at = created_at + 1",
        "created_at = created_at - 1",
    ),
    Change(
        "task {task}",
        "task",
        "id = '{task}'",
        "cancelled_at = 1",
        "cancelled_at = null",
    ),
    Change(
        "task {needed}",
        "task",
        "id = '{needed}'",
        "cancelled_at = cancelled_at + 1",
        "cancelled_at = cancelled_at - 1",
    ),
    Change(
        "task {task}",
        "task",
        "id = '{task}'",
        "project = (select max(key) from project)",
        "project = (select min(key) from project)",
    ),
    Change(
        "task zz",
        "task",
        "title = 'first'",
        "id = 'zz'",
        "id = '{task}'",
    ),
    Change(
        "run {run}",
        "run",
        "true",
        "task = null",
        "task = (select key from task where id = '{task}')",
    ),
    Change(
        "run {run}",
        "run",
        "true",
        "task = (select key from task where id = '{needed}')",
        "task = (select key from task where id = '{task}')",
    ),
    Change(
        "annotation 1 of run {run}",
        "annotation",
        "seq = 1",
        "at = at + 1",
        "at = at - 1",
    ),
    Change(
        "annotation 2 of run {run}",
        "annotation",
        "seq = 2",
        "kind = 'merge'",
        "kind = 'check'",
    ),
    Change(
        "annotation 2 of run {run}",
        "annotation",
        "seq = 2",
        "name = 'twp'",
        "name = 'two'",
    ),
    Change(
        "annotation 2 of run {run}",
        "annotation",
        "seq = 2",
        "value = replace(value, 'two', 'twp')",
        "value = replace(value, 'twp', 'two')",
    ),
    Change(
        "annotation 3 of run {run}",
        "annotation",
        "seq >= 2",
        "seq = 3",
        "seq = 2",
    ),
    Change(
        "the branch of task {task}",
        "branch",
        "true",
        "at = at + 1",
        "at = at - 1",
    ),
    Change(
        "the branch of task {task}",
        "branch",
        "true",
        "refs = '{}'",
        "refs = '{\"a\":1}'",
    ),
    Change(
        "the branch of task {needed}",
        "branch",
        "true",
        "task = (select key from task where id = '{needed}')",
        "task = (select key from task where id = '{task}')",
    ),
];

fn every_changed_value_of_tasks_is_found_and_named(place: &TestStore) {
    let Filled {
        store,
        tasks: [task, needed],
        run,
    } = filled(place);
    let body = json!({"description": "first", "write_scope": ["src/**"]});
    let full = |text: &str| {
        text.replace("{task}", task.as_str())
            .replace("{needed}", needed.as_str())
            .replace("{run}", run.as_str())
            .replace("{body}", &body.to_string())
    };
    let named = |what: &str| findings(&store).iter().any(|found| found.what == what);
    for Change(what, table, filter, change, back) in CHANGES {
        let update = |set: &str| full(&format!("update {table} set {set} where {filter}"));
        assert!(place.raw(&update(change)) > 0, "{change}");
        assert!(named(&full(what)), "{change}: {:?}", findings(&store));
        assert!(place.raw(&update(back)) > 0, "{back}");
        assert_eq!(findings(&store), [], "{back}");
    }
    for (bundle, changed) in [(b"bundlf", true), (b"bundle", false)] {
        let set = format!("update branch set bundle = {}", place.literal(bundle));
        assert_eq!(place.raw(&set), 1);
        assert_eq!(named(&format!("the branch of task {task}")), changed);
    }
    assert_eq!(findings(&store), []);
    for (table, what) in [
        ("task", format!("task {task}")),
        (
            "dependency",
            format!("the dependency of task {task} on {needed}"),
        ),
        ("annotation", format!("annotation 2 of run {run}")),
        ("branch", format!("the branch of task {task}")),
    ] {
        let other = place.literal(b"another mark");
        assert!(place.raw(&format!("update {table} set mark = {other}")) > 0);
        assert!(named(&what), "{table}: {:?}", findings(&store));
    }
}

fn what_is_missing_or_too_much_is_found(place: &TestStore) {
    let Filled { store, run, .. } = filled(place);
    assert_eq!(place.raw("delete from annotation where seq = 2"), 1);
    let short = Finding {
        what: format!("run {run}"),
        detail: "has 1 annotations, and 2 events that tell of one".to_owned(),
    };
    assert_eq!(findings(&store), [short]);
    assert_eq!(place.raw("update annotation set seq = 2"), 1);
    let gap = Finding {
        what: format!("annotation 2 of run {run}"),
        detail: "has the number 2 where 1 is next".to_owned(),
    };
    assert!(findings(&store).contains(&gap));
}

/// Two dependencies whose marks are right, and which cannot be there together.
fn a_cycle_that_no_store_writes_is_found(place: &TestStore) {
    let store = place.open();
    let demo = store.project("demo").wait().unwrap();
    let [a, b] = ["a", "b"].map(|title| tasks::add(&store, &demo, title, &[]));
    // A dependency gets the mark that it has where it is the only one.
    store.add_dependency(&demo, b, a).wait().unwrap();
    let mark = place.literal(&place.bytes("select mark from dependency"));
    store.remove_dependency(&demo, b, a).wait().unwrap();
    store.add_dependency(&demo, a, b).wait().unwrap();
    let key = |id: Id| place.count(&format!("select key from task where id = '{id}'"));
    let insert = format!(
        "insert into dependency (task, needs, mark) values ({}, {}, {mark})",
        key(b),
        key(a)
    );
    assert_eq!(place.raw(&insert), 1);
    let stuck = |id: Id| Finding {
        what: format!("task {id}"),
        detail: "waits for a cycle of dependencies".to_owned(),
    };
    let mut ids = [a, b];
    ids.sort();
    let mut wanted = ids.map(stuck).to_vec();
    wanted.push(Finding {
        what: format!("the dependency of task {b} on {a}"),
        detail: "no event tells of it".to_owned(),
    });
    assert_eq!(findings(&store), wanted);
}
