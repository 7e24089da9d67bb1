//! Opening: what is made, and what is refused.

use std::fs;

use callsheet_store::{Access, Location, Store, StoreError, Wait};

use crate::on_both;
use crate::process::{Assignment, Process};
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs};

on_both!(
    reading_makes_nothing,
    a_newer_schema_is_refused,
    an_older_schema_is_refused,
    processes_migrate_at_the_same_time,
    no_error_has_a_password,
);

fn reading_makes_nothing(place: &TestStore) {
    let open = || Store::open(&place.location(), Access::Read);
    let missing = open().unwrap_err();
    assert_eq!(
        missing.to_string(),
        format!("no store `{}`", place.location())
    );
    assert!(matches!(missing, StoreError::Unknown { what: "store", .. }));
    assert_eq!(fs::read_dir(place.folder()).unwrap().count(), 0);

    let writer = place.open();
    let project = writer.project("demo").wait().unwrap();
    let reader = open().unwrap();
    writer
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    assert_eq!(seqs(&reader, &project), [1]);
    let refused = reader
        .append_events(&project, vec![event(2)])
        .wait()
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("the store `{}` is open for reading only", place.location())
    );
    assert_eq!(reader.find_project("other").wait().unwrap(), None);
    drop(writer);
    assert_eq!(seqs(&reader, &project), [1]);
}

fn a_newer_schema_is_refused(place: &TestStore) {
    drop(place.open());
    place.set_schema(99);
    for access in [Access::Read, Access::Write] {
        let refused = Store::open(&place.location(), access).unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: 99, .. }));
        assert_eq!(
            refused.to_string(),
            format!(
                "the store `{}` has schema 99, this program knows up to 9",
                place.location()
            )
        );
    }
    place.set_schema(-1);
    let refused = Store::open(&place.location(), Access::Write).unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("it says that its schema is -1"),
        "{refused}"
    );
}

fn an_older_schema_is_refused(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    drop(store);
    for found in 1..=8 {
        place.set_schema(found);
        for access in [Access::Read, Access::Existing, Access::Write] {
            let refused = Store::open(&place.location(), access).unwrap_err();
            let store = place.location().to_string();
            assert_eq!(
                refused.to_string(),
                format!(
                    "the store `{store}` was made by an older build of callsheet: \
                    its schema is {found}, and this one needs 9"
                )
            );
            let known = 9;
            let wanted = StoreError::Older {
                store,
                found,
                known,
            };
            assert_eq!(refused, wanted);
        }
    }
    place.set_schema(9);
    let store = place.open();
    assert_eq!(seqs(&store, &project), [1], "nothing was touched");
    assert_eq!(findings(&store), []);
}

/// Opens the store, which has to be made, and appends an event.
pub(crate) fn open_job(assignment: &Assignment) {
    assignment.wait();
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(0)])
        .wait()
        .unwrap();
}

fn processes_migrate_at_the_same_time(place: &TestStore) {
    let mut others: Vec<_> = (0..6).map(|_| Process::start("open", place, "")).collect();
    for other in &mut others {
        other.go_on();
    }
    for other in others {
        other.finish();
    }
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let there = seqs(&store, &project);
    assert_eq!(there.len(), 6);
    assert_gapless(&there);
    assert_eq!(findings(&store), []);
}

fn no_error_has_a_password(place: &TestStore) {
    if place.is_sqlite() {
        return;
    }
    let (head, tail) = place.text().split_once('@').unwrap();
    let (user, password) = head.rsplit_once(':').unwrap();
    let urls = [
        format!("{user}:hunter2@{tail}"),
        format!("{user}:{password}@{tail}_missing"),
        format!("{user}:{password}@127.0.0.1:1/x"),
        format!("{user}:{password}@host.invalid/x"),
        format!("{user}:{password}@{tail}?options=-c%20bad"),
    ];
    let wanted = [
        "refused the login: ",
        "is not there: ",
        "cannot be reached: ",
        "cannot be reached: ",
        "",
    ];
    for (url, wanted) in urls.iter().zip(wanted) {
        let location = Location::parse(url).unwrap();
        let error = Store::open(&location, Access::Write).unwrap_err();
        let said = format!("{error} {error:?} {location} {location:?}");
        assert!(said.contains(wanted), "{said}");
        assert!(
            !said.contains(password) && !said.contains("hunter2"),
            "{said}"
        );
    }
}

#[test]
fn a_folder_is_made_one_level_deep_and_only_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b/s.db");
    let refused = Store::open(&Location::Sqlite(deep.clone()), Access::Write).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "the store `{}` needs the folder `{}`: no such file or directory",
            deep.display(),
            folder.path().join("a/b").display()
        )
    );
    let is_folder = Location::Sqlite(folder.path().to_owned());
    for access in [Access::Read, Access::Write] {
        let refused = Store::open(&is_folder, access).unwrap_err().to_string();
        assert!(
            refused.ends_with("cannot be opened: it is a folder"),
            "{refused}"
        );
    }
    // What a program that died at once has left is not a store to read, and one to make.
    let empty = Location::Sqlite(folder.path().join("empty.db"));
    fs::write(empty.file().unwrap(), "").unwrap();
    let missing = Store::open(&empty, Access::Read).unwrap_err();
    assert!(matches!(missing, StoreError::Unknown { .. }), "{missing}");
    drop(Store::open(&empty, Access::Write).unwrap());
    drop(Store::open(&empty, Access::Read).unwrap());
}

#[test]
fn nothing_but_the_database_is_left_behind() {
    let place = TestStore::sqlite();
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    seqs(&store, &project);
    let follower = store.follow(&project, 0).unwrap();
    drop((store, follower));
    let assert_tidy = || {
        let entries = fs::read_dir(place.folder().join(".callsheet")).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".gitignore", "callsheet.db", "callsheet.db-reserve"]);
    };
    assert_tidy();
    let before = fs::read(place.file()).unwrap();
    let reader = Store::open(&place.location(), Access::Read).unwrap();
    assert_eq!(seqs(&reader, &project), [1]);
    drop(reader);
    assert_tidy();
    assert_eq!(fs::read(place.file()).unwrap(), before);
}
