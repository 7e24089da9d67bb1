//! Batches: one at a time per project, written by their holder alone, and never half.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{
    Batch, BatchClaim, BatchPage, BatchState, BatchStatus, BatchStop, Id, NewEvent, NewRun,
    Progress, Project, RunKind, Store, StoreError, Wait,
};
use serde_json::{Value, json};

use crate::on_both;
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs};

on_both!(
    a_batch_comes_back_as_it_was_started,
    a_batch_is_found_by_a_unique_prefix,
    batches_come_in_pages,
    a_second_batch_is_refused_until_the_first_has_ended,
    exactly_one_of_many_starts_a_batch,
    entries_and_events_are_stored_together,
    whoever_does_not_know_the_last_entry_is_refused,
    a_former_holder_changes_nothing,
    a_batch_that_was_renewed_is_not_taken,
    exactly_one_of_many_takes_a_batch,
    a_released_batch_is_nobodys,
    a_batch_ends_once,
    a_request_to_stop_is_seen_by_the_holder,
);

const LONG: Duration = Duration::from_mins(1);

/// Makes progress with some entries and as many events.
pub(crate) fn progress(numbers: std::ops::Range<i64>) -> Progress {
    Progress {
        entries: numbers.clone().map(|number| json!({"n": number})).collect(),
        events: numbers.map(event).collect(),
    }
}

fn started(batch: Id) -> Progress {
    let facts = [("batch_id", batch.to_string().into())];
    Progress {
        entries: vec![json!({"started": batch})],
        events: vec![Event::new("batch:start", facts, "it starts").into()],
    }
}

/// Starts a batch whose journal has one entry.
pub(crate) fn start(store: &Store, project: &Project, worker: &str, lease: Duration) -> BatchClaim {
    let settings = json!({"max_cycles": 2});
    store
        .start_batch(project, settings, worker, lease, started)
        .wait()
        .unwrap()
}

pub(crate) fn demo(place: &TestStore) -> (Store, Project) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    (store, project)
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    error.to_string()
}

fn seen(store: &Store, project: &Project, id: Id) -> Batch {
    store.batch(project, id.as_str()).wait().unwrap()
}

fn journal(store: &Store, project: &Project, id: Id) -> Vec<Value> {
    let entries = store.journal(project, id, 0).wait().unwrap();
    let seqs: Vec<i64> = entries.iter().map(|entry| entry.seq).collect();
    assert_gapless(&seqs);
    entries.into_iter().map(|entry| entry.entry).collect()
}

/// Makes a run of an action that can be queued.
pub(crate) fn run_of(store: &Store, project: &Project, batch: Option<(BatchClaim, i64)>) -> NewRun {
    NewRun {
        prompt: prompts::seal(store, project, "A phase.").0.id,
        kind: RunKind::First,
        parent: None,
        request: json!({"runner": "local"}),
        task: None,
        batch,
    }
}

fn a_batch_comes_back_as_it_was_started(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    assert_eq!(store.open_batch(&project).wait(), Ok(None));
    let settings = json!({"text": "a\u{0}\nb", "price": 0.1, "deep": [[{"a": null}]]});
    let held = store.start_batch(&project, settings.clone(), "w", LONG, started);
    let held = held.wait().unwrap();
    let id = held.batch.id;
    let wanted = Batch {
        id,
        project: "demo".to_owned(),
        settings,
        started_at: id.at(),
        state: BatchState::Running,
        status: None,
        worker: "w".to_owned(),
        attempt: 1,
        lease_until: Some(id.at() + 60_000),
        ended_at: None,
        stop: None,
        entries: 1,
    };
    assert_eq!(held.batch, wanted);
    assert_eq!((&*held.worker, held.attempt), ("w", 1));
    assert_eq!(store.open_batch(&project).wait(), Ok(Some(wanted.clone())));
    assert_eq!(store.open_batch(&other).wait(), Ok(None));
    assert_eq!(journal(&store, &project, id), [json!({"started": id})]);
    let events = store.events_since(&project, 0, 9).wait().unwrap();
    let kinds: Vec<_> = events.iter().map(|it| &*it.event.kind).collect();
    assert_eq!(kinds, ["batch:start"]);
    assert_eq!(
        serde_json::to_value(&wanted).unwrap(),
        json!({
            "id": id, "project": "demo", "settings": wanted.settings, "started_at": id.at(), "state": "running",
            "status": null, "worker": "w", "attempt": 1, "lease_until": id.at() + 60_000, "ended_at": null,
            "stop": null, "entries": 1,
        })
    );
    assert_eq!(findings(&store), []);
    let verified = store.verify(|_| ()).wait().unwrap();
    assert_eq!(
        (verified.checked["batches"], verified.checked["journal"]),
        (1, 1)
    );
}

