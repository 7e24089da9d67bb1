//! Claims: a run is claimed once and finished once, whoever dies, and who was too slow changes nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callsheet_store::{Claim, Id, Project, Record, Run, RunPage, RunState, Store, Stream, Wait};
use serde_json::json;

use crate::on_both;
use crate::process::{Assignment, Process};
use crate::test_store::{TestStore, assert_gapless, claim, findings, seqs};

on_both!(
    the_oldest_run_is_claimed_first,
    whoever_claims_says_which_run_it_takes,
    many_queued_runs_are_looked_at,
    each_run_is_claimed_by_exactly_one_of_many,
    a_limit_of_claims_holds_however_many_ask,
    a_run_is_claimed_or_stopped_and_nobody_waits_in_a_circle,
    a_lease_that_ran_out_is_not_handed_out_again,
    every_run_is_finished_once_although_workers_die,
);

const LONG: Duration = Duration::from_mins(1);

/// Long enough for a worker that lives, on a busy machine, to do one run.
const SHORT: Duration = Duration::from_millis(700);

fn record(text: &str) -> Record {
    Record {
        stream: Stream::Meta,
        data: text.as_bytes().to_vec(),
    }
}

fn the_oldest_run_is_claimed_first(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    assert_eq!(claim(&store, &project, "w", LONG), None);
    let elsewhere = place.queue(&store, &other, 1)[0];
    let ids = place.queue(&store, &project, 3);
    for id in &ids {
        let claim = claim(&store, &project, "w", LONG).unwrap();
        assert_eq!((claim.run.id, claim.attempt), (*id, 1));
        assert_eq!(claim.run.state, RunState::Running);
        assert_eq!(claim.run.worker.as_deref(), Some("w"));
        let lease = claim.run.lease_until.unwrap() - claim.run.started_at.unwrap();
        assert_eq!(lease, 60_000);
    }
    assert_eq!(claim(&store, &project, "w", LONG), None);
    assert_eq!(
        claim(&store, &other, "w", LONG).unwrap().run.id,
        elsewhere,
        "of another project"
    );
    assert_eq!(findings(&store), []);
}

/// The run that was asked about, and those that were running.
type Question = (Id, Vec<Id>);

fn whoever_claims_says_which_run_it_takes(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, 3);
    let seen: Arc<Mutex<Vec<Question>>> = Arc::default();
    let ask = |wanted: Option<Id>| {
        let asked = Arc::clone(&seen);
        let admit = move |run: &Run, running: &[Run]| {
            assert_eq!(run.state, RunState::Queued);
            let running = running.iter().map(|run| run.id).collect();
            asked.lock().unwrap().push((run.id, running));
            Some(run.id) == wanted
        };
        let claimed = store
            .claim_queued(&project, "w", LONG, admit)
            .wait()
            .unwrap();
        let asked = std::mem::take(&mut *seen.lock().unwrap());
        (claimed.map(|claim| claim.run.id), asked)
    };
    let before = seqs(&store, &project).len();
    let all: Vec<_> = ids.iter().map(|id| (*id, vec![])).collect();
    assert_eq!(ask(None), (None, all.clone()));
    assert_eq!(seqs(&store, &project).len(), before, "nothing has changed");
    assert_eq!(ask(Some(ids[1])), (Some(ids[1]), all[..2].to_vec()));
    let running = vec![ids[1]];
    let left = vec![(ids[0], running.clone()), (ids[2], running)];
    assert_eq!(ask(Some(ids[1])), (None, left.clone()));
    assert_eq!(ask(Some(ids[0])), (Some(ids[0]), left[..1].to_vec()));
    assert_eq!(findings(&store), []);
}

fn many_queued_runs_are_looked_at(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, 150);
    let last = ids[149];
    let only = move |run: &Run, _: &[Run]| run.id == last;
    let claimed = store
        .claim_queued(&project, "w", LONG, only)
        .wait()
        .unwrap();
    assert_eq!(claimed.unwrap().run.id, last);
    assert_eq!(
        store.claim_queued(&project, "w", LONG, |_, _| false).wait(),
        Ok(None)
    );
}

