//! Memory stays flat while a large log streams through.

use std::time::Duration;

use callsheet_store::{Claim, Record, Store, Stream, Wait};

use crate::process::{Assignment, Process};
use crate::test_store::{TestStore, claim};

/// How much goes through: 1 GiB in records of 64 KiB.
const RECORD: usize = 64 << 10;
const RECORDS: usize = (1 << 30) / RECORD;
const BATCH: usize = 32;

/// What the process may need in all, and how much more for the second half, in KiB.
const MOST: usize = 100 << 10;
const GROWTH: usize = 4 << 10;

/// The most memory that this process has used so far, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Streams one log in and out and says the peaks.
pub(crate) fn stream_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let claim = claim(&store, &project, "w", Duration::from_mins(10)).unwrap();
    write(&store, &claim, 0);
    assignment.say(&peak().to_string());
    write(&store, &claim, RECORDS / 2);
    assignment.say(&peak().to_string());

    let mut seq = 0;
    loop {
        let page = store
            .log_since(claim.run.id, seq, BATCH, None)
            .wait()
            .unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.iter().all(|record| record.data.len() == RECORD));
        seq = last.seq;
    }
    assert_eq!(seq, RECORDS as i64);
    let verified = store
        .verify(|finding| panic!("{finding:?}"))
        .wait()
        .unwrap();
    assert_eq!(verified.checked["records"], RECORDS as u64);
    assignment.say(&peak().to_string());
}

fn write(store: &Store, claim: &Claim, from: usize) {
    let mut line = b"an agent says much the same, line after line, number ".to_vec();
    line.resize(64, b'.');
    let text = line.repeat(RECORD / line.len());
    for batch in (from..from + RECORDS / 2).step_by(BATCH) {
        let record = |number: usize| {
            let mut data = text.clone();
            data[..8].copy_from_slice(&(number as u64).to_le_bytes());
            Record {
                stream: Stream::Meta,
                data,
            }
        };
        let records = (batch..batch + BATCH).map(record).collect();
        store.append_log(claim, records).wait().unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_log_streams_through_with_flat_memory() {
    let place = TestStore::sqlite();
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    place.queue(&store, &project, 1);
    drop(store);
    let peaks: Vec<usize> = Process::start("stream", &place, "")
        .finish()
        .iter()
        .map(|line| line.parse().unwrap())
        .collect();
    let &[half, written, read] = peaks.as_slice() else {
        panic!("{peaks:?}");
    };
    assert!(read < MOST, "{peaks:?} KiB");
    assert!(written - half < GROWTH, "{peaks:?} KiB");
}
