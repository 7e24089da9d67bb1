//! The world refuses: a lock, a full disk. The error is clear, nothing is half there, and work goes on afterwards.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use callsheet::Event;
use callsheet_store::{Access, Keep, NewEvent, Options, PromptFilter, Store, StoreError, Wait};

use crate::gc;
use crate::on_both;
use crate::process::{Assignment, Process, tool};
use crate::test_store::{TestStore, assert_gapless, event, findings, seqs, skip};

on_both!(a_lock_of_somebody_else_is_reported_and_waited_for);

/// Holds what a writer needs until it is told to go.
pub(crate) fn lock_job(assignment: &Assignment) {
    if assignment.location().file().is_some() {
        let connection = rusqlite::Connection::open(&assignment.store).unwrap();
        connection.execute_batch("begin immediate").unwrap();
        assignment.say("locked");
        assignment.wait();
        connection.execute_batch("commit").unwrap();
    } else {
        let mut client = crate::test_store::client(&assignment.store);
        let lock = "begin; select 1 from project for update";
        client.batch_execute(lock).unwrap();
        assignment.say("locked");
        assignment.wait();
        client.batch_execute("commit").unwrap();
    }
}

fn a_lock_of_somebody_else_is_reported_and_waited_for(place: &TestStore) {
    let options = Options::default().busy_timeout(Duration::from_millis(250));
    let store = Store::open_with(&place.location(), Access::Write, options).unwrap();
    let project = store.project("demo").wait().unwrap();
    let append = |store: &Store| store.append_events(&project, vec![event(1)]).wait();
    append(&store).unwrap();

    let mut other = Process::start("lock", place, "");
    assert_eq!(other.hear().as_deref(), Some("locked"));
    let begun = Instant::now();
    let refused = append(&store).unwrap_err();
    assert!(begun.elapsed() >= Duration::from_millis(250));
    let wanted = if place.is_sqlite() {
        "is locked by another process"
    } else {
        "is locked: another transaction holds what this one needs, and did not let go within "
    };
    let wanted = format!("the store `{}` {wanted}", place.location());
    assert!(refused.to_string().starts_with(&wanted), "{refused}");
    assert!(matches!(refused, StoreError::Unavailable { .. }));
    // Readers do not mind.
    assert_eq!(seqs(&store, &project), [1]);
    let patient = place.open();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| append(&patient).unwrap());
        other.go_on();
        assert_eq!(waiting.join().unwrap(), [2]);
    });
    assert_eq!(append(&store).unwrap(), [3]);
    assert_gapless(&seqs(&store, &project));
    assert_eq!(findings(&store), []);
    other.finish();
}

/// Fills a small disk, says what the store says of it, makes room and goes on.
pub(crate) fn fill_job(assignment: &Assignment) {
    let ballast = Path::new(&assignment.argument).join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let store = assignment.open();
    let project = store.project("demo").wait().unwrap();
    let append = || {
        let text = "x".repeat(16 << 10);
        let event: NewEvent = Event::new("test:large", [("text", text.into())], "").into();
        store
            .append_events(&project, vec![event.clone(), event])
            .wait()
    };
    // Several at once, because they share a transaction, which a full disk ends for all of them.
    let fill = || {
        for count in 0..10_000 {
            if let Err(error) = append() {
                return (count * 2, error);
            }
        }
        panic!("the disk does not get full");
    };
    let filled: Vec<(usize, StoreError)> = std::thread::scope(|scope| {
        let fillers: Vec<_> = (0..3).map(|_| scope.spawn(fill)).collect();
        let join = |filler: std::thread::ScopedJoinHandle<'_, _>| filler.join().unwrap();
        fillers.into_iter().map(join).collect()
    });
    let count: usize = filled.iter().map(|(count, _)| count).sum();
    let refused = &filled[0].1;
    assignment.say(&refused.to_string());
    assert!(matches!(refused, StoreError::Unavailable { .. }));
    assert_eq!(seqs(&store, &project).len(), count);
    assert!(append().is_err());
    fs::remove_file(ballast).unwrap();
    append().unwrap();
    let there = seqs(&store, &project);
    assert_gapless(&there);
    assert_eq!(there.len(), count + 2);
    assert_eq!(findings(&store), []);
    assignment.say("goes on");
}