fn a_batch_is_found_by_a_unique_prefix(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let held = start(&store, &project, "w", LONG);
    let elsewhere = start(&store, &other, "w", LONG);
    let id = held.batch.id;
    assert_eq!(
        store.batch(&project, &id.as_str()[..3]).wait(),
        Ok(held.batch)
    );
    for name in [elsewhere.batch.id.as_str(), "zzz", ""] {
        let unknown = store.batch(&project, name).wait().unwrap_err();
        assert_eq!(unknown.to_string(), format!("no batch `{name}`"));
    }
    let unknown = Err(StoreError::Unknown {
        what: "batch",
        name: elsewhere.batch.id.to_string(),
        candidates: vec![],
    });
    let far = elsewhere.batch.id;
    assert_eq!(store.journal(&project, far, 0).wait(), unknown);
    assert_eq!(
        store.runs_of_batch(&project, far).wait().map(|_| vec![]),
        unknown
    );
}

fn batches_come_in_pages(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    start(&store, &other, "w", LONG);
    let mut ids = Vec::new();
    for _ in 0..5 {
        let held = start(&store, &project, "w", LONG);
        let end = store.end_batch(&held, 1, BatchStatus::Completed, Progress::default());
        end.wait().unwrap();
        ids.insert(0, held.batch.id);
    }
    let page = |offset, limit| {
        let found = store
            .batches(&project, BatchPage { offset, limit })
            .wait()
            .unwrap();
        assert_eq!(found.total, 5);
        let found = found.batches.iter().map(|batch| batch.id);
        found.collect::<Vec<_>>()
    };
    assert_eq!(page(0, 20), ids);
    assert_eq!(page(0, 2), ids[..2]);
    assert_eq!(page(3, 9), ids[3..]);
    assert_eq!(page(5, 9), []);
    assert_eq!(findings(&store), []);
}

fn a_second_batch_is_refused_until_the_first_has_ended(place: &TestStore) {
    let (store, project) = demo(place);
    let held = start(&store, &project, "w 1", LONG);
    let id = held.batch.id;
    let again = || {
        let before = seqs(&store, &project);
        let settings = json!(null);
        let said = refused(
            store
                .start_batch(&project, settings, "w 2", LONG, started)
                .wait(),
        );
        assert_eq!(seqs(&store, &project), before, "nothing has changed");
        said
    };
    assert_eq!(
        again(),
        format!("batch `{id}` has not ended: `w 1` holds it")
    );
    assert!(store.heartbeat_batch(&held, Duration::ZERO).wait().unwrap());
    assert_eq!(
        again(),
        format!("batch `{id}` has not ended: the lease of `w 1` has run out")
    );
    assert!(store.release_batch(&held).wait().unwrap());
    assert_eq!(
        again(),
        format!("batch `{id}` has not ended: nobody holds it")
    );
    let batch = seen(&store, &project, id);
    let next = store.take_batch(&batch, "w 2", LONG).wait();
    let next = next.unwrap().unwrap();
    let end = store.end_batch(&next, 1, BatchStatus::Stopped, progress(0..1));
    end.wait().unwrap();
    assert_eq!(start(&store, &project, "w 3", LONG).attempt, 1);
    assert_eq!(place.count("select count(*) from batch"), 2);
    assert_eq!(findings(&store), []);
}

