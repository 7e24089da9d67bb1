//! `output`: what agents say, with the events that are read out of it, of many runs at once; each batch acknowledged.

use std::path::Path;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{Claim, Record, Store, Stream, Wait};
use serde_json::json;

use crate::Settings;
use crate::bench_store::{BenchStore, Database, claim, queue};
use crate::table::{self, speed, timed};
use crate::text::Chance;

/// How many runs write at the same time, how long a record is, and how many events are read out of each.
const RUNS: usize = 200;
const RECORD: usize = 64 << 10;
const EVENTS: usize = 20;

pub(crate) fn run(settings: &Settings, folder: &Path, databases: &[Database]) {
    let batches = settings.either(20, 4);
    let rows: Vec<[String; 5]> = databases
        .iter()
        .map(|database| {
            let place = BenchStore::new(database, folder, "output");
            let store = place.open();
            let project = store.project("bench").wait().unwrap();
            queue(&store, &project, RUNS);
            let claims: Vec<Claim> = (0..RUNS).map(|_| claim(&store, &project)).collect();
            let time = timed(|| at_once(&store, &claims, batches));
            row(database.name(), batches, time)
        })
        .collect();
    let head = [
        "output: 200 runs at once",
        "records/s",
        "events/s",
        "",
        "seconds",
    ];
    table::print(head, &rows);
}

fn row(name: &str, batches: usize, time: Duration) -> [String; 5] {
    let records = RUNS * batches;
    let rate = |count: usize| format!("{:.0}", count as f64 / time.as_secs_f64());
    [
        name.to_owned(),
        rate(records),
        rate(records * EVENTS),
        speed(records * RECORD, time),
        format!("{:.1}", time.as_secs_f64()),
    ]
}

fn at_once(store: &Store, claims: &[Claim], batches: usize) {
    std::thread::scope(|scope| {
        for (run, claim) in claims.iter().enumerate() {
            scope.spawn(move || {
                let mut chance = Chance::new(run as u64);
                let lines: Vec<Vec<u8>> =
                    (0..RECORD / 512).map(|_| chance.agent_line(512)).collect();
                let record = Record {
                    stream: Stream::Meta,
                    data: lines.concat(),
                };
                let event = |number: usize| {
                    let facts = [
                        ("text", json!("reading src/login.rs")),
                        ("line", json!(number)),
                    ];
                    (Some(0), Event::new("agent:text", facts, "it speaks"))
                };
                for _ in 0..batches {
                    let events = (0..EVENTS).map(event).collect();
                    store
                        .append_output(claim, vec![record.clone()], events)
                        .wait()
                        .unwrap();
                }
            });
        }
    });
}
