//! A store with every kind of row.

use std::io::Cursor;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{
    BatchStatus, Bundle, Bundled, Claim, Id, Keep, NewRun, NewTask, Progress, Project, Record,
    RunKind, Store, Stream, Wait,
};
use serde_json::json;

use crate::prompts::seal;
use crate::test_store::{TestStore, event};

const LEASE: Duration = Duration::from_hours(1);

/// Fills a store.
pub(crate) fn fill(store: &Store) {
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    store
        .append_events(&project, vec![event(1), event(2)])
        .wait()
        .unwrap();
    store.append_events(&other, vec![event(1)]).wait().unwrap();
    for name in ["scope.exclude", "account.pauses"] {
        store
            .set_setting(&project, name, &json!([name]))
            .wait()
            .unwrap();
    }
    prompts(store, &project);
    prompts(store, &other);
    let task = tasks(store, &project);
    runs(store, &project, task);
    batches(store, &project);
    import(store, &other);
    for project in [&project, &other] {
        assert!(store.index(project, usize::MAX).wait().unwrap());
    }
}

/// Seals prompts that resemble each other; some in between are collected.
fn prompts(store: &Store, project: &Project) {
    let keep = |newest| Keep {
        newest: Some(newest),
        since: None,
    };
    for number in 0..4 {
        let text = format!("Task {number} of {}. ", project.name).repeat(40);
        seal(store, project, &text);
    }
    store.collect(project, keep(2)).wait().unwrap();
    seal(store, project, &format!("One more of {}.", project.name));
}

fn tasks(store: &Store, project: &Project) -> Id {
    let add = |title: &str, depends: &[Id]| {
        let task = NewTask {
            title: title.to_owned(),
            body: json!({"description": title}),
            depends: depends.to_vec(),
        };
        store.add_task(project, task).wait().unwrap()
    };
    let first = add("first", &[]);
    let second = add("second", &[first]);
    let third = add("third", &[]);
    store.add_dependency(project, third, second).wait().unwrap();
    store.cancel_task(project, third).wait().unwrap();
    for task in [first, second] {
        let branch = (&json!({"task": task}), b"# v2 git bundle\n".repeat(9));
        store
            .put_branch(project, task, None, branch)
            .wait()
            .unwrap();
    }
    second
}

fn new(store: &Store, project: &Project) -> NewRun {
    NewRun {
        prompt: seal(store, project, &format!("A run of {}.", project.name))
            .0
            .id,
        kind: RunKind::First,
        parent: None,
        request: json!({"runner": "local"}),
        task: None,
        batch: None,
    }
}

fn start(store: &Store, project: &Project, run: NewRun) -> Claim {
    let claim = store.start_run(project, run, "w", LEASE, |_| Ok(())).wait();
    let claim = claim.unwrap().unwrap();
    let record = |stream, text: &str| Record {
        stream,
        data: text.as_bytes().to_vec(),
    };
    let records = vec![
        record(Stream::Meta, "the prompt"),
        record(
            Stream::Stdout,
            &"a line of output that is packed\n".repeat(80),
        ),
        record(Stream::Stderr, "the end"),
    ];
    let event = Event::new("agent:text", [("text", json!("hello"))], "it spoke");
    store
        .append_output(&claim, records, vec![(Some(1), event)])
        .wait()
        .unwrap();
    claim
}

fn finish(store: &Store, project: &Project, claim: &Claim) -> Id {
    let run = claim.run.id;
    let outcome = json!({"status": "succeeded"});
    assert!(store.finish_run(claim, &outcome).wait().unwrap());
    for name in ["one", "two"] {
        let added = store.annotate(project, run, "check", name, json!({"ok": true}), |_, _| {
            Ok(())
        });
        added.wait().unwrap().unwrap();
    }
    run
}

/// Makes runs in all states.
fn runs(store: &Store, project: &Project, task: Id) {
    let mut of_task = new(store, project);
    of_task.task = Some(task);
    let first = finish(store, project, &start(store, project, of_task));
    let mut retry = new(store, project);
    (retry.kind, retry.parent) = (RunKind::Retry, Some(first));
    let stopped = start(store, project, retry);
    store.request_stop(stopped.run.id).wait().unwrap();
    finish(store, project, &stopped);
    let cancelled = store
        .queue_run(project, new(store, project))
        .wait()
        .unwrap();
    store.request_stop(cancelled).wait().unwrap();
    start(store, project, new(store, project));
    let taken = start(store, project, new(store, project));
    store
        .take_over(&taken.run, "v", LEASE)
        .wait()
        .unwrap()
        .unwrap();
    store.request_stop(taken.run.id).wait().unwrap();
    store
        .queue_run(project, new(store, project))
        .wait()
        .unwrap();
}

fn batches(store: &Store, project: &Project) {
    let begin = |id: Id| Progress {
        entries: vec![json!({"started": id}), json!({"n": 2})],
        events: vec![Event::new("batch:start", [("batch_id", json!(id))], "it starts").into()],
    };
    let start = || {
        store
            .start_batch(project, json!({"most": 2}), "w", LEASE, begin)
            .wait()
    };
    let ended = start().unwrap();
    store
        .request_batch_stop(project, ended.batch.id, "drain")
        .wait()
        .unwrap();
    let end = store.end_batch(&ended, 2, BatchStatus::Stopped, Progress::default());
    end.wait().unwrap();
    let open = start().unwrap();
    let mut run = new(store, project);
    run.batch = Some((open, 7));
    store.queue_run(project, run).wait().unwrap();
}

/// Imports a run of another store, with its task.
fn import(store: &Store, project: &Project) {
    let away = TestStore::sqlite();
    let from = away.open();
    let home = from.project("away").wait().unwrap();
    let mut run = new(&from, &home);
    run.task = Some(tasks(&from, &home));
    let run = finish(&from, &home, &start(&from, &home, run));
    let mut bundled = from.bundled_run(&home, run, None).unwrap();
    let prompt = from
        .prompt(&home, bundled.run.prompt.as_str())
        .wait()
        .unwrap();
    let sealed = Bundled::new(prompt.sealed_at, from.sealed(&prompt).wait().unwrap());
    bundled.run.prompt = sealed.id;
    let mut bundle = Bundle::default();
    bundle.prompts.push(sealed);
    bundle.runs.push(bundled);
    bundle.arrange();
    let mut bytes = Vec::new();
    bundle.write_from(&from, &home, None, &mut bytes).unwrap();
    let bundle = Bundle::read("x", bytes.as_slice()).unwrap();
    store
        .import_from(project, bundle, "x", Cursor::new(bytes))
        .wait()
        .unwrap();
}
