//! The holder of a batch is killed at random points, many times: entries and events are there together or not at all.

use std::time::{Duration, Instant};

use callsheet_store::{Progress, Wait};
use serde_json::json;

use crate::batches;
use crate::on_both;
use crate::process::{Assignment, Process};
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs};

on_both!(a_journal_and_its_events_survive_together);

/// Records without end, and says the number of each last entry that was acknowledged.
pub(crate) fn record_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let lease = Duration::from_mins(1);
    let held = match store.open_batch(&project).wait().unwrap() {
        // The holder before this one is dead.
        Some(batch) => store.take_batch(&batch, "w", lease).wait().unwrap(),
        None => Some(batches::start(&store, &project, "w", lease)),
    };
    let held = held.unwrap();
    let mut last = held.batch.entries;
    loop {
        let count = 1 + last % 3;
        let numbers = last + 1..=last + count;
        let progress = Progress {
            entries: numbers.clone().map(|number| json!(number)).collect(),
            events: numbers.map(event).collect(),
        };
        last = store.record(&held, last, progress).wait().unwrap().seq;
        assignment.say(&last.to_string());
    }
}

fn a_journal_and_its_events_survive_together(place: &TestStore) {
    // A server outlives its clients anyway, so fewer of them have to die.
    let kills = if place.is_sqlite() { 40 } else { 12 };
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    drop(store);
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let mut last = 0;
    for kill in 0..kills {
        assert!(Instant::now() < deadline, "only {kill} kills in a minute");
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut holder = Process::start("record", place, "");
        // Some die while they take the batch, the others somewhere in their work.
        let mut said = Vec::new();
        for _ in 0..(dice >> 33) % 8 {
            said.extend(holder.hear());
        }
        std::thread::sleep(Duration::from_micros((dice >> 40) % 3000));
        said.extend(holder.kill());
        let numbers = said.iter().map(|line| line.parse::<i64>().unwrap());
        last = numbers.max().unwrap_or(0).max(last);

        let store = place.open();
        assert_gapless(&seqs(&store, &project));
        assert_eq!(findings(&store), []);
        let Some(batch) = store.open_batch(&project).wait().unwrap() else {
            continue;
        };
        let journal = store.journal(&project, batch.id, 0).wait().unwrap();
        assert_gapless(&journal.iter().map(|entry| entry.seq).collect::<Vec<_>>());
        assert!(journal.len() as i64 >= last, "entry {last} is gone");
        let entries = journal.iter().filter_map(|entry| entry.entry.as_i64());
        let events = store.events_since(&project, 0, usize::MAX).wait().unwrap();
        let numbers = events.iter().filter(|it| it.event.kind == "test:event");
        let numbers = numbers.map(|it| it.event.payload["number"].as_i64().unwrap());
        assert_eq!(entries.collect::<Vec<_>>(), numbers.collect::<Vec<_>>());
    }
    assert!(last > kills, "{last}");
}
