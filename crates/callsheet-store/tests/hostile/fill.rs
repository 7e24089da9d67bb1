//! A store with every kind of row.

use std::io::Cursor;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{
    BatchStatus, Bundle, Bundled, Claim, Id, Keep, NewRun, NewTask, Progress, Project, Record,
    RunKind, Store, Stream, block_on,
};
use serde_json::json;

use crate::place::{Place, event};
use crate::prompts::seal;

const LEASE: Duration = Duration::from_hours(1);

/// Fills a store.
pub(crate) fn fill(store: &Store) {
    let project = block_on(store.project("demo")).unwrap();
    let other = block_on(store.project("other")).unwrap();
    block_on(store.append_events(&project, vec![event(1), event(2)])).unwrap();
    block_on(store.append_events(&other, vec![event(1)])).unwrap();
    for name in ["scope.exclude", "account.pauses"] {
        block_on(store.set_setting(&project, name, &json!([name]))).unwrap();
    }
    prompts(store, &project);
    prompts(store, &other);
    let task = tasks(store, &project);
    runs(store, &project, task);
    batches(store, &project);
    import(store, &other);
    for project in [&project, &other] {
        assert!(block_on(store.index(project, usize::MAX)).unwrap());
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
    block_on(store.collect(project, keep(2))).unwrap();
    seal(store, project, &format!("One more of {}.", project.name));
}

fn tasks(store: &Store, project: &Project) -> Id {
    let add = |title: &str, depends: &[Id]| {
        let task = NewTask {
            title: title.to_owned(),
            body: json!({"description": title}),
            depends: depends.to_vec(),
        };
        block_on(store.add_task(project, task)).unwrap()
    };
    let first = add("first", &[]);
    let second = add("second", &[first]);
    let third = add("third", &[]);
    block_on(store.add_dependency(project, third, second)).unwrap();
    block_on(store.cancel_task(project, third)).unwrap();
    for task in [first, second] {
        let branch = (&json!({"task": task}), b"# v2 git bundle\n".repeat(9));
        block_on(store.put_branch(project, task, None, branch)).unwrap();
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
    let claim = block_on(store.start_run(project, run, "w", LEASE, |_| Ok(())));
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
    let told = Event::new("agent:text", [("text", json!("hello"))], "it spoke");
    block_on(store.append_output(&claim, records, vec![(Some(1), told)])).unwrap();
    claim
}

fn finish(store: &Store, project: &Project, claim: &Claim) -> Id {
    let run = claim.run.id;
    let outcome = json!({"status": "succeeded"});
    assert!(block_on(store.finish_run(claim, &outcome)).unwrap());
    for name in ["one", "two"] {
        let added = store.annotate(project, run, "check", name, json!({"ok": true}), |_, _| {
            Ok(())
        });
        block_on(added).unwrap().unwrap();
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
    block_on(store.request_stop(stopped.run.id)).unwrap();
    finish(store, project, &stopped);
    let cancelled = block_on(store.queue_run(project, new(store, project))).unwrap();
    block_on(store.request_stop(cancelled)).unwrap();
    start(store, project, new(store, project));
    let taken = start(store, project, new(store, project));
    block_on(store.take_over(&taken.run, "v", LEASE))
        .unwrap()
        .unwrap();
    block_on(store.request_stop(taken.run.id)).unwrap();
    block_on(store.queue_run(project, new(store, project))).unwrap();
}

fn batches(store: &Store, project: &Project) {
    let begin = |id: Id| Progress {
        entries: vec![json!({"started": id}), json!({"n": 2})],
        events: vec![Event::new("batch:start", [("batch_id", json!(id))], "it starts").into()],
    };
    let start = || block_on(store.start_batch(project, json!({"most": 2}), "w", LEASE, begin));
    let ended = start().unwrap();
    block_on(store.request_batch_stop(project, ended.batch.id, "drain")).unwrap();
    let end = store.end_batch(&ended, 2, BatchStatus::Stopped, Progress::default());
    block_on(end).unwrap();
    let open = start().unwrap();
    let mut run = new(store, project);
    run.batch = Some((open, 7));
    block_on(store.queue_run(project, run)).unwrap();
}

/// Imports a run of another store, with its task.
fn import(store: &Store, project: &Project) {
    let away = Place::sqlite();
    let from = away.open();
    let home = block_on(from.project("away")).unwrap();
    let mut run = new(&from, &home);
    run.task = Some(tasks(&from, &home));
    let run = finish(&from, &home, &start(&from, &home, run));
    let mut bundled = from.bundled_run(&home, run, None).unwrap();
    let prompt = block_on(from.prompt(&home, bundled.run.prompt.as_str())).unwrap();
    let sealed = Bundled::new(prompt.sealed_at, block_on(from.sealed(&prompt)).unwrap());
    bundled.run.prompt = sealed.id;
    let mut bundle = Bundle::default();
    bundle.prompts.push(sealed);
    bundle.runs.push(bundled);
    bundle.arrange();
    let mut bytes = Vec::new();
    bundle.write_from(&from, &home, None, &mut bytes).unwrap();
    let bundle = Bundle::read("x", bytes.as_slice()).unwrap();
    block_on(store.import_from(project, bundle, "x", Cursor::new(bytes))).unwrap();
}