/// Asks from many threads at once, each with a store of its own.
fn at_once<T: Send>(place: &TestStore, ask: impl Fn(&Store, usize) -> T + Sync) -> Vec<T> {
    const ASKERS: usize = 8;
    let barrier = Barrier::new(ASKERS);
    thread::scope(|scope| {
        let asked: Vec<_> = (0..ASKERS)
            .map(|number| {
                let (store, barrier, ask) = (place.open(), &barrier, &ask);
                scope.spawn(move || {
                    barrier.wait();
                    ask(&store, number)
                })
            })
            .collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

fn exactly_one_of_many_starts_a_batch(place: &TestStore) {
    let (store, project) = demo(place);
    for round in 1..=5 {
        let claims = at_once(place, |store, number| {
            let worker = format!("w{number}");
            store
                .start_batch(&project, json!(number), &worker, LONG, started)
                .wait()
        });
        let mut won = claims.iter().filter_map(|claim| claim.as_ref().ok());
        let held = won.next().unwrap();
        assert_eq!(won.next(), None);
        let said = format!(
            "batch `{}` has not ended: `{}` holds it",
            held.batch.id, held.worker
        );
        for lost in claims.iter().filter_map(|claim| claim.as_ref().err()) {
            assert_eq!(lost.to_string(), said);
        }
        assert_eq!(place.count("select count(*) from batch"), round);
        let end = store.end_batch(held, 1, BatchStatus::AllDone, Progress::default());
        end.wait().unwrap();
    }
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}

fn entries_and_events_are_stored_together(place: &TestStore) {
    let (store, project) = demo(place);
    let run = place.queue(&store, &project, 1)[0];
    let held = start(&store, &project, "w", LONG);
    let id = held.batch.id;
    let about = |run: Option<Id>| Progress {
        entries: vec![json!(["done"]), json!(null)],
        events: vec![NewEvent { run, ..event(7) }],
    };
    let recorded = store.record(&held, 1, about(Some(run))).wait().unwrap();
    assert_eq!((recorded.seq, recorded.stop), (3, None));
    let events = store.events_of_run(run, 0, 9).wait().unwrap();
    assert_eq!(events.last().unwrap().seq, recorded.events[0]);
    assert_eq!(
        journal(&store, &project, id)[1..],
        [json!(["done"]), json!(null)]
    );
    let last = store.journal(&project, id, 2).wait().unwrap();
    assert_eq!(
        (last.len(), last[0].seq, &last[0].entry),
        (1, 3, &Value::Null)
    );
    assert!(last[0].at >= held.batch.started_at);

    let before = (seen(&store, &project, id), seqs(&store, &project));
    let unknown: Id = "00000000000000".parse().unwrap();
    let error = store
        .record(&held, 3, about(Some(unknown)))
        .wait()
        .unwrap_err();
    assert_eq!(error.to_string(), format!("no run `{unknown}`"));
    assert_eq!(
        (seen(&store, &project, id), seqs(&store, &project)),
        before,
        "no entry without its events"
    );
    let none = store.record(&held, 3, Progress::default()).wait().unwrap();
    assert_eq!((none.seq, none.events), (3, vec![]));
    let many = store.record(&held, 3, progress(0..250)).wait().unwrap();
    assert_eq!((many.seq, many.events.len()), (253, 250));
    assert_eq!(journal(&store, &project, id)[252], json!({"n": 249}));
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}

fn whoever_does_not_know_the_last_entry_is_refused(place: &TestStore) {
    let (store, project) = demo(place);
    let held = start(&store, &project, "w", LONG);
    let id = held.batch.id;
    store.record(&held, 1, progress(0..2)).wait().unwrap();
    let before = (seen(&store, &project, id), seqs(&store, &project));
    for after in [0, 1, 2, 4] {
        let said = format!("the last journal entry of batch `{id}` is 3 and not {after}");
        let recorded = store.record(&held, after, progress(0..1));
        assert_eq!(refused(recorded.wait()), said);
        let ended = store.end_batch(&held, after, BatchStatus::Error, progress(0..1));
        assert_eq!(refused(ended.wait()), said);
    }
    assert_eq!((seen(&store, &project, id), seqs(&store, &project)), before);
}

fn a_former_holder_changes_nothing(place: &TestStore) {
    let (store, project) = demo(place);
    let late = start(&store, &project, "same", Duration::ZERO);
    let id = late.batch.id;
    // Nobody else has it yet, so it may go on.
    assert!(store.heartbeat_batch(&late, Duration::ZERO).wait().unwrap());
    store.record(&late, 1, progress(0..1)).wait().unwrap();
    let batch = seen(&store, &project, id);
    let next = store.take_batch(&batch, "same", LONG).wait().unwrap();
    let next = next.unwrap();
    assert_eq!(
        (next.batch.id, next.attempt, next.batch.entries),
        (id, 2, 2)
    );
    let taken = store.events_since(&project, 0, 99).wait().unwrap();
    let taken = &taken.last().unwrap().event;
    assert_eq!(taken.kind, "batch:taken_over");
    assert_eq!(taken.payload["batch_id"], json!(id));
    assert_eq!(taken.payload["attempt"], json!(2));

    let run = run_of(&store, &project, Some((late.clone(), 3)));
    let before = (seen(&store, &project, id), seqs(&store, &project));
    let lost = format!("batch `{id}` is no longer held by `same`: its attempt 1 is over");
    assert!(!store.heartbeat_batch(&late, LONG).wait().unwrap());
    assert!(!store.release_batch(&late).wait().unwrap());
    assert_eq!(store.take_batch(&batch, "x", LONG).wait(), Ok(None));
    assert_eq!(refused(store.batch_stop(&late).wait()), lost);
    assert_eq!(refused(store.record(&late, 2, progress(0..1)).wait()), lost);
    let end = store.end_batch(&late, 2, BatchStatus::Completed, progress(0..1));
    assert_eq!(refused(end.wait()), lost);
    assert_eq!(refused(store.queue_run(&project, run).wait()), lost);
    assert_eq!((seen(&store, &project, id), seqs(&store, &project)), before);

    assert_eq!(
        store.record(&next, 2, progress(0..1)).wait().unwrap().seq,
        3
    );
    assert_eq!(findings(&store), []);
}

fn a_batch_that_was_renewed_is_not_taken(place: &TestStore) {
    let (store, project) = demo(place);
    let held = start(&store, &project, "w", Duration::ZERO);
    assert!(store.heartbeat_batch(&held, LONG).wait().unwrap());
    assert_eq!(store.take_batch(&held.batch, "x", LONG).wait(), Ok(None));
    assert_eq!(seen(&store, &project, held.batch.id).attempt, 1);
}

fn exactly_one_of_many_takes_a_batch(place: &TestStore) {
    let (store, project) = demo(place);
    let dead = start(&store, &project, "dead", LONG);
    let taken = at_once(place, |store, number| {
        store
            .take_batch(&dead.batch, &format!("w{number}"), LONG)
            .wait()
            .unwrap()
    });
    let taken: Vec<BatchClaim> = taken.into_iter().flatten().collect();
    assert_eq!(taken.len(), 1);
    let batch = seen(&store, &project, dead.batch.id);
    assert_eq!((batch.attempt, &batch.worker), (2, &taken[0].worker));
    assert_eq!(findings(&store), []);
}

fn a_released_batch_is_nobodys(place: &TestStore) {
    let (store, project) = demo(place);
    let held = start(&store, &project, "w", LONG);
    let id = held.batch.id;
    assert!(store.release_batch(&held).wait().unwrap());
    let batch = seen(&store, &project, id);
    assert_eq!(batch.lease_until, None);
    assert_eq!((batch.state, batch.attempt), (BatchState::Running, 1));
    assert!(!store.release_batch(&held).wait().unwrap());
    assert!(!store.heartbeat_batch(&held, LONG).wait().unwrap());
    assert_eq!(
        refused(store.record(&held, 1, progress(0..1)).wait()),
        format!("batch `{id}` is no longer held by `w`: its attempt 1 is over")
    );
    assert_eq!(findings(&store), []);
    let next = store.take_batch(&batch, "w", LONG).wait().unwrap().unwrap();
    assert_eq!(next.attempt, 2);
    store.record(&next, 1, progress(0..1)).wait().unwrap();
    assert_eq!(findings(&store), []);
}

fn a_batch_ends_once(place: &TestStore) {
    let (store, project) = demo(place);
    let statuses = [
        (BatchStatus::Completed, "completed"),
        (BatchStatus::AllDone, "all_done"),
        (BatchStatus::Stopped, "stopped"),
        (BatchStatus::Error, "error"),
    ];
    for (status, word) in statuses {
        let held = start(&store, &project, "w", LONG);
        let id = held.batch.id;
        let ended = store
            .end_batch(&held, 1, status, progress(0..2))
            .wait()
            .unwrap();
        assert_eq!((ended.seq, ended.events.len()), (3, 2));
        let batch = seen(&store, &project, id);
        assert_eq!(
            (batch.state, batch.status),
            (BatchState::Ended, Some(status))
        );
        assert!(batch.ended_at.unwrap() >= batch.started_at);
        assert_eq!((batch.lease_until, batch.entries), (None, 3));
        assert_eq!(json!(batch.status), json!(word));
        assert_eq!(store.open_batch(&project).wait(), Ok(None));

        let run = run_of(&store, &project, Some((held.clone(), 1)));
        let before = seqs(&store, &project);
        let said = format!("batch `{id}` has ended: {word}");
        let again = store.end_batch(&held, 3, BatchStatus::Completed, progress(0..1));
        assert_eq!(refused(again.wait()), said);
        let more = store.record(&held, 3, progress(0..1));
        assert_eq!(refused(more.wait()), said);
        assert_eq!(refused(store.queue_run(&project, run).wait()), said);
        assert!(!store.heartbeat_batch(&held, LONG).wait().unwrap());
        assert!(!store.release_batch(&held).wait().unwrap());
        assert_eq!(store.take_batch(&batch, "x", LONG).wait(), Ok(None));
        let stop = store.request_batch_stop(&project, id, "drain");
        assert_eq!(stop.wait(), Ok(false));
        assert_eq!(seqs(&store, &project), before);
        assert_eq!(seen(&store, &project, id), batch);
    }
    assert_eq!(findings(&store), []);
}

fn a_request_to_stop_is_seen_by_the_holder(place: &TestStore) {
    let (store, project) = demo(place);
    let held = start(&store, &project, "w", LONG);
    let id = held.batch.id;
    assert_eq!(store.batch_stop(&held).wait(), Ok(None));
    let ask = |policy| {
        store
            .request_batch_stop(&project, id, policy)
            .wait()
            .unwrap()
    };
    assert!(ask("drain"));
    let first = seen(&store, &project, id).stop.unwrap();
    assert_eq!(first.policy, "drain");
    assert!(ask("drain"), "asking twice is asking once");
    assert!(ask("cancel"));
    let stop = Some(BatchStop {
        at: first.at,
        policy: "cancel".to_owned(),
    });
    assert_eq!(seen(&store, &project, id).stop, stop);
    assert_eq!(store.batch_stop(&held).wait().unwrap(), stop);
    let recorded = store.record(&held, 1, progress(0..1)).wait().unwrap();
    assert_eq!(recorded.stop, stop);
    let events = store.events_since(&project, 0, 99).wait().unwrap();
    let stopping = events.iter().filter(|it| it.event.kind == "batch:stopping");
    let policies: Vec<_> = stopping.map(|it| &it.event.payload["policy"]).collect();
    assert_eq!(policies, ["drain", "cancel"]);
    let other = store.project("other").wait().unwrap();
    assert!(
        store
            .request_batch_stop(&other, id, "drain")
            .wait()
            .is_err()
    );
    let end = store.end_batch(&held, 2, BatchStatus::Stopped, Progress::default());
    assert_eq!(end.wait().unwrap().stop, stop);
    assert_eq!(findings(&store), []);
}
