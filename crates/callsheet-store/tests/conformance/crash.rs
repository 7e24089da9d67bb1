//! A writer is killed at random points, many times: what it was told is kept, and nothing is half there.

use std::time::{Duration, Instant};

use callsheet_store::{Record, Stream, Wait};

use crate::on_both;
use crate::process::{Assignment, Process};
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, claim, event, findings, seqs};

on_both!(what_was_acknowledged_survives_the_writer);

/// Appends events and records without end and says each number that was acknowledged.
pub(crate) fn crash_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let held = store.running(&project).wait().unwrap();
    let lease = Duration::from_mins(1);
    let claim = match held.first() {
        // The writer before this one is dead.
        Some(run) => store.take_over(run, "w", lease).wait().unwrap(),
        None => claim(&store, &project, "w", lease),
    };
    let claim = claim.unwrap();
    let record = |text: String| Record {
        stream: Stream::Meta,
        data: text.into_bytes(),
    };
    for number in 0.. {
        let events = (0..=number % 3).map(event).collect();
        let got = store.append_events(&project, events).wait().unwrap();
        assignment.say(&format!("event {}", got[got.len() - 1]));
        let long = "a line that comes again and again\n".repeat(1 + number as usize % 50);
        let records = vec![record(format!("{number}")), record(long)];
        let got = store.append_log(&claim, records).wait().unwrap();
        assignment.say(&format!("record {}", got[got.len() - 1]));
        if number % 3 == 0 {
            let text = format!("Task {number} of {}.", std::process::id());
            let (prompt, _) = prompts::seal(&store, &project, &text);
            assignment.say(&format!("prompt {}", prompt.id));
        }
    }
}

/// The largest number of a kind that was said.
fn largest(said: &[String], kind: &str) -> i64 {
    let numbers = said
        .iter()
        .filter_map(|line| line.strip_prefix(kind)?.trim().parse().ok());
    numbers.max().unwrap_or(0)
}

fn what_was_acknowledged_survives_the_writer(place: &TestStore) {
    // A server outlives its clients anyway, so fewer of them have to die.
    let kills = if place.is_sqlite() { 80 } else { 15 };
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let run = place.queue(&store, &project, 1)[0];
    drop(store);

    let deadline = Instant::now() + Duration::from_mins(1);
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let (mut event, mut record) = (0, 0);
    let mut prompts: Vec<String> = Vec::new();
    for kill in 0..kills {
        assert!(Instant::now() < deadline, "only {kill} kills in a minute");
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut writer = Process::start("crash", place, "");
        // Some die while they open the store, the others somewhere in their work.
        let mut said = Vec::new();
        for _ in 0..(dice >> 33) % 12 {
            said.extend(writer.hear());
        }
        std::thread::sleep(Duration::from_micros((dice >> 40) % 3000));
        said.extend(writer.kill());
        event = event.max(largest(&said, "event"));
        record = record.max(largest(&said, "record"));
        prompts.extend(
            said.iter()
                .filter_map(|line| line.strip_prefix("prompt ").map(str::to_owned)),
        );

        let store = place.open();
        let there = seqs(&store, &project);
        assert_gapless(&there);
        assert!(there.len() as i64 >= event, "event {event} is gone");
        let log = store.log_since(run, 0, usize::MAX, None).wait().unwrap();
        assert_gapless(&log.iter().map(|record| record.seq).collect::<Vec<_>>());
        assert!(log.len() as i64 >= record, "record {record} is gone");
        assert_eq!(log.len() % 2, 0, "half of an append is there");
        assert_eq!(findings(&store), []);
        for id in &prompts {
            let prompt = store.prompt(&project, id).wait().unwrap();
            assert!(store.sealed(&prompt).wait().unwrap().check().is_empty());
        }
        prompts.clear();
    }
    assert!(event > kills && record > kills, "{event} {record}");
}
