//! What a driver of agents relies on: limits that hold, runs taken over, output stored as one, and asking to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{
    Claim, NewRun, Project, Record, Run, RunKind, RunState, Store, StoredEvent, Stream, Wait,
};
use serde_json::{Value, json};

use crate::on_both;
use crate::test_store::{TestStore, assert_gapless, claim, findings, seqs};
use crate::{batches, prompts, tasks};

on_both!(
    a_run_starts_at_once_or_not_at_all,
    a_limit_holds_however_many_ask,
    a_dead_holder_is_taken_over_once,
    records_and_events_are_stored_together,
    output_is_stored_whole_or_not_at_all,
    a_large_batch_keeps_its_order,
    a_running_run_is_asked_to_stop_once,
    a_queued_run_that_is_stopped_never_starts,
    a_run_of_another_project_is_not_found,
    what_a_run_was_not_queued_with_is_found,
);

const LONG: Duration = Duration::from_mins(1);

fn new(store: &Store, project: &Project) -> NewRun {
    NewRun {
        prompt: prompts::seal(store, project, "A task.").0.id,
        kind: RunKind::First,
        parent: None,
        request: json!({"runner": "local", "model": "m\u{0}1"}),
        task: None,
        batch: None,
    }
}

fn start(store: &Store, project: &Project, worker: &str) -> Claim {
    let run = new(store, project);
    store
        .start_run(project, run, worker, LONG, |_| Ok(()))
        .wait()
        .unwrap()
        .unwrap()
}

fn record(stream: Stream, data: &str) -> Record {
    Record {
        stream,
        data: data.as_bytes().to_vec(),
    }
}

fn events(store: &Store, claim: &Claim) -> Vec<StoredEvent> {
    store
        .events_of_run(claim.run.id, 0, usize::MAX)
        .wait()
        .unwrap()
}

fn kinds(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|it| it.event.kind.as_str()).collect()
}

fn a_run_starts_at_once_or_not_at_all(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let run = new(&store, &project);
    let before = seqs(&store, &project);
    let no = |running: &[Run]| Err(format!("{} are running", running.len()));
    let refused = store
        .start_run(&project, run.clone(), "w", LONG, no)
        .wait()
        .unwrap();
    assert_eq!(refused, Err("0 are running".to_owned()));
    assert_eq!(seqs(&store, &project), before);
    assert_eq!(place.count("select count(*) from run"), 0);

    let request = run.request.clone();
    let claim = store.start_run(&project, run, "w", LONG, |_| Ok(())).wait();
    let claim = claim.unwrap().unwrap();
    assert_eq!((claim.attempt, claim.worker.as_str()), (1, "w"));
    assert_eq!(claim.run.state, RunState::Running);
    assert_eq!(claim.run.request, Some(request));
    assert_eq!(claim.run.stop_requested_at, None);
    let lease = claim.run.lease_until.unwrap() - claim.run.started_at.unwrap();
    assert_eq!(lease, 60_000);
    let stored = events(&store, &claim);
    assert_eq!(kinds(&stored), ["run:queued", "run:started"]);
    assert_eq!(stored[0].event.payload["kind"], "first");
    let id = claim.run.id;
    assert_eq!(
        stored[1].event.payload["message"],
        format!("run {id} is started by w")
    );
    assert_eq!(
        store.events_of_run(id, stored[0].seq, 9).wait().unwrap(),
        stored[1..]
    );
    assert_eq!(store.events_of_run(id, 0, 1).wait().unwrap(), stored[..1]);

    assert_eq!(
        store.running(&project).wait().unwrap(),
        std::slice::from_ref(&claim.run)
    );
    let second = start(&store, &project, "v");
    let running = store.running(&project).wait().unwrap();
    assert_eq!(running, [claim.run.clone(), second.run]);
    assert!(
        store
            .finish_run(&claim, &json!({"status": "succeeded"}))
            .wait()
            .unwrap()
    );
    assert_eq!(store.running(&project).wait().unwrap().len(), 1);
    assert_eq!(findings(&store), []);
}