/// Runs a job on a small disk of its own and returns what it says; nothing where the system gives us none.
fn on_small_disk(assignment: &str, size: &str) -> Option<(String, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={size} none \"$0\" && exec \"$@\"");
    let user = if rustix::process::getuid().is_root() {
        ["--mount"].as_slice()
    } else {
        ["--user", "--map-root-user", "--mount"].as_slice()
    };
    let small_disk = |unshare: &str| {
        let mut command = Command::new(unshare);
        command
            .args(user)
            .args(["sh", "-c", &mount])
            .arg(folder.path());
        command
    };
    let can = |unshare: &String| {
        let tried = small_disk(unshare).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    let Some(unshare) = tool("unshare").filter(can) else {
        skip("this system gives us no small disk of our own");
        return None;
    };
    let mut command = small_disk(&unshare);
    command.arg(std::env::current_exe().unwrap());
    let path = folder.path().join("s.db").display().to_string();
    let argument = folder.path().display().to_string();
    let said = Process::spawn(command, assignment, &path, &argument).finish();
    Some((path, said))
}

#[test]
fn a_full_disk_is_reported_and_work_goes_on_when_there_is_room() {
    let Some((path, said)) = on_small_disk("fill", "3m") else {
        return;
    };
    assert_eq!(
        said,
        [
            format!("the store `{path}` cannot be written: the disk is full"),
            "goes on".to_owned(),
        ]
    );
}

/// Fills a small disk with prompts and the rest of it with something else, and collects.
pub(crate) fn collect_job(assignment: &Assignment) {
    let mut sealed = 0;
    let refused = loop {
        let seal = || {
            let store = Store::open(&assignment.location(), Access::Write)?;
            let project = store.project("demo").wait()?;
            store.seal(&project, gc::large(sealed)).wait()
        };
        match seal() {
            Ok(_) => sealed += 1,
            Err(error) => break error,
        }
    };
    assignment.say(&refused.to_string());
    let mut ballast = fs::File::create(Path::new(&assignment.argument).join("ballast")).unwrap();
    let mut size = 1 << 20;
    while size > 0 {
        match ballast.write(&vec![1; size]) {
            Ok(written) if written > 0 => {}
            _ => size /= 2,
        }
    }
    let store = Store::open(&assignment.location(), Access::Read).unwrap();
    let project = store.find_project("demo").wait().unwrap().unwrap();
    let count = || {
        store
            .prompts(&project, PromptFilter::default(), 1000)
            .wait()
            .unwrap()
            .len()
    };
    assert_eq!(count(), sealed as usize);
    let write = Store::open(&assignment.location(), Access::Write)
        .and_then(|store| store.seal(&project, gc::large(1000)).wait());
    assignment.say(&write.unwrap_err().to_string());
    let options = Options::default().collecting();
    let collector = Store::open_with(&assignment.location(), Access::Existing, options).unwrap();
    let keep = Keep {
        newest: Some(2),
        since: None,
    };
    let gone = collector.collect(&project, keep).wait().unwrap();
    assert_eq!(gone.prompts.len(), sealed as usize - 2);
    assert_eq!(findings(&collector), []);
    drop(collector);
    assert_eq!(count(), 2);
    let store = assignment.open();
    store.seal(&project, gc::large(1000)).wait().unwrap();
    assignment.say("goes on");
}

#[test]
fn collecting_works_on_a_full_disk() {
    let Some((path, said)) = on_small_disk("collect", "6m") else {
        return;
    };
    let full = format!("the store `{path}` cannot be written: the disk is full");
    assert_eq!(said, [full.clone(), full, "goes on".to_owned()]);
}
