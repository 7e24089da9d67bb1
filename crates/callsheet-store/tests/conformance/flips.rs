//! Any byte of the file may change: that is found, or it does not matter.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet_store::{
    Access, Annotation, BatchPage, Batches, Branch, Id, JournalEntry, Record, Run, RunPage, Store,
    StoreError, StoredEvent, StoredRecord, Stream, Task, Wait,
};
use serde_json::{Value, json};

use crate::test_store::{TestStore, claim, event};
use crate::{batches, tasks};

/// How many bytes are tried.
const FLIPS: usize = 250;

/// All that can be read of a project.
#[derive(Debug, PartialEq)]
struct Contents {
    events: Vec<StoredEvent>,
    runs: Vec<Run>,
    records: Vec<StoredRecord>,
    settings: Vec<(String, Value)>,
    tasks: Vec<Task>,
    annotations: BTreeMap<Id, Vec<Annotation>>,
    branch: Option<Branch>,
    batches: Batches,
    journal: Vec<JournalEntry>,
}

fn fill(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    place.queue(&store, &project, 3);
    let lease = Duration::from_mins(1);
    let claim = claim(&store, &project, "w", lease).unwrap();
    let record = |number: usize| Record {
        stream: Stream::Meta,
        data: format!("line {number} of many\n")
            .repeat(1 + number * 7)
            .into_bytes(),
    };
    store
        .append_log(&claim, (0..20).map(record).collect())
        .wait()
        .unwrap();
    store
        .finish_run(&claim, &json!({"exit": 0}))
        .wait()
        .unwrap();
    store
        .append_events(&project, (0..40).map(event).collect())
        .wait()
        .unwrap();
    store
        .set_setting(&project, "scope.defaultExclude", &json!(["a/**"]))
        .wait()
        .unwrap();
    let first = tasks::add(&store, &project, "The first task", &[]);
    let second = tasks::add(&store, &project, "The second task", &[first]);
    let run = tasks::finished(&store, &project, second);
    for number in 0..8 {
        let value = json!({"output": "said again and again ".repeat(number)});
        let name = number.to_string();
        let added = store.annotate(&project, run, "check", &name, value, |_, _| Ok(()));
        added.wait().unwrap().unwrap();
    }
    let bundle = b"# v2 git bundle\n".repeat(90);
    store
        .put_branch(&project, first, None, (&json!({"a": "b"}), bundle))
        .wait()
        .unwrap();
    let held = batches::start(&store, &project, "w", lease);
    store
        .record(&held, 1, batches::progress(0..40))
        .wait()
        .unwrap();
    let new = batches::run_of(&store, &project, Some((held.clone(), 3)));
    store.queue_run(&project, new).wait().unwrap();
    store
        .request_batch_stop(&project, held.batch.id, "drain")
        .wait()
        .unwrap();
}

/// Reads everything, if verifying finds nothing.
fn read(place: &TestStore) -> Result<Option<Contents>, StoreError> {
    let store = Store::open(&place.location(), Access::Read)?;
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    store
        .verify(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .wait()?;
    if found.load(Ordering::Relaxed) > 0 {
        return Ok(None);
    }
    let project = store.project("demo").wait()?;
    let runs = store.runs(&project, RunPage::default()).wait()?;
    let first = runs[runs.len() - 1].id;
    let tasks = store.tasks(&project).wait()?;
    let batches = store.batches(&project, BatchPage::default()).wait()?;
    let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
    Ok(Some(Contents {
        events: store.events_since(&project, 0, usize::MAX).wait()?,
        records: store.log_since(first, 0, usize::MAX, None).wait()?,
        settings: store.settings(&project).wait()?,
        annotations: store.annotations(&project, &ids).wait()?,
        branch: store.branch(&project, tasks[0].id).wait()?,
        journal: store.journal(&project, batches.batches[0].id, 0).wait()?,
        batches,
        tasks,
        runs,
    }))
}

#[test]
fn any_changed_byte_is_found_or_does_not_matter() {
    let place = TestStore::sqlite();
    fill(&place);
    let whole = fs::read(place.file()).unwrap();
    let wanted = read(&place).unwrap().unwrap();
    let mut dice = 0x2545_F491_4F6C_DD1D_u64;
    let mut harmless = 0;
    for _ in 0..FLIPS {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = (dice >> 20) as usize % whole.len();
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << ((dice >> 60) % 8);
        fs::write(place.file(), &bytes).unwrap();
        match read(&place) {
            Ok(None) | Err(_) => {}
            Ok(Some(contents)) => {
                harmless += 1;
                assert_eq!(contents, wanted, "the byte at {at}");
            }
        }
        // A file of another length or kind may have been worked on.
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", place.text()));
        }
    }
    assert!(harmless < FLIPS, "nothing was found");
}

/// The roots of two empty trees change places: one is an index of a table that has no row.
#[test]
fn a_damaged_index_of_an_empty_table_is_found() {
    let place = TestStore::sqlite();
    drop(place.open());
    let root = |name: &str| {
        let sql = format!("select rootpage - 1 from sqlite_schema where name = '{name}'");
        usize::try_from(place.count(&sql)).unwrap()
    };
    let size = usize::try_from(place.count("pragma page_size")).unwrap();
    let (table, index) = (root("batch") * size, root("run_of_state") * size);
    let mut bytes = fs::read(place.file()).unwrap();
    bytes.copy_within(table..table + size, index);
    fs::write(place.file(), bytes).unwrap();
    let store = Store::open(&place.location(), Access::Read).unwrap();
    let verified = store.verify(|_| ()).wait();
    assert!(
        matches!(verified, Err(StoreError::Damaged { .. })),
        "{verified:?}"
    );
}