/// Many start at once, of several stores, and no more than two ever run.
fn a_limit_holds_however_many_ask(place: &TestStore) {
    let stores: Vec<Store> = (0..3).map(|_| place.open()).collect();
    let project = stores[0].project("demo").wait().unwrap();
    let run = new(&stores[0], &project);
    let most = Arc::new(AtomicUsize::new(0));
    let started = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..12 {
            let (store, project, run) = (&stores[number % 3], &project, run.clone());
            let (most, started) = (&most, &started);
            scope.spawn(move || {
                for _ in 0..4 {
                    let seen = Arc::clone(most);
                    let admit = move |running: &[Run]| {
                        seen.fetch_max(running.len(), Ordering::Relaxed);
                        (running.len() < 2)
                            .then_some(())
                            .ok_or_else(|| "full".to_owned())
                    };
                    let worker = format!("w{number}");
                    let asked = store.start_run(project, run.clone(), &worker, LONG, admit);
                    match asked.wait().unwrap() {
                        Ok(claim) => {
                            started.fetch_add(1, Ordering::Relaxed);
                            assert!(store.finish_run(&claim, &json!(0)).wait().unwrap());
                        }
                        Err(reason) => assert_eq!(reason, "full"),
                    }
                }
            });
        }
    });
    assert!(most.load(Ordering::Relaxed) <= 2);
    let started = started.into_inner();
    assert!(started >= 2);
    assert_eq!(place.count("select count(*) from run") as usize, started);

    let one = |running: &[Run]| running.is_empty().then_some(()).ok_or_else(String::new);
    let started: Vec<bool> = thread::scope(|scope| {
        let asked: Vec<_> = stores
            .iter()
            .map(|store| {
                let (project, run) = (&project, run.clone());
                scope.spawn(move || {
                    store
                        .start_run(project, run, "w", LONG, one)
                        .wait()
                        .unwrap()
                        .is_ok()
                })
            })
            .collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(started.iter().filter(|started| **started).count(), 1);
    assert_gapless(&seqs(&stores[0], &project));
    assert_eq!(findings(&stores[0]), []);
}

fn a_dead_holder_is_taken_over_once(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let dead = start(&store, &project, "dead");
    store
        .append_log(&dead, vec![record(Stream::Meta, "prompt")])
        .wait()
        .unwrap();
    let seen = store.run(&project, dead.run.id.as_str()).wait().unwrap();

    let taken = store
        .take_over(&seen, "heir", LONG)
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!((taken.attempt, taken.worker.as_str()), (2, "heir"));
    assert_eq!(taken.run.started_at, dead.run.started_at);
    assert_eq!(taken.run.worker.as_deref(), Some("heir"));
    assert_eq!(store.take_over(&seen, "late", LONG).wait(), Ok(None));
    assert!(!store.heartbeat(&dead, LONG).wait().unwrap());
    assert!(
        store
            .append_output(&dead, vec![], vec![(None, happened())])
            .wait()
            .is_err()
    );
    let stored = events(&store, &taken);
    assert_eq!(
        kinds(&stored),
        ["run:queued", "run:started", "run:taken_over"]
    );
    assert_eq!(
        stored[2].event.message(),
        format!("run {} is taken over by heir", taken.run.id)
    );
    assert_eq!(stored[2].event.payload["attempt"], 2);

    assert!(store.finish_run(&taken, &json!(0)).wait().unwrap());
    let over = store.run(&project, dead.run.id.as_str()).wait().unwrap();
    assert_eq!(over.started_at, dead.run.started_at);
    assert_eq!(store.take_over(&over, "late", LONG).wait(), Ok(None));
    assert_eq!(findings(&store), []);
}

fn happened() -> Event {
    Event::new(
        "agent:text",
        [("text", "hello")].map(|(k, v)| (k, v.into())),
        "it spoke",
    )
}

fn records_and_events_are_stored_together(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let claim = start(&store, &project, "w");
    let append = |records, events| store.append_output(&claim, records, events).wait();
    assert_eq!(append(vec![], vec![]), Ok(vec![]));
    let first = vec![record(Stream::Meta, "prompt")];
    assert_eq!(append(first, vec![(None, happened())]), Ok(vec![1]));
    let lines = vec![
        record(Stream::Stdout, "one\n"),
        record(Stream::Stderr, "two\n"),
        record(Stream::Stdout, "three\n"),
    ];
    let bare = Event {
        kind: "agent:bare".to_owned(),
        payload: serde_json::Map::new(),
    };
    let mut event = happened();
    event.payload.insert("record".to_owned(), "mine".into());
    let events_of = vec![
        (Some(2), happened()),
        (Some(0), bare.clone()),
        (Some(1), event.clone()),
        (None, event),
    ];
    assert_eq!(append(lines, events_of), Ok(vec![2, 3, 4]));
    assert_eq!(append(vec![], vec![(None, bare)]), Ok(vec![]));
    let payloads: Vec<Value> = events(&store, &claim)[2..]
        .iter()
        .map(|it| it.event.payload.clone().into())
        .collect();
    assert_eq!(
        payloads,
        [
            json!({"text": "hello", "message": "it spoke"}),
            json!({"text": "hello", "message": "it spoke", "record": 4}),
            json!({"record": 2}),
            json!({"text": "hello", "message": "it spoke", "record": 3}),
            json!({"text": "hello", "message": "it spoke", "record": "mine"}),
            json!({}),
        ]
    );
    let bytes = |stream| store.log_bytes(claim.run.id, stream).wait().unwrap();
    assert_eq!(
        [Stream::Meta, Stream::Stdout, Stream::Stderr].map(bytes),
        [6, 10, 4]
    );
    let unknown = "0000000000000z".parse().unwrap();
    let said = store.log_bytes(unknown, Stream::Meta).wait().unwrap_err();
    assert_eq!(said.to_string(), "no run `0000000000000z`");

    assert_eq!(findings(&store), []);
}

fn output_is_stored_whole_or_not_at_all(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let claim = start(&store, &project, "w");
    let append = |records, events| store.append_output(&claim, records, events).wait();
    append(vec![record(Stream::Meta, "prompt")], vec![]).unwrap();
    let before = (events(&store, &claim).len(), seqs(&store, &project).len());
    let refused = append(
        vec![record(Stream::Stdout, "x")],
        vec![(Some(1), happened())],
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "an event is about record 1 of 1 that are stored with it"
    );
    let nul = Event::new("agent:\u{0}", [("a", Value::Null)], "x");
    assert!(append(vec![record(Stream::Stdout, "x")], vec![(None, nul)]).is_err());
    assert_eq!(
        before,
        (events(&store, &claim).len(), seqs(&store, &project).len())
    );
    assert_eq!(store.log_bytes(claim.run.id, Stream::Stdout).wait(), Ok(0));
    assert_eq!(findings(&store), []);
}

fn a_large_batch_keeps_its_order(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let claim = start(&store, &project, "w");
    let lines: Vec<String> = (0..101).map(|n| format!("line {n}\n").repeat(50)).collect();
    let mut records = vec![record(Stream::Meta, "prompt")];
    records.extend(lines.iter().map(|line| record(Stream::Stdout, line)));
    let about = (0..records.len()).map(|index| (Some(index), happened()));
    let numbers: Vec<i64> = (1..103).collect();
    let about = about.collect();
    let stored = store.append_output(&claim, records, about).wait();
    assert_eq!(stored, Ok(numbers.clone()));
    let log = store.log_since(claim.run.id, 1, 200, None).wait().unwrap();
    let data: Vec<&[u8]> = log.iter().map(|record| &*record.data).collect();
    let said: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
    assert_eq!(data, said);
    let about: Vec<i64> = events(&store, &claim)[2..]
        .iter()
        .map(|it| it.event.payload["record"].as_i64().unwrap())
        .collect();
    assert_eq!(about, numbers);
    assert_eq!(findings(&store), []);
}

fn a_running_run_is_asked_to_stop_once(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let claim = start(&store, &project, "w");
    let id = claim.run.id;
    assert_eq!(store.stop_requested(&claim).wait(), Ok(false));
    assert_eq!(store.request_stop(id).wait(), Ok(true));
    assert_eq!(store.stop_requested(&claim).wait(), Ok(true));
    let asked = store.run(&project, id.as_str()).wait().unwrap();
    assert_eq!(asked.state, RunState::Running);
    assert_eq!(store.request_stop(id).wait(), Ok(true));
    assert_eq!(store.run(&project, id.as_str()).wait(), Ok(asked.clone()));
    let stored = events(&store, &claim);
    assert_eq!(
        kinds(&stored),
        ["run:queued", "run:started", "run:stopping"]
    );
    assert_eq!(Some(stored[2].at), asked.stop_requested_at);
    assert_eq!(findings(&store), []);

    let change = |sql: &str| {
        assert_eq!(
            place.raw(&format!("update run set stop_requested_at = {sql}")),
            1
        );
        findings(&store).len()
    };
    assert_eq!(change("stop_requested_at + 1"), 1);
    assert_eq!(change("null"), 1);
    assert_eq!(change(&asked.stop_requested_at.unwrap().to_string()), 0);
    assert!(store.finish_run(&claim, &json!(0)).wait().unwrap());
    assert_eq!(findings(&store), []);
    assert_eq!(change("stop_requested_at + 1"), 1);
    assert_eq!(change("null"), 1);
    assert_eq!(store.request_stop(id).wait(), Ok(false));
    let unknown = "0000000000000z".parse().unwrap();
    let said = store.request_stop(unknown).wait().unwrap_err();
    assert_eq!(said.to_string(), "no run `0000000000000z`");
}

fn a_queued_run_that_is_stopped_never_starts(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let id = place.queue(&store, &project, 1)[0];
    assert_eq!(store.request_stop(id).wait(), Ok(true));
    assert_eq!(claim(&store, &project, "w", LONG), None);
    let run = store.run(&project, id.as_str()).wait().unwrap();
    assert_eq!(
        (run.state, run.worker.as_deref()),
        (RunState::Finished, Some("callsheet"))
    );
    let outcome = json!({"status": "cancelled", "class": "cancelled"});
    assert_eq!(run.outcome, Some(outcome));
    assert!(run.stop_requested_at.is_some());
    let stored = store.events_of_run(id, 0, 9).wait().unwrap();
    assert_eq!(
        kinds(&stored),
        ["run:queued", "run:stopping", "run:finished"]
    );
    assert_eq!(store.request_stop(id).wait(), Ok(false));
    assert_eq!(findings(&store), []);
}

fn a_run_of_another_project_is_not_found(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let claim = start(&store, &other, "w");
    let id = claim.run.id;
    let said = store.run(&project, id.as_str()).wait().unwrap_err();
    assert_eq!(said.to_string(), format!("no run `{id}`"));
    assert_eq!(store.running(&project).wait(), Ok(vec![]));
    assert_eq!(
        store.run(&other, &id.as_str()[..9]).wait().unwrap(),
        claim.run
    );
}

fn what_a_run_was_not_queued_with_is_found(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let bare = NewRun {
        request: Value::Null,
        ..new(&store, &project)
    };
    let ids = [bare.clone(), bare].map(|run| store.queue_run(&project, run).wait().unwrap());
    let claim = claim(&store, &project, "w", LONG).unwrap();
    assert!(store.finish_run(&claim, &json!(0)).wait().unwrap());
    let run = store.run(&project, ids[0].as_str()).wait().unwrap();
    assert_eq!((run.request, run.task, run.batch), (None, None, None));
    tasks::add(&store, &project, "a", &[]);
    batches::start(&store, &project, "w", LONG);
    assert_eq!(findings(&store), []);
    let forged = [
        ["request = '{}'", "request = null"],
        ["task = (select key from task)", "task = null"],
        [
            "batch = (select key from batch), action = 1",
            "batch = null, action = null",
        ],
    ];
    for id in ids {
        for [set, unset] in forged {
            let update =
                |what: &str| place.raw(&format!("update run set {what} where id = '{id}'"));
            assert_eq!(update(set), 1);
            let found: Vec<String> = findings(&store).into_iter().map(|it| it.what).collect();
            assert_eq!(found, [format!("run {id}")], "{set}");
            assert_eq!(update(unset), 1);
        }
    }
    assert_eq!(findings(&store), []);
}
