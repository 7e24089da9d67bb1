//! `stream`: one long log through the store, beside plain appends to a file, and the memory that it takes.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use callsheet_store::{Record, Stream, Wait};

use crate::Settings;
use crate::bench_store::{BenchStore, Database, claim, queue};
use crate::table::{self, mb, ratio, speed, timed};
use crate::text::Chance;

/// What a program reads from a pipe at once, and how much of it is acknowledged together.
const RECORD: usize = 8 << 10;
const BATCH: usize = 64;

/// How many different records there are before they come again with other numbers.
const STOCK: usize = 1024;

pub(crate) fn run(settings: &Settings, folder: &Path, databases: &[Database]) {
    let count = settings.either(1_000_000_000, 50_000_000) / RECORD / BATCH * BATCH;
    let log = Log::new();
    let file = folder.join("plain");
    let plain = to_file(&log, &file, count, false);
    let synced = to_file(&log, &file, count, true);
    let raw = (count * RECORD) as u64;
    let row = |name: &str, time: Duration, stored: u64, peaks: String| {
        let size = format!("{:.2}", stored as f64 / raw as f64);
        [
            name.to_owned(),
            speed(count * RECORD, time),
            ratio(time, plain),
            ratio(time, synced),
            size,
            peaks,
        ]
    };
    let mut rows = vec![
        row("plain file", plain, raw, String::new()),
        row("plain file, synced per batch", synced, raw, String::new()),
    ];
    for database in databases {
        let place = BenchStore::new(database, folder, "stream");
        let (time, peaks) = to_store(&log, &place, count);
        rows.push(row(database.name(), time, place.bytes(), peaks));
    }
    let title = format!("stream: one log of {}", mb(raw));
    let head = [
        &title,
        "",
        "time ÷ plain",
        "time ÷ synced",
        "stored ÷ raw",
        "peak after half and all",
    ];
    table::print(head, &rows);
    let _ = std::fs::remove_file(file);
}

/// What an agent says, without an end.
struct Log(Vec<Vec<u8>>);

impl Log {
    fn new() -> Self {
        let mut chance = Chance::new(5);
        let record = |_| {
            let mut data = Vec::with_capacity(RECORD);
            while data.len() + 900 < RECORD {
                let size = 200 + chance.below(500);
                data.extend(chance.agent_line(size));
            }
            let rest = RECORD - data.len();
            data.extend(chance.agent_line(rest));
            data
        };
        Self((0..STOCK).map(record).collect())
    }

    /// Returns a batch of records, of which none was there before.
    fn batch(&self, from: usize) -> Vec<Vec<u8>> {
        let record = |number: usize| {
            let mut data = self.0[number % STOCK].clone();
            let digits = format!("{number:012}");
            // Into every line, as the numbers and times of real logs.
            for at in (RECORD / 16..RECORD - 64).step_by(RECORD / 16) {
                data[at..at + digits.len()].copy_from_slice(digits.as_bytes());
            }
            data
        };
        (from..from + BATCH).map(record).collect()
    }
}

fn to_file(log: &Log, path: &Path, count: usize, sync: bool) -> Duration {
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    timed(|| {
        for from in (0..count).step_by(BATCH) {
            for data in log.batch(from) {
                file.write_all(&data).unwrap();
            }
            if sync {
                file.sync_data().unwrap();
            }
        }
    })
}

/// Streams a log into a store; returns how long it took and the peaks of memory.
fn to_store(log: &Log, place: &BenchStore, count: usize) -> (Duration, String) {
    let store = place.open();
    let project = store.project("bench").wait().unwrap();
    queue(&store, &project, 1);
    let claim = claim(&store, &project);
    let prompt = Record {
        stream: Stream::Meta,
        data: b"Count the open items.".to_vec(),
    };
    store.append_log(&claim, vec![prompt]).wait().unwrap();
    forget_peak();
    let mut half = 0;
    let time = timed(|| {
        for from in (0..count).step_by(BATCH) {
            let record = |data| Record {
                stream: Stream::Stdout,
                data,
            };
            let records = log.batch(from).into_iter().map(record).collect();
            store.append_log(&claim, records).wait().unwrap();
            if half == 0 && from >= count / 2 {
                half = peak();
            }
        }
    });
    (time, format!("{} and {}", mb(half), mb(peak())))
}

/// Returns the most memory that this process has used, in bytes; 0 where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// Has the system count the peak from here on.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
