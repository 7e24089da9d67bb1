//! A database that is gone, emptied or has lost its log is an error, and never a new store.

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_store::{Access, Location, Store, StoreError, Wait};

use crate::process::{Assignment, Process};
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs};

/// How many events a store has that is left behind.
const EVENTS: usize = 9;

/// Stores something and stays until it is killed or told to go.
pub(crate) fn hold_job(assignment: &Assignment) {
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    prompts::seal(&store, &project, "A task.");
    for number in 1..EVENTS {
        store
            .append_events(&project, vec![event(number as i64)])
            .wait()
            .unwrap();
    }
    assignment.say("stored");
    assignment.wait();
}

/// A store whose writer was killed, so that all of it is in its log.
struct Left {
    place: TestStore,
    copies: std::cell::Cell<usize>,
}

impl Left {
    fn new() -> Self {
        let place = TestStore::sqlite();
        let mut writer = Process::start("hold", &place, "");
        assert_eq!(writer.hear().as_deref(), Some("stored"));
        writer.kill();
        Self {
            place,
            copies: std::cell::Cell::default(),
        }
    }

    /// Copies the store and returns the file of the copy.
    fn copy(&self) -> PathBuf {
        self.copies.set(self.copies.get() + 1);
        let folder = self.place.folder().join(self.copies.get().to_string());
        fs::create_dir(&folder).unwrap();
        for entry in fs::read_dir(self.place.folder().join(".callsheet")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        folder.join("callsheet.db")
    }
}

fn beside(file: &Path, end: &str) -> PathBuf {
    file.with_file_name(format!("callsheet.db{end}"))
}

/// Fails unless a store is refused however it is opened, and nothing of it is touched.
#[track_caller]
fn assert_refused(file: &Path, why: &str) {
    let contents = || -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(file.parent().unwrap()).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        paths.into_iter().map(read).collect()
    };
    let before = contents();
    for access in [Access::Read, Access::Existing, Access::Write] {
        let refused = Store::open(&Location::Sqlite(file.to_owned()), access);
        let Err(refused) = refused else {
            panic!("opened for {access:?}: {why}");
        };
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        let said = refused.to_string();
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(contents(), before, "{why}");
}

/// Fails unless everything is there.
#[track_caller]
fn assert_whole(file: &Path) {
    let store = Store::open(&Location::Sqlite(file.to_owned()), Access::Write).unwrap();
    let project = store.project("demo").wait().unwrap();
    let there = seqs(&store, &project);
    assert_eq!(there.len(), EVENTS);
    assert_gapless(&there);
    assert_eq!(findings(&store), []);
}

#[test]
fn a_killed_writer_leaves_a_whole_store() {
    let left = Left::new();
    assert_whole(&left.copy());
    // Copies of the file and its log are enough.
    let file = left.copy();
    fs::remove_file(beside(&file, "-shm")).unwrap();
    fs::remove_file(beside(&file, "-reserve")).unwrap();
    assert_whole(&file);
    // What a writer was about to write when it was killed is not damage.
    let file = left.copy();
    let mut log = fs::read(beside(&file, "-wal")).unwrap();
    let frame = log[32..32 + 24 + 4096].to_vec();
    for tail in [&frame[..], &frame[..100], &[0; 5000]] {
        log.extend_from_slice(tail);
        fs::write(beside(&file, "-wal"), &log).unwrap();
        let copy = file.parent().unwrap().join("again");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir(&copy).unwrap();
        for end in ["", "-wal", "-shm"] {
            fs::copy(beside(&file, end), beside(&copy.join("x"), end)).unwrap();
        }
        assert_whole(&copy.join("callsheet.db"));
    }
}

#[test]
fn a_damaged_log_is_reported() {
    let left = Left::new();
    let log = fs::read(beside(&left.place.file(), "-wal")).unwrap();
    let message = "its log `callsheet.db-wal` is damaged";
    let damaged = |log: Option<&[u8]>, index: bool| {
        let file = left.copy();
        match log {
            Some(log) => fs::write(beside(&file, "-wal"), log).unwrap(),
            None => fs::remove_file(beside(&file, "-wal")).unwrap(),
        }
        if !index {
            fs::remove_file(beside(&file, "-shm")).unwrap();
        }
        assert_refused(&file, message);
    };
    let flipped = |at: usize| {
        let mut log = log.clone();
        log[at] ^= 1;
        log
    };
    let last = log.len() - 1;
    for at in [
        0,
        9,
        17,
        31,
        32,
        40,
        48,
        60,
        log.len() / 2,
        last - 4096,
        last,
    ] {
        damaged(Some(&flipped(at)), true);
    }
    for length in [0, 31, 32, 100, log.len() / 2, last] {
        damaged(Some(&log[..length]), true);
    }
    damaged(None, true);
    damaged(Some(&vec![0; log.len()]), true);
    // Without the index, a log whose end is missing looks like that of a writer who was killed earlier.
    for at in [0, 9, 17, 31, 32, 48, 60, log.len() / 2] {
        damaged(Some(&flipped(at)), false);
    }
    damaged(Some(&vec![0; log.len()]), false);
}

#[test]
fn a_database_that_is_gone_or_empty_is_reported() {
    let left = Left::new();
    // With everything beside it, and after it was closed well.
    for is_closed in [false, true] {
        for what in ["gone", "empty"] {
            let file = left.copy();
            if is_closed {
                assert_whole(&file);
            }
            fs::remove_file(&file).unwrap();
            if what == "empty" {
                fs::write(&file, "").unwrap();
            }
            assert_refused(
                &file,
                &format!("the database is {what}, but `callsheet.db-"),
            );
        }
    }
    // Only the first page was in the file, and the log is gone with its index.
    let file = left.copy();
    for end in ["-wal", "-shm"] {
        fs::remove_file(beside(&file, end)).unwrap();
    }
    assert_refused(&file, "the database is empty, but `callsheet.db-reserve`");
    // Whoever wants to begin anew says so.
    for end in ["", "-reserve"] {
        fs::remove_file(beside(&file, end)).unwrap();
    }
    drop(Store::open(&Location::Sqlite(file), Access::Write).unwrap());
}

#[test]
fn a_store_in_use_is_not_taken_for_a_damaged_one() {
    let place = TestStore::sqlite();
    let mut holder = Process::start("hold", &place, "");
    assert_eq!(holder.hear().as_deref(), Some("stored"));
    let others: Vec<_> = (0..4)
        .map(|_| Process::start("append", &place, "20"))
        .collect();
    for _ in 0..50 {
        drop(Store::open(&place.location(), Access::Read).unwrap());
    }
    for other in others {
        other.finish();
    }
    holder.go_on();
    holder.finish();
}
