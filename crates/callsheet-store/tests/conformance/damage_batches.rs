//! Whatever is changed behind the back of the store in batches and their journals is found and named.

use std::time::Duration;

use callsheet_store::{BatchStatus, Finding, Id, Progress, Store, Wait};

use crate::batches::{progress, run_of, start};
use crate::on_both;
use crate::test_store::{TestStore, findings};

on_both!(
    every_changed_value_of_batches_is_found_and_named,
    entries_that_are_missing_are_found,
);

/// A store with a batch that has ended, another one that has not, and a run of that.
struct Filled {
    store: Store,
    ended: Id,
    open: Id,
    run: Id,
}

fn filled(place: &TestStore) -> Filled {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store.project("zother").wait().unwrap();
    let lease = Duration::from_mins(1);
    let ended = start(&store, &project, "w", lease);
    store
        .request_batch_stop(&project, ended.batch.id, "drain")
        .wait()
        .unwrap();
    store.record(&ended, 1, progress(2..4)).wait().unwrap();
    let end = store.end_batch(&ended, 3, BatchStatus::Stopped, Progress::default());
    end.wait().unwrap();
    let open = start(&store, &project, "w", lease);
    let new = run_of(&store, &project, Some((open.clone(), 7)));
    let run = store.queue_run(&project, new).wait().unwrap();
    assert_eq!(findings(&store), []);
    Filled {
        store,
        ended: ended.batch.id,
        open: open.batch.id,
        run,
    }
}

/// What has to be named, the table and a condition, what is set, and what takes it back.
struct Change(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const CHANGES: &[Change] = &[
    Change(
        "batch zz",
        "batch",
        "state = 'ended'",
        "id = 'zz'",
        "id = '{ended}'",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "project = (select max(key) from project)",
        "project = (select min(key) from project)",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "settings = '{\"max_cycles\":3}'",
        "settings = '{\"max_cycles\":2}'",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "started_at = started_at + 1",
        "started_at = started_at - 1",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "state = 'ended'",
        "state = 'running'",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "status = 'completed'",
        "status = 'stopped'",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "status = null",
        "status = 'stopped'",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "worker = 'v'",
        "worker = 'w'",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "attempt = 2",
        "attempt = 1",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "lease_until = lease_until + 1",
        "lease_until = lease_until - 1",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "lease_until = 1",
        "lease_until = null",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "ended_at = ended_at + 1",
        "ended_at = ended_at - 1",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "ended_at = 1",
        "ended_at = null",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "stop_requested_at = stop_requested_at + 1",
        "stop_requested_at = stop_requested_at - 1",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "stop_requested_at = 1",
        "stop_requested_at = null",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "stop_policy = 'cancel'",
        "stop_policy = 'drain'",
    ),
    Change(
        "batch {open}",
        "batch",
        "id = '{open}'",
        "stop_policy = ''",
        "stop_policy = null",
    ),
    Change(
        "batch {ended}",
        "batch",
        "id = '{ended}'",
        "entries = entries + 1",
        "entries = entries - 1",
    ),
    Change(
        "journal entry 2 of batch {ended}",
        "journal",
        "seq = 2",
        "at = at + 1",
        "at = at - 1",
    ),
    Change(
        "journal entry 3 of batch {ended}",
        "journal",
        "seq = 3",
        "entry = '{\"n\":4}'",
        "entry = '{\"n\":3}'",
    ),
    Change(
        "journal entry 4 of batch {ended}",
        "journal",
        "seq >= 3",
        "seq = 4",
        "seq = 3",
    ),
    Change(
        "journal entry 3 of batch {open}",
        "journal",
        "seq = 3",
        "batch = (select max(key) from batch)",
        "batch = (select min(key) from batch)",
    ),
    Change(
        "run {run}",
        "run",
        "true",
        "batch = (select min(key) from batch)",
        "batch = (select max(key) from batch)",
    ),
    Change(
        "run {run}",
        "run",
        "true",
        "batch = null",
        "batch = (select max(key) from batch)",
    ),
    Change("run {run}", "run", "true", "action = 8", "action = 7"),
    Change("run {run}", "run", "true", "action = null", "action = 7"),
    Change(
        "run {run}",
        "run",
        "true",
        "batch = null, action = null",
        "batch = (select max(key) from batch), action = 7",
    ),
];

fn every_changed_value_of_batches_is_found_and_named(place: &TestStore) {
    let Filled {
        store,
        ended,
        open,
        run,
    } = filled(place);
    let full = |text: &str| {
        text.replace("{ended}", ended.as_str())
            .replace("{open}", open.as_str())
            .replace("{run}", run.as_str())
    };
    let named = |what: &str| findings(&store).iter().any(|found| found.what == what);
    for Change(what, table, filter, change, back) in CHANGES {
        let update = |set: &str| full(&format!("update {table} set {set} where {filter}"));
        assert!(place.raw(&update(change)) > 0, "{change}");
        assert!(named(&full(what)), "{change}: {:?}", findings(&store));
        assert!(place.raw(&update(back)) > 0, "{back}");
        assert_eq!(findings(&store), [], "{back}");
    }
    for (table, what) in [
        ("batch", format!("batch {open}")),
        ("journal", format!("journal entry 2 of batch {ended}")),
    ] {
        let other = place.literal(b"another mark");
        assert!(place.raw(&format!("update {table} set mark = {other}")) > 0);
        assert!(named(&what), "{table}: {:?}", findings(&store));
    }
}

fn entries_that_are_missing_are_found(place: &TestStore) {
    let Filled { store, ended, .. } = filled(place);
    assert_eq!(place.raw("delete from journal where seq = 2"), 1);
    let found = |what: String, detail: &str| Finding {
        what,
        detail: detail.to_owned(),
    };
    assert_eq!(
        findings(&store),
        [
            found(
                format!("batch {ended}"),
                "has numbered 3 journal entries, of which 2 are there"
            ),
            found(
                format!("journal entry 3 of batch {ended}"),
                "has the number 3 where 2 is next"
            ),
        ]
    );
}
