//! Whatever is changed behind the back of the store is found and named.

use std::fs;
use std::time::Duration;

use callsheet_store::{Access, Finding, Id, Record, Store, StoreError, Stream, Wait};
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, claim, event, findings};

on_both!(every_changed_value_is_found_and_named);

/// Makes a store with one of everything: a finished run with a log, a queued one, events and a setting.
fn filled(place: &TestStore) -> (Store, Id, Id) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let runs = place.queue(&store, &project, 2);
    let claim = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
    let record = |stream, text: &str| Record {
        stream,
        data: text.as_bytes().to_vec(),
    };
    let long = "a text that is worth packing\n".repeat(60);
    let records = vec![
        record(Stream::Meta, "the prompt itself"),
        record(Stream::Stdout, &long),
        record(Stream::Stderr, "the end"),
    ];
    store.append_log(&claim, records).wait().unwrap();
    store
        .finish_run(&claim, &json!({"exit": 0}))
        .wait()
        .unwrap();
    store
        .append_events(&project, vec![event(1), event(2)])
        .wait()
        .unwrap();
    store
        .set_setting(&project, "scope.defaultExclude", &json!(["a"]))
        .wait()
        .unwrap();
    assert_eq!(findings(&store), []);
    (store, runs[0], runs[1])
}