/// Eight claim at once, from stores of their own, until nothing is left.
fn each_run_is_claimed_by_exactly_one_of_many(place: &TestStore) {
    const CLAIMANTS: usize = 8;
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let mut ids = place.queue(&store, &project, 60);
    let barrier = Barrier::new(CLAIMANTS);
    let claimed: Vec<Vec<Id>> = thread::scope(|scope| {
        let asked: Vec<_> = (0..CLAIMANTS)
            .map(|number| {
                let (store, project, barrier) = (place.open(), &project, &barrier);
                scope.spawn(move || {
                    let worker = format!("w{number}");
                    barrier.wait();
                    let claims = std::iter::from_fn(|| claim(&store, project, &worker, LONG));
                    claims.map(|claim| claim.run.id).collect()
                })
            })
            .collect();
        asked.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for taken in &claimed {
        let order = |id: &Id| ids.iter().position(|other| other == id);
        assert!(taken.is_sorted_by_key(order), "the oldest comes first");
    }
    let mut taken = claimed.concat();
    taken.sort();
    ids.sort();
    assert_eq!(taken, ids);
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}

/// Never more than two run at once, although each claimant alone would take all.
fn a_limit_of_claims_holds_however_many_ask(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    place.queue(&store, &project, 12);
    let two = |_: &Run, running: &[Run]| running.len() < 2;
    let ask = |store: &Store| store.claim_queued(&project, "w", LONG, two).wait().unwrap();
    let claims: Vec<Claim> = thread::scope(|scope| {
        let asked: Vec<_> = (0..6)
            .map(|_| {
                let (store, ask) = (place.open(), &ask);
                scope.spawn(move || ask(&store))
            })
            .collect();
        let claims = asked.into_iter().map(|it| it.join().unwrap());
        claims.flatten().collect()
    });
    assert_eq!(claims.len(), 2);
    assert!(store.finish_run(&claims[0], &json!(0)).wait().unwrap());
    assert!(ask(&store).is_some());
    assert_eq!(ask(&store), None);
}

fn a_run_is_claimed_or_stopped_and_nobody_waits_in_a_circle(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, 40);
    let stopper = place.open();
    thread::scope(|scope| {
        scope.spawn(|| {
            for id in &ids {
                assert!(stopper.request_stop(*id).wait().unwrap());
            }
        });
        while claim(&store, &project, "w", LONG).is_some() {}
    });
    while claim(&store, &project, "w", LONG).is_some() {}
    if !place.is_sqlite() {
        let circles = "select deadlocks from pg_stat_database where datname = current_database()";
        assert_eq!(place.count(circles), 0);
    }
    assert_eq!(
        place.count("select count(*) from run where state = 'queued' or stop_requested_at is null"),
        0
    );
    assert_eq!(findings(&store), []);
}

fn a_lease_that_ran_out_is_not_handed_out_again(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let id = place.queue(&store, &project, 1)[0];
    let late = claim(&store, &project, "same", Duration::ZERO).unwrap();
    store
        .append_log(&late, vec![record("prompt")])
        .wait()
        .unwrap();
    assert_eq!(claim(&store, &project, "other", LONG), None);
    // Nobody else has it yet, so it may go on.
    assert!(store.heartbeat(&late, Duration::ZERO).wait().unwrap());
    let seen = store.run(&project, id.as_str()).wait().unwrap();
    let next = store.take_over(&seen, "same", LONG).wait().unwrap();
    let next = next.unwrap();
    assert_eq!((next.run.id, next.attempt), (id, 2));

    let before = store.run(&project, id.as_str()).wait().unwrap();
    assert!(!store.heartbeat(&late, LONG).wait().unwrap());
    assert!(!store.finish_run(&late, &json!("late")).wait().unwrap());
    let refused = store
        .append_log(&late, vec![record("late")])
        .wait()
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("run `{id}` is no longer held by `same`: its attempt 1 is over")
    );
    assert_eq!(store.run(&project, id.as_str()).wait().unwrap(), before);

    store
        .append_log(&next, vec![record("again")])
        .wait()
        .unwrap();
    assert!(store.finish_run(&next, &json!("done")).wait().unwrap());
    let after = store.run(&project, id.as_str()).wait().unwrap();
    assert_eq!(after.outcome, Some(json!("done")));
    assert_eq!((after.state, after.records), (RunState::Finished, 2));
    for claim in [&late, &next] {
        assert!(!store.finish_run(claim, &json!("twice")).wait().unwrap());
        assert!(!store.heartbeat(claim, LONG).wait().unwrap());
        assert!(store.append_log(claim, vec![record("x")]).wait().is_err());
    }
    assert_eq!(store.run(&project, id.as_str()).wait().unwrap(), after);
    assert_eq!(claim(&store, &project, "other", LONG), None);
    assert_eq!(seqs(&store, &project).len(), 5);
    assert_eq!(findings(&store), []);
}

