//! Logs: bytes come back as they went in, in their order.

use std::thread;
use std::time::Duration;

use callsheet_store::{Claim, LARGEST_RECORD, Record, Store, StoredRecord, Stream, Wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::on_both;
use crate::test_store::{TestStore, assert_gapless, claim, findings};

on_both!(
    a_log_begins_with_the_prompt,
    records_come_back_byte_for_byte,
    records_of_many_threads_are_numbered_through,
    any_records_survive,
);

fn claimed(place: &TestStore, store: &Store) -> Claim {
    let project = store.project("demo").wait().unwrap();
    place.queue(store, &project, 1);
    claim(store, &project, "w", Duration::from_mins(1)).unwrap()
}

fn record(stream: Stream, data: impl Into<Vec<u8>>) -> Record {
    Record {
        stream,
        data: data.into(),
    }
}

fn a_log_begins_with_the_prompt(place: &TestStore) {
    let store = place.open();
    let claim = claimed(place, &store);
    let append = |records| store.append_log(&claim, records).wait();
    let said = append(vec![
        record(Stream::Stdout, "x"),
        record(Stream::Meta, "prompt"),
    ]);
    assert_eq!(
        said.unwrap_err().to_string(),
        format!(
            "the log of run `{}` begins with its prompt, as `meta`",
            claim.run.id
        )
    );
    assert!(append(vec![]).unwrap().is_empty());
    assert_eq!(append(vec![record(Stream::Meta, "prompt")]).unwrap(), [1]);
    assert_eq!(append(vec![record(Stream::Stderr, "x")]).unwrap(), [2]);
    let large = append(vec![record(Stream::Stdout, vec![0; LARGEST_RECORD + 1])]);
    assert_eq!(
        large.unwrap_err().to_string(),
        "a record of a log may have 67108864 bytes, not 67108865"
    );
    let project = store.project("demo").wait().unwrap();
    assert_eq!(
        store
            .run(&project, claim.run.id.as_str())
            .wait()
            .unwrap()
            .records,
        2
    );
    assert_eq!(findings(&store), []);
}

/// Bytes that look random, the same each time.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

fn records_come_back_byte_for_byte(place: &TestStore) {
    let store = place.open();
    let claim = claimed(place, &store);
    let run = claim.run.id;
    let mut records = vec![
        record(Stream::Meta, "prompt"),
        record(Stream::Stdout, b"\xff\xfe\0 no text".as_slice()),
        record(Stream::Stderr, ""),
        record(Stream::Stdout, "line\n".repeat(40_000)),
        record(Stream::Stdout, noise(70_000)),
    ];
    records.extend((0..200).map(|number| record(Stream::Stderr, format!("line {number}"))));
    let seqs = store.append_log(&claim, records.clone()).wait().unwrap();
    assert_gapless(&seqs);
    let plain = |stored: &[StoredRecord]| -> Vec<Record> {
        let back = |stored: &StoredRecord| record(stored.stream, stored.data.clone());
        stored.iter().map(back).collect()
    };
    let since = |seq, limit, stream| store.log_since(run, seq, limit, stream).wait().unwrap();
    let all = since(0, usize::MAX, None);
    assert_eq!(plain(&all), records);
    assert_eq!(since(3, 2, None), all[3..5]);
    let stdout: Vec<i64> = since(0, 10, Some(Stream::Stdout))
        .iter()
        .map(|r| r.seq)
        .collect();
    assert_eq!(stdout, [2, 4, 5]);
    let tail = |count, stream| store.log_tail(run, count, stream).wait().unwrap();
    assert_eq!(tail(3, None), all[202..]);
    assert_eq!(tail(2, Some(Stream::Stdout)), all[3..5]);
    assert_eq!(tail(0, None), []);
    let unknown = "0000000000000z".parse().unwrap();
    let said = store.log_since(unknown, 0, 1, None).wait().unwrap_err();
    assert_eq!(said.to_string(), "no run `0000000000000z`");
    assert_eq!(findings(&store), []);
}

fn records_of_many_threads_are_numbered_through(place: &TestStore) {
    let store = place.open();
    let claim = claimed(place, &store);
    store
        .append_log(&claim, vec![record(Stream::Meta, "prompt")])
        .wait()
        .unwrap();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for number in 0..15 {
                    let lines = vec![record(Stream::Stdout, "x"); 1 + number % 3];
                    store.append_log(&claim, lines).wait().unwrap();
                }
            });
        }
    });
    let all = store
        .log_since(claim.run.id, 0, usize::MAX, None)
        .wait()
        .unwrap();
    assert_eq!(all.len(), 1 + 6 * 30);
    assert_gapless(&all.iter().map(|record| record.seq).collect::<Vec<_>>());
    assert_eq!(findings(&store), []);
}

fn any_records_survive(place: &TestStore) {
    let store = place.open();
    let bytes = proptest::collection::vec(any::<u8>(), 0..700);
    let text = "[a-c]{0,3000}".prop_map(String::into_bytes);
    let stream = prop_oneof![
        Just(Stream::Meta),
        Just(Stream::Stdout),
        Just(Stream::Stderr)
    ];
    let one = (stream, prop_oneof![bytes, text]);
    let batches = proptest::collection::vec(proptest::collection::vec(one, 0..90), 1..4);
    let mut runner = TestRunner::new(Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    });
    let tried = runner.run(&batches, |batches| {
        let claim = claimed(place, &store);
        let mut wanted = vec![record(Stream::Meta, "prompt")];
        store.append_log(&claim, wanted.clone()).wait().unwrap();
        for batch in batches {
            let batch: Vec<Record> = batch.into_iter().map(|(s, d)| record(s, d)).collect();
            store.append_log(&claim, batch.clone()).wait().unwrap();
            wanted.extend(batch);
        }
        let back = store
            .log_since(claim.run.id, 0, usize::MAX, None)
            .wait()
            .unwrap();
        let back: Vec<Record> = back.into_iter().map(|r| record(r.stream, r.data)).collect();
        prop_assert_eq!(back, wanted);
        Ok(())
    });
    tried.unwrap();
    assert_eq!(findings(&store), []);
}
