//! `append`: log records of many runs at once, each batch acknowledged, beside plain appends to one file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use callsheet_store::{Claim, Record, Store, Stream, Wait};

use crate::Settings;
use crate::bench_store::{BenchStore, Database, claim, queue};
use crate::table::{self, median, ratio, speed, timed};
use crate::text::Chance;

/// How many runs write at the same time, and how long a record is.
const RUNS: usize = 100;
const RECORD: usize = 300;

/// How often everything is measured, in turns.
const TURNS: usize = 3;

/// How much every run writes.
#[derive(Clone, Copy)]
struct Load {
    batches: usize,
    /// Records that are acknowledged together.
    batch: usize,
}

impl Load {
    fn bytes(self) -> usize {
        RUNS * self.batches * self.batch * RECORD
    }
}

pub(crate) fn run(settings: &Settings, folder: &Path, databases: &[Database]) {
    let loads = [
        Load {
            batches: settings.either(100, 20),
            batch: 10,
        },
        Load {
            batches: settings.either(200, 40),
            batch: 1,
        },
    ];
    let stores: Vec<(BenchStore, Store, Vec<Claim>)> = databases
        .iter()
        .map(|database| made(database, folder))
        .collect();
    let file = folder.join("plain");
    let mut rows = Vec::new();
    for load in loads {
        let mut plain = Vec::new();
        let mut synced = Vec::new();
        let mut stored = vec![Vec::new(); stores.len()];
        for _ in 0..TURNS {
            plain.push(to_file(&file, load, false));
            synced.push(to_file(&file, load, true));
            for ((_, store, claims), times) in stores.iter().zip(&mut stored) {
                times.push(to_store(store, claims, load));
            }
        }
        let floors = (median(&plain), median(&synced));
        rows.push(row("plain file".to_owned(), load, floors.0, floors));
        rows.push(row(
            "plain file, synced per batch".to_owned(),
            load,
            floors.1,
            floors,
        ));
        for ((place, ..), times) in stores.iter().zip(&stored) {
            rows.push(row(
                place.database.name().to_owned(),
                load,
                median(times),
                floors,
            ));
        }
    }
    let head = [
        "append: 100 runs at once",
        "batch",
        "records/s",
        "",
        "time ÷ plain",
        "time ÷ synced",
    ];
    table::print(head, &rows);
    let _ = std::fs::remove_file(file);
}

/// Makes a store in which every run is claimed and has its prompt.
fn made(database: &Database, folder: &Path) -> (BenchStore, Store, Vec<Claim>) {
    let place = BenchStore::new(database, folder, "append");
    let store = place.open();
    let project = store.project("bench").wait().unwrap();
    queue(&store, &project, RUNS);
    let claims: Vec<Claim> = (0..RUNS).map(|_| claim(&store, &project)).collect();
    for claim in &claims {
        let prompt = Record {
            stream: Stream::Meta,
            data: b"Count the open items.".to_vec(),
        };
        store.append_log(claim, vec![prompt]).wait().unwrap();
    }
    (place, store, claims)
}

fn row(
    name: String,
    load: Load,
    time: Duration,
    (plain, synced): (Duration, Duration),
) -> [String; 6] {
    let records = (RUNS * load.batches * load.batch) as f64 / time.as_secs_f64();
    [
        name,
        load.batch.to_string(),
        format!("{records:.0}"),
        speed(load.bytes(), time),
        ratio(time, plain),
        ratio(time, synced),
    ]
}

/// Has all runs write at once, and returns how long it takes until all is acknowledged.
fn at_once(write: impl Fn(usize, Vec<Vec<u8>>) + Sync, load: Load) -> Duration {
    let lines = |run: usize| -> Vec<Vec<u8>> {
        let mut chance = Chance::new(run as u64);
        (0..load.batch).map(|_| chance.agent_line(RECORD)).collect()
    };
    let all: Vec<Vec<Vec<u8>>> = (0..RUNS).map(lines).collect();
    timed(|| {
        std::thread::scope(|scope| {
            for (run, lines) in all.iter().enumerate() {
                let write = &write;
                scope.spawn(move || {
                    for _ in 0..load.batches {
                        write(run, lines.clone());
                    }
                });
            }
        });
    })
}

fn to_store(store: &Store, claims: &[Claim], load: Load) -> Duration {
    let append = |run: usize, lines: Vec<Vec<u8>>| {
        let record = |data| Record {
            stream: Stream::Stdout,
            data,
        };
        let records = lines.into_iter().map(record).collect();
        store.append_log(&claims[run], records).wait().unwrap();
    };
    at_once(append, load)
}

fn to_file(path: &Path, load: Load, sync: bool) -> Duration {
    let _ = std::fs::remove_file(path);
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    let append = |_: usize, lines: Vec<Vec<u8>>| {
        (&file).write_all(&lines.concat()).unwrap();
        if sync {
            File::sync_data(&file).unwrap();
        }
    };
    at_once(append, load)
}