/// A change behind the back of the store: what has to be named, the table and a condition, what is set, and what
/// takes it back.
struct Change(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const CHANGES: &[Change] = &[
    Change(
        "event 6 of project demo",
        "event",
        "seq = 6",
        "at = at + 1",
        "at = at - 1",
    ),
    Change(
        "event 6 of project demo",
        "event",
        "seq = 6",
        "kind = 'test:evenu'",
        "kind = 'test:event'",
    ),
    Change(
        "event 2 of project demo",
        "event",
        "seq = 2",
        "run = null",
        "run = (select min(key) from run)",
    ),
    Change(
        "event 6 of project demo",
        "event",
        "seq = 6",
        "payload = replace(payload, 'happened', 'happenee')",
        "payload = replace(payload, 'happenee', 'happened')",
    ),
    Change(
        "event 9 of project demo",
        "event",
        "seq >= 8",
        "seq = 9",
        "seq = 8",
    ),
    Change(
        "project demo",
        "project",
        "true",
        "events = events + 1",
        "events = events - 1",
    ),
    Change(
        "project demp",
        "project",
        "true",
        "name = 'demp'",
        "name = 'demo'",
    ),
    Change(
        "setting {s} of project demo",
        "setting",
        "true",
        "value = '[\"b\"]'",
        "value = '[\"a\"]'",
    ),
    Change(
        "setting scope.x of project demo",
        "setting",
        "true",
        "name = 'scope.x'",
        "name = '{s}'",
    ),
    Change(
        "setting {s} of project demo",
        "setting",
        "true",
        "changed_at = changed_at + 1",
        "changed_at = changed_at - 1",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "outcome = '{\"exit\":1}'",
        "outcome = '{\"exit\":0}'",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "worker = 'v'",
        "worker = 'w'",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "started_at = started_at + 1",
        "started_at = started_at - 1",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "finished_at = finished_at + 1",
        "finished_at = finished_at - 1",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "records = records + 1",
        "records = records - 1",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "attempt = 2",
        "attempt = 1",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "lease_until = 1",
        "lease_until = null",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "queued_at = queued_at + 1",
        "queued_at = queued_at - 1",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "request = '{\"runner\":\"locam\"}'",
        "request = '{\"runner\":\"local\"}'",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "request = null",
        "request = '{\"runner\":\"local\"}'",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "imported_at = 1",
        "imported_at = null",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "imported_at = 1",
        "imported_at = null",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "stop_requested_at = 1",
        "stop_requested_at = null",
    ),
    Change(
        "run {done}",
        "run",
        "id = '{done}'",
        "stop_requested_at = 1",
        "stop_requested_at = null",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "kind = 'retry'",
        "kind = 'first'",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "parent = key",
        "parent = null",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "state = 'running'",
        "state = 'queued'",
    ),
    Change(
        "run {queued}",
        "run",
        "id = '{queued}'",
        "worker = 'w'",
        "worker = null",
    ),
    Change(
        "run zz",
        "run",
        "state = 'queued'",
        "id = 'zz'",
        "id = '{queued}'",
    ),
    Change(
        "record 1 of run {done}",
        "log",
        "seq = 1",
        "stream = 'stdout'",
        "stream = 'meta'",
    ),
    Change(
        "record 2 of run {done}",
        "log",
        "seq = 2",
        "at = at + 1",
        "at = at - 1",
    ),
    Change(
        "record 2 of run {done}",
        "log",
        "seq = 2",
        "bytes = bytes + 1",
        "bytes = bytes - 1",
    ),
    Change(
        "record 9 of run {done}",
        "log",
        "seq in (3, 9)",
        "seq = 9",
        "seq = 3",
    ),
];

fn every_changed_value_is_found_and_named(place: &TestStore) {
    let (store, done, queued) = filled(place);
    let full = |text: &str| {
        text.replace("{done}", done.as_str())
            .replace("{queued}", queued.as_str())
            .replace("{s}", "scope.defaultExclude")
    };
    let named = |what: &str| findings(&store).iter().any(|found| found.what == what);
    for Change(what, table, filter, change, back) in CHANGES {
        let update = |set: &str| full(&format!("update {table} set {set} where {filter}"));
        assert!(place.raw(&update(change)) > 0, "{change}");
        assert!(named(&full(what)), "{change}: {:?}", findings(&store));
        assert!(place.raw(&update(back)) > 0, "{back}");
        assert_eq!(findings(&store), [], "{back}");
    }
    let bytes = |hex: &str| {
        if place.is_sqlite() {
            format!("x'{hex}'")
        } else {
            format!("'\\x{hex}'")
        }
    };
    let other = bytes("74686520656e65");
    for column in ["packed", "mark"] {
        place.raw(&format!("update log set {column} = {other} where seq = 3"));
        assert!(named(&format!("record 3 of run {done}")), "{column}");
    }
    assert!(place.raw("delete from event where seq = 4") > 0);
    let gap = Finding {
        what: "event 5 of project demo".to_owned(),
        detail: "has the number 5 where 4 is next".to_owned(),
    };
    assert!(findings(&store).contains(&gap));
    assert!(named("project demo"));
}

/// Changes one bit of the file where some bytes stand.
fn flip(place: &TestStore, needle: &[u8]) {
    let mut bytes = fs::read(place.file()).unwrap();
    let at = bytes
        .windows(needle.len())
        .position(|part| part == needle)
        .unwrap();
    bytes[at + needle.len() / 2] ^= 0x80;
    fs::write(place.file(), bytes).unwrap();
}

#[test]
fn a_flipped_bit_of_the_file_is_found_and_named() {
    let cases: [(&[u8], &str); 4] = [
        (b"it happened", "event 7 of project demo"),
        (b"the prompt itself", "record 1 of run"),
        (b"[\"a\"]", "setting scope.defaultExclude"),
        (b"{\"exit\":0}", "run "),
    ];
    for (needle, what) in cases {
        let place = TestStore::sqlite();
        drop(filled(&place));
        flip(&place, needle);
        let store = Store::open(&place.location(), Access::Read).unwrap();
        let found = findings(&store);
        assert!(!found.is_empty(), "{what}");
        assert!(found.iter().all(|finding| finding.what.starts_with(what)
            || finding.what.starts_with("event ")), "{found:?}");
    }
}

#[test]
fn a_damaged_file_is_an_error_with_its_path() {
    let place = TestStore::sqlite();
    drop(filled(&place));
    let whole = fs::read(place.file()).unwrap();
    let path = place.file().display().to_string();
    // The first page begins with a hundred bytes that are about the file.
    for at in [100].into_iter().chain((4096..whole.len()).step_by(4096)) {
        let mut bytes = whole.clone();
        for byte in &mut bytes[at..at + 600] {
            *byte = !*byte;
        }
        fs::write(place.file(), &bytes).unwrap();
        let verified = Store::open(&place.location(), Access::Read)
            .and_then(|store| store.verify(|_| ()).wait());
        match verified {
            Err(StoreError::Damaged { place, why }) => {
                assert_eq!(place, path);
                assert!(why.starts_with("the database is damaged: "), "{why}");
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    // Half of a file is not a file.
    fs::write(place.file(), &whole[..whole.len() / 2]).unwrap();
    let verified =
        Store::open(&place.location(), Access::Read).and_then(|store| store.verify(|_| ()).wait());
    assert!(
        matches!(verified, Err(StoreError::Damaged { .. })),
        "{verified:?}"
    );
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let place = TestStore::sqlite();
    fs::create_dir(place.folder().join(".callsheet")).unwrap();
    let path = place.file().display().to_string();
    let wanted = format!("{path}: this file is not a database of Callsheet");
    let said = |access| {
        Store::open(&place.location(), access)
            .unwrap_err()
            .to_string()
    };

    let text = "not a database, but long enough to be taken for one at first sight".repeat(40);
    fs::write(place.file(), &text).unwrap();
    for access in [Access::Read, Access::Write] {
        assert_eq!(said(access), wanted);
    }
    assert_eq!(fs::read_to_string(place.file()).unwrap(), text);

    fs::remove_file(place.file()).unwrap();
    place.raw("create table other (a)");
    let before = fs::read(place.file()).unwrap();
    for access in [Access::Read, Access::Write] {
        assert_eq!(said(access), wanted);
    }
    assert_eq!(fs::read(place.file()).unwrap(), before);
    place.raw("pragma application_id = 7");
    assert_eq!(said(Access::Write), wanted);
}

#[test]
fn values_of_wrong_types_are_reported() {
    let place = TestStore::sqlite();
    let (store, ..) = filled(&place);
    drop(store);
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection
        .execute_batch(
            "pragma writable_schema = on;
             update sqlite_schema set sql = replace(sql, ') strict', ')') where name in ('run', 'log');",
        )
        .unwrap();
    drop(connection);
    place.raw("update run set attempt = 'many', worker = x'ff' where state = 'finished'");
    place.raw("update log set packed = 12, seq = seq where seq = 2");
    let store = Store::open(&place.location(), Access::Read).unwrap();
    let project = store.project("demo").wait().unwrap();
    let runs = store
        .runs(&project, callsheet_store::RunPage::default())
        .wait();
    let path = place.file().display().to_string();
    assert_eq!(
        runs.unwrap_err().to_string(),
        format!("{path}: a row has bytes in column 7 and not a text")
    );
    let what: Vec<String> = findings(&store)
        .into_iter()
        .map(|found| found.detail)
        .collect();
    assert!(
        what.iter().any(|detail| detail.starts_with("a row has")),
        "{what:?}"
    );
}
