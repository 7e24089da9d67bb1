//! Folders and files that may be read and not written.
//!
//! Permissions do not bind root, so there a process runs as nobody, from a copy that nobody can reach.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use callsheet_store::{Access, Store, Wait};

use crate::process::{Assignment, Process, tool};
use crate::test_store::{TestStore, event, seqs, skip};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Says how many events there are, or why it cannot.
pub(crate) fn look_job(assignment: &Assignment) {
    let read = Store::open(&assignment.location(), Access::Read).and_then(|store| {
        let project = store.find_project("demo").wait()?.unwrap();
        store.events_since(&project, 0, usize::MAX).wait()
    });
    match read {
        Ok(events) => assignment.say(&events.len().to_string()),
        Err(error) => assignment.say(&error.to_string()),
    }
}

/// Tries to open for writing and says what comes of it.
pub(crate) fn write_job(assignment: &Assignment) {
    match Store::open(&assignment.location(), Access::Write) {
        Ok(_) => assignment.say("open"),
        Err(error) => assignment.say(&error.to_string()),
    }
}

/// Does a job as somebody whom permissions bind; nothing where there is no way to.
fn bound(place: &TestStore, assignment: &str) -> Option<String> {
    let program = std::env::current_exe().unwrap();
    let command = if rustix::process::getuid().is_root() {
        let Some(setpriv) = tool("setpriv") else {
            skip("root writes everywhere, and there is no setpriv to become somebody else");
            return None;
        };
        let copy = place.folder().join("program");
        if !copy.exists() {
            fs::copy(program, &copy).unwrap();
            chmod(&copy, 0o755);
        }
        chmod(place.folder(), 0o755);
        let mut command = Command::new(setpriv);
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(copy);
        command
    } else {
        Command::new(program)
    };
    let mut said = Process::spawn(command, assignment, place.text(), "").finish();
    assert_eq!(said.len(), 1);
    said.pop()
}

#[test]
fn a_read_only_folder_can_be_read_and_shows_the_latest_or_says_so() {
    let place = TestStore::sqlite();
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let append = |store: &Store| {
        store
            .append_events(&project, vec![event(1)])
            .wait()
            .unwrap()
    };
    append(&store);
    drop(store);
    let folder = place.folder().join(".callsheet");
    let shut = |mode| {
        for entry in fs::read_dir(&folder).unwrap() {
            chmod(&entry.unwrap().path(), 0o444);
        }
        chmod(&folder, mode);
    };
    let path = place.location();

    shut(0o555);
    if let Some(said) = bound(&place, "look") {
        assert_eq!(said, "1");
        let said = bound(&place, "write").unwrap();
        let wanted = [
            format!("the store `{path}` cannot be written: it is read-only"),
            format!("the store `{path}` cannot be opened: its folder is read-only"),
        ];
        assert!(wanted.contains(&said), "{said}");
    }

    // Somebody who may write has changes in the log beside the file.
    chmod(&folder, 0o755);
    chmod(&place.file(), 0o644);
    let store = place.open();
    append(&store);
    let beside = |end: &str| folder.join(format!("callsheet.db{end}"));
    assert!(fs::metadata(beside("-wal")).unwrap().len() > 0);
    shut(0o555);
    if let Some(said) = bound(&place, "look") {
        assert_eq!(said, "2");
    }
    chmod(&beside("-shm"), 0o600);
    if let Some(said) = bound(&place, "look") {
        let is_ours = !rustix::process::getuid().is_root();
        let wanted = format!(
            "the store `{path}` has changes in its log that cannot be read, because its folder is read-only"
        );
        assert!(said == wanted || (is_ours && said == "2"), "{said}");
    }
    chmod(&folder, 0o755);
    chmod(&place.file(), 0o644);
    assert_eq!(seqs(&store, &project), [1, 2]);
}

#[test]
fn a_store_that_may_not_be_read_is_reported() {
    let place = TestStore::sqlite();
    drop(place.open());
    chmod(&place.file(), 0o000);
    if let Some(said) = bound(&place, "look") {
        assert_eq!(
            said,
            format!(
                "the store `{}` cannot be opened: permission denied",
                place.location()
            )
        );
    }
    chmod(&place.file(), 0o644);
    for end in ["", "-reserve"] {
        let name = format!(".callsheet/callsheet.db{end}");
        fs::remove_file(place.folder().join(name)).unwrap();
    }
    chmod(&place.folder().join(".callsheet"), 0o555);
    if let Some(said) = bound(&place, "write") {
        assert_eq!(
            said,
            format!(
                "the store `{}` cannot be opened: no such file or directory",
                place.location()
            )
        );
    }
    chmod(&place.folder().join(".callsheet"), 0o755);
}

/// Runs this program under another umask.
fn under(umask: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap());
    command
}

/// Returns the permissions of the folder of a store and of everything in it.
fn modes(place: &TestStore) -> Vec<(String, u32)> {
    let folder = place.folder().join(".callsheet");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let mut modes = vec![(".".to_owned(), mode(&folder))];
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        modes.push((name, mode(&entry.path())));
    }
    modes.sort();
    modes
}

#[test]
fn what_is_stored_is_for_its_owner_alone() {
    let names = [
        ".gitignore",
        "callsheet.db",
        "callsheet.db-reserve",
        "callsheet.db-shm",
        "callsheet.db-wal",
    ];
    let wanted: Vec<_> = std::iter::once((".".to_owned(), 0o700))
        .chain(names.map(|name| (name.to_owned(), 0o600)))
        .collect();
    for umask in ["000", "022", "077", "777"] {
        let place = TestStore::sqlite();
        let mut holder = Process::spawn(under(umask), "hold", place.text(), "");
        assert_eq!(holder.hear().as_deref(), Some("stored"));
        assert_eq!(modes(&place), wanted, "umask {umask}");
        // What an older program has left open to others is closed.
        for (name, _) in modes(&place) {
            chmod(&place.folder().join(".callsheet").join(name), 0o777);
        }
        drop(holder);
        drop(Store::open(&place.location(), Access::Read).unwrap());
        let closed = modes(&place);
        let open = closed.iter().filter(|(_, mode)| mode & 0o077 != 0);
        assert_eq!(open.count(), 1, "only what git reads: {closed:?}");
    }
}