/// Picks a few of many runs.
fn seldom(id: Id) -> bool {
    id.as_str().ends_with(['0', '8', 'g', 'r'])
}

/// Takes over a run whose holder has not renewed its lease.
fn abandoned(store: &Store, project: &Project, worker: &str) -> Option<Claim> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(since.as_millis()).unwrap();
    let running = store.running(project).wait().unwrap();
    let mut over = running.iter().filter(|run| run.lease_until < Some(now));
    over.find_map(|run| store.take_over(run, worker, SHORT).wait().unwrap())
}

/// Works until every run is finished. A slow worker now and then waits until another has taken its run over.
pub(crate) fn work_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let worker = format!("{}-{}", assignment.argument, std::process::id());
    loop {
        let next = abandoned(&store, &project, &worker);
        let Some(claim) = next.or_else(|| claim(&store, &project, &worker, SHORT)) else {
            if is_done(&store) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let id = claim.run.id;
        let first = [record("prompt")]
            .into_iter()
            .chain((0..3).map(|_| record("line")));
        let logged = store.append_log(&claim, first.collect()).wait().is_ok();
        let stalls = assignment.argument == "slow" && claim.attempt == 1 && seldom(id);
        if stalls && !overtaken(&store, &claim) {
            continue;
        }
        let finished = store
            .finish_run(&claim, &json!({"by": worker}))
            .wait()
            .unwrap();
        assert!(logged || !finished);
        assert!(!(stalls && finished), "a late finish went through");
        assignment.say(&format!(
            "{id} {}",
            if finished { "finished" } else { "late" }
        ));
    }
}

/// Waits until somebody else holds the run.
fn overtaken(store: &Store, claim: &Claim) -> bool {
    let project = store.project("demo").wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let run = store.run(&project, claim.run.id.as_str()).wait().unwrap();
        if run.attempt > claim.attempt {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn is_done(store: &Store) -> bool {
    let project = store.project("demo").wait().unwrap();
    let any = |state| {
        let page = RunPage {
            state: Some(state),
            limit: 1,
            ..RunPage::default()
        };
        !store.runs(&project, page).wait().unwrap().is_empty()
    };
    !any(RunState::Queued) && !any(RunState::Running)
}

fn every_run_is_finished_once_although_workers_die(place: &TestStore) {
    const RUNS: usize = 500;
    const WORKERS: usize = 4;
    const KILLS: usize = 12;
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, RUNS);
    // One is taken over in any case, whenever the others die.
    let late = claim(&store, &project, "late", Duration::ZERO).unwrap();

    let start = |which: usize| {
        let pace = if which == 0 { "slow" } else { "fast" };
        Process::start("work", place, pace)
    };
    let mut workers: Vec<Process> = (0..WORKERS).map(start).collect();
    let mut said = Vec::new();
    for kill in 0..KILLS {
        // Each dies at another point of its work: after some runs, and some time into the next one.
        let which = kill % WORKERS;
        for _ in 0..=kill % 5 {
            said.extend(workers[which].hear());
        }
        std::thread::sleep(Duration::from_micros(700 * kill as u64));
        let next = start(which);
        said.extend(std::mem::replace(&mut workers[which], next).kill());
    }
    said.extend(workers.into_iter().flat_map(Process::finish));

    let page = RunPage {
        limit: RUNS + 1,
        ..RunPage::default()
    };
    let runs = store.runs(&project, page).wait().unwrap();
    assert_eq!(runs.len(), RUNS);
    assert!(runs.iter().all(|run| run.state == RunState::Finished));
    let first = store.run(&project, late.run.id.as_str()).wait().unwrap();
    assert!(first.attempt > late.attempt);
    assert!(!store.finish_run(&late, &json!("late")).wait().unwrap());
    assert_eq!(store.run(&project, late.run.id.as_str()).wait(), Ok(first));

    let mut finished: BTreeMap<Id, usize> = BTreeMap::new();
    let events = store.events_since(&project, 0, usize::MAX).wait().unwrap();
    for event in &events {
        if event.event.kind == "run:finished" {
            *finished.entry(event.run.unwrap()).or_default() += 1;
        }
    }
    assert_eq!(finished.len(), RUNS);
    assert!(finished.values().all(|count| *count == 1));
    assert!(ids.iter().all(|id| finished.contains_key(id)));
    for id in &ids {
        let wanted = format!("{id} finished");
        assert!(said.iter().filter(|line| **line == wanted).count() <= 1);
    }
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}
