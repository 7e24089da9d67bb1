//! Following: what is stored, then what comes, from this process and from others.

use std::thread;
use std::time::{Duration, Instant};

use callsheet_store::{Access, Follower, Store, Wait};

use crate::on_both;
use crate::process::Process;
use crate::test_store::{TestStore, assert_gapless, event};

on_both!(
    a_late_follower_gets_all,
    a_follower_hears_of_this_process,
    a_follower_hears_of_other_processes,
    a_quiet_project_is_no_error,
    asking_for_work_in_vain_is_not_news,
);

const LONG: Duration = Duration::from_secs(20);

/// Follows until so many events have come.
fn collect(follower: &mut Follower, count: usize) -> Vec<i64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        let events = follower.next_within(LONG).unwrap();
        assert!(!events.is_empty(), "only {} events came", seqs.len());
        seqs.extend(events.iter().map(|event| event.seq));
    }
    seqs
}

fn a_late_follower_gets_all(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let events = (0..1200).map(event).collect();
    store.append_events(&project, events).wait().unwrap();
    let mut follower = store.follow(&project, 0).unwrap();
    assert_gapless(&collect(&mut follower, 1200));
    let mut follower = store.follow(&project, 1190).unwrap();
    assert_eq!(
        collect(&mut follower, 10),
        (1191..=1200).collect::<Vec<_>>()
    );
    assert_eq!(follower.seq(), 1200);
}

fn a_follower_hears_of_this_process(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let followers: Vec<_> = (0..3)
        .map(|_| {
            let mut follower = store.follow(&project, 0).unwrap();
            thread::spawn(move || collect(&mut follower, 60))
        })
        .collect();
    let waiting = {
        let mut follower = store.follow(&project, 0).unwrap();
        thread::spawn(move || follower.next().wait().unwrap()[0].seq)
    };
    for number in 0..60 {
        store
            .append_events(&project, vec![event(number)])
            .wait()
            .unwrap();
    }
    for follower in followers {
        assert_gapless(&follower.join().unwrap());
    }
    assert_eq!(waiting.join().unwrap(), 1);
}

fn a_follower_hears_of_other_processes(place: &TestStore) {
    let writer = place.open();
    let project = writer.project("demo").wait().unwrap();
    drop(writer);
    let reader = Store::open(&place.location(), Access::Read).unwrap();
    let mut follower = reader.follow(&project, 0).unwrap();
    assert_eq!(follower.next_within(Duration::ZERO).unwrap(), []);
    let others: Vec<_> = (0..2)
        .map(|_| Process::start("append", place, "40"))
        .collect();
    assert_gapless(&collect(&mut follower, 80));
    for other in others {
        other.finish();
    }
}

fn a_quiet_project_is_no_error(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let mut follower = store.follow(&project, 0).unwrap();
    store.append_events(&other, vec![event(1)]).wait().unwrap();
    let begun = Instant::now();
    assert_eq!(
        follower.next_within(Duration::from_millis(150)).unwrap(),
        []
    );
    assert!(begun.elapsed() >= Duration::from_millis(150));
}

/// A worker asks whenever there is news, so it would never rest.
fn asking_for_work_in_vain_is_not_news(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let mut follower = store.follow(&project, i64::MAX).unwrap();
    // Whoever begins to look out for others has missed what came before.
    assert!(follower.wait(LONG).unwrap());
    let claimed = store.claim_queued(&project, "w", LONG, |_, _| true);
    assert!(claimed.wait().unwrap().is_none());
    assert!(!follower.wait(Duration::ZERO).unwrap());
    let events = store.append_events(&project, vec![event(0)]);
    events.wait().unwrap();
    assert!(follower.wait(LONG).unwrap());
}
