//! Claims: each run is finished once, whoever dies, and who was too slow changes nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use callsheet_store::{Claim, Id, Record, RunPage, RunState, Store, Stream, block_on};
use serde_json::json;

use crate::on_both;
use crate::place::{Place, assert_gapless, findings, seqs};
use crate::process::{Part, Process};

on_both!(
    the_oldest_run_is_claimed_first,
    a_claim_that_ran_out_passes_on,
    a_claim_that_is_renewed_does_not,
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

fn claim(store: &Store, worker: &str, lease: Duration) -> Option<Claim> {
    block_on(store.claim_run(worker, lease)).unwrap()
}

fn the_oldest_run_is_claimed_first(place: &Place) {
    let store = place.open();
    assert_eq!(claim(&store, "w", LONG), None);
    let project = block_on(store.project("demo")).unwrap();
    let ids = place.queue(&store, &project, 3);
    for id in &ids {
        let claim = claim(&store, "w", LONG).unwrap();
        assert_eq!((claim.run.id, claim.attempt), (*id, 1));
        assert_eq!(claim.run.state, RunState::Running);
        assert_eq!(claim.run.worker.as_deref(), Some("w"));
        let lease = claim.run.lease_until.unwrap() - claim.run.started_at.unwrap();
        assert_eq!(lease, 60_000);
    }
    assert_eq!(claim(&store, "w", LONG), None);
}

fn a_claim_that_ran_out_passes_on(place: &Place) {
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    let id = place.queue(&store, &project, 1)[0];
    let late = claim(&store, "same", Duration::ZERO).unwrap();
    block_on(store.append_log(&late, vec![record("prompt")])).unwrap();
    // Nobody else has it yet, so it may go on.
    assert!(block_on(store.heartbeat(&late, Duration::ZERO)).unwrap());
    let next = claim(&store, "same", LONG).unwrap();
    assert_eq!((next.run.id, next.attempt), (id, 2));

    let before = block_on(store.run(&project, id.as_str())).unwrap();
    assert!(!block_on(store.heartbeat(&late, LONG)).unwrap());
    assert!(!block_on(store.finish_run(&late, &json!("late"))).unwrap());
    let refused = block_on(store.append_log(&late, vec![record("late")])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("run `{id}` is no longer held by `same`: its attempt 1 is over")
    );
    assert_eq!(block_on(store.run(&project, id.as_str())).unwrap(), before);

    block_on(store.append_log(&next, vec![record("again")])).unwrap();
    assert!(block_on(store.finish_run(&next, &json!("done"))).unwrap());
    let after = block_on(store.run(&project, id.as_str())).unwrap();
    assert_eq!(after.outcome, Some(json!("done")));
    assert_eq!((after.state, after.records), (RunState::Finished, 2));
    for claim in [&late, &next] {
        assert!(!block_on(store.finish_run(claim, &json!("twice"))).unwrap());
        assert!(!block_on(store.heartbeat(claim, LONG)).unwrap());
        assert!(block_on(store.append_log(claim, vec![record("x")])).is_err());
    }
    assert_eq!(block_on(store.run(&project, id.as_str())).unwrap(), after);
    assert_eq!(seqs(&store, &project).len(), 5);
    assert_eq!(findings(&store), []);
}

fn a_claim_that_is_renewed_does_not(place: &Place) {
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    place.queue(&store, &project, 1);
    let held = claim(&store, "a", Duration::ZERO).unwrap();
    assert!(block_on(store.heartbeat(&held, LONG)).unwrap());
    assert_eq!(claim(&store, "b", LONG), None);
    assert!(block_on(store.finish_run(&held, &json!(null))).unwrap());
}

/// Picks a few of many runs.
fn seldom(id: Id) -> bool {
    id.as_str().ends_with(['0', '8', 'g', 'r'])
}

/// Works until every run is finished. A slow worker now and then waits until another has taken its run over.
pub(crate) fn work_part(part: &Part) {
    let store = part.open();
    let worker = format!("{}-{}", part.argument, std::process::id());
    loop {
        let Some(claim) = claim(&store, &worker, SHORT) else {
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
        let logged = block_on(store.append_log(&claim, first.collect())).is_ok();
        let stalls = part.argument == "slow" && claim.attempt == 1 && seldom(id);
        if stalls && !overtaken(&store, &claim) {
            continue;
        }
        let finished = block_on(store.finish_run(&claim, &json!({"by": worker}))).unwrap();
        assert!(logged || !finished);
        assert!(!(stalls && finished), "a late finish went through");
        part.say(&format!(
            "{id} {}",
            if finished { "finished" } else { "late" }
        ));
    }
}

/// Waits until somebody else holds the run.
fn overtaken(store: &Store, claim: &Claim) -> bool {
    let project = block_on(store.project("demo")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let run = block_on(store.run(&project, claim.run.id.as_str())).unwrap();
        if run.attempt > claim.attempt {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn is_done(store: &Store) -> bool {
    let project = block_on(store.project("demo")).unwrap();
    let any = |state| {
        let page = RunPage {
            state: Some(state),
            limit: 1,
            ..RunPage::default()
        };
        !block_on(store.runs(&project, page)).unwrap().is_empty()
    };
    !any(RunState::Queued) && !any(RunState::Running)
}

fn every_run_is_finished_once_although_workers_die(place: &Place) {
    const RUNS: usize = 500;
    const WORKERS: usize = 4;
    const KILLS: usize = 12;
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    let ids = place.queue(&store, &project, RUNS);
    // One is taken over in any case, whenever the others die.
    let late = claim(&store, "late", Duration::ZERO).unwrap();

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
    let runs = block_on(store.runs(&project, page)).unwrap();
    assert_eq!(runs.len(), RUNS);
    assert!(runs.iter().all(|run| run.state == RunState::Finished));
    let first = block_on(store.run(&project, late.run.id.as_str())).unwrap();
    assert!(first.attempt > late.attempt);
    assert!(!block_on(store.finish_run(&late, &json!("late"))).unwrap());
    assert_eq!(
        block_on(store.run(&project, late.run.id.as_str())),
        Ok(first)
    );

    let mut finished: BTreeMap<Id, usize> = BTreeMap::new();
    let events = block_on(store.events_since(&project, 0, usize::MAX)).unwrap();
    for event in &events {
        if event.event.kind == "run:finished" {
            *finished.entry(event.run.unwrap()).or_default() += 1;
        }
    }
    assert_eq!(finished.len(), RUNS);
    assert!(finished.values().all(|count| *count == 1));
    assert!(ids.iter().all(|id| finished.contains_key(id)));
    for id in &ids {
        let told = format!("{id} finished");
        assert!(said.iter().filter(|line| **line == told).count() <= 1);
    }
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
}
