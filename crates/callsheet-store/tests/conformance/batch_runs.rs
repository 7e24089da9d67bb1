//! Runs of batches: they know their batch and their action, travel without them, and nobody waits in a circle.

use std::thread;
use std::time::Duration;

use callsheet_store::{BatchStatus, Id, NewEvent, Progress, RunPage, Wait};
use serde_json::json;

use crate::batches::{demo, run_of, start};
use crate::on_both;
use crate::test_store::{TestStore, assert_gapless, claim, event, findings, seqs};
use crate::travel::{import, written};

on_both!(
    runs_of_a_batch_are_told_apart,
    a_run_travels_without_its_batch,
    nobody_waits_in_a_circle,
);

const LONG: Duration = Duration::from_mins(1);

fn runs_of_a_batch_are_told_apart(place: &TestStore) {
    let (store, project) = demo(place);
    let other = store.project("other").wait().unwrap();
    let held = start(&store, &project, "w", LONG);
    let id = held.batch.id;
    place.queue(&store, &project, 1);
    let queue = |action: i64| {
        let new = run_of(&store, &project, Some((held.clone(), action)));
        store.queue_run(&project, new).wait().unwrap()
    };
    let (third, first, again) = (queue(3), queue(1), queue(3));
    let new = run_of(&store, &project, Some((held.clone(), 2)));
    let second = store.start_run(&project, new, "w", LONG, |_| Ok(())).wait();
    let second = second.unwrap().unwrap();
    assert_eq!(second.run.batch, Some((id, 2)));
    let runs = store.runs_of_batch(&project, id).wait().unwrap();
    let found: Vec<_> = runs.iter().map(|run| (run.id, run.batch)).collect();
    let wanted = [(first, 1), (second.run.id, 2), (third, 3), (again, 3)];
    assert_eq!(found, wanted.map(|(run, action)| (run, Some((id, action)))));
    let queued = store.events_of_run(third, 0, 1).wait().unwrap();
    assert_eq!(queued[0].event.payload["batch"], json!(id));
    assert_eq!(queued[0].event.payload["action"], json!(3));
    let free = store.runs(&project, RunPage::default()).wait().unwrap();
    assert_eq!(free.iter().filter(|run| run.batch.is_none()).count(), 1);

    let elsewhere = run_of(&store, &other, Some((held.clone(), 1)));
    let error = store.queue_run(&other, elsewhere).wait().unwrap_err();
    assert_eq!(error.to_string(), format!("no batch `{id}`"));
    assert_eq!(findings(&store), []);
}

fn a_run_travels_without_its_batch(place: &TestStore) {
    let (home, from) = demo(place);
    let other = TestStore::sqlite();
    let (away, to) = demo(&other);
    let held = start(&home, &from, "w", LONG);
    let new = run_of(&home, &from, Some((held.clone(), 5)));
    let run = home.start_run(&from, new, "w", LONG, |_| Ok(())).wait();
    let run = run.unwrap().unwrap();
    assert!(home.finish_run(&run, &json!({"exit": 0})).wait().unwrap());
    let id = run.run.id;
    let bytes = written(&home, &from, &[id]);
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(id, true)]));
    let there = away.run(&to, id.as_str()).wait().unwrap();
    assert_eq!(there.batch, None);
    assert_eq!(findings(&away), []);
    assert_eq!(written(&away, &to, &[id]), bytes, "and back again");
    let end = home.end_batch(&held, 1, BatchStatus::Completed, Progress::default());
    end.wait().unwrap();
    assert_eq!(import(&home, &from, &bytes), Ok(vec![(id, false)]));
    let here = home.run(&from, id.as_str()).wait().unwrap();
    assert_eq!(here.batch, Some((held.batch.id, 5)));
    assert_eq!(findings(&home), []);
}

/// Runs finish, events tell of them, the lease is renewed and somebody asks for a stop, all at once.
fn nobody_waits_in_a_circle(place: &TestStore) {
    const ROUNDS: i64 = 30;
    let (store, project) = demo(place);
    let held = start(&store, &project, "w", LONG);
    let new = run_of(&store, &project, Some((held.clone(), 1)));
    let runs = (0..ROUNDS).map(|_| store.queue_run(&project, new.clone()).wait().unwrap());
    let runs: Vec<Id> = runs.collect();
    let [beats, stops, works] = [(); 3].map(|()| place.open());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..ROUNDS {
                assert!(beats.heartbeat_batch(&held, LONG).wait().unwrap());
            }
        });
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let policy = if round % 2 == 0 { "drain" } else { "cancel" };
                let asked = stops.request_batch_stop(&project, held.batch.id, policy);
                assert!(asked.wait().unwrap());
            }
        });
        scope.spawn(|| {
            while let Some(run) = claim(&works, &project, "w", LONG) {
                assert!(works.finish_run(&run, &json!(0)).wait().unwrap());
            }
        });
        let about = |run: &Id| NewEvent {
            run: Some(*run),
            ..event(1)
        };
        for after in 1..=ROUNDS {
            let progress = Progress {
                entries: vec![json!(after)],
                events: runs.iter().map(about).collect(),
            };
            let recorded = store.record(&held, after, progress).wait().unwrap();
            assert_eq!(recorded.seq, after + 1);
        }
    });
    if !place.is_sqlite() {
        let circles = "select deadlocks from pg_stat_database where datname = current_database()";
        assert_eq!(place.count(circles), 0);
    }
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}
