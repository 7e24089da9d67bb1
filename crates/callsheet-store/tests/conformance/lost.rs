//! A server that goes away in the middle of writing, and comes back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callsheet_store::{Access, Location, Project, Store, StoreError, Wait};

use crate::test_store::{assert_gapless, event, findings, seqs, server};

/// A server of this test alone, because it is stopped.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    pub(crate) url: String,
}

impl Server {
    /// Starts a server in a mode of the script.
    pub(crate) fn start(mode: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The server runs as somebody else where we are root.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(folder.path(), open).unwrap();
        }
        let mut server = Self {
            folder,
            url: String::new(),
        };
        server.url = server.script("start", mode);
        server
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("server")
    }

    /// Runs a command of the script on the server and returns what it prints.
    pub(crate) fn script(&self, command: &str, more: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
        let output = Command::new(script)
            .arg(command)
            .arg(self.path())
            .args(more)
            .stderr(std::process::Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
        let _ = Command::new(script)
            .arg("stop")
            .arg(self.path())
            .arg("immediate")
            .status();
    }
}

/// Appends until it is told to stop, and returns what was acknowledged and what was refused.
fn write(store: &Store, project: &Project, stop: &AtomicBool) -> (Vec<i64>, Vec<StoreError>) {
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        match store
            .append_events(project, vec![event(1), event(2)])
            .wait()
        {
            Ok(seqs) => done.extend(seqs),
            Err(error) => {
                refused.push(error);
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
    (done, refused)
}

#[test]
fn work_goes_on_when_the_server_is_back() {
    if server().is_none() {
        return;
    }
    let server = Server::start(&[]);
    let location = Location::parse(&server.url).unwrap();
    let store = Store::open(&location, Access::Write).unwrap();
    let project = store.project("demo").wait().unwrap();
    let mut follower = store.follow(&project, 0).unwrap();
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| write(&store, &project, &stop)))
            .collect();
        let mut seen = Vec::new();
        wait_for(&mut || {
            seen.extend(follower.next_within(Duration::from_secs(1)).unwrap());
            seen.len() > 100
        });
        server.script("stop", &["immediate"]);
        let down = store
            .append_events(&project, vec![event(1)])
            .wait()
            .unwrap_err();
        assert!(matches!(down, StoreError::Unavailable { .. }), "{down}");
        assert!(follower.next_within(Duration::ZERO).is_err());
        server.script("resume", &[]);
        let last = follower.seq();
        wait_for(&mut || {
            let news = follower.next_within(Duration::from_millis(200));
            seen.extend(news.unwrap_or_default());
            follower.seq() > last + 100
        });
        stop.store(true, Ordering::Relaxed);
        let written: Vec<_> = writers.into_iter().map(|w| w.join().unwrap()).collect();
        wait_for(&mut || {
            let news = follower.next_within(Duration::from_millis(200)).unwrap();
            let quiet = news.is_empty();
            seen.extend(news);
            quiet
        });
        assert_gapless(&seen.iter().map(|event| event.seq).collect::<Vec<_>>());
        written
    });

    let there = seqs(&store, &project);
    assert_gapless(&there);
    assert_eq!(there.len() % 2, 0, "half of an append is there");
    let password = server.url.split(['@', ':']).nth(2).unwrap();
    for (done, refused) in written {
        assert!(done.iter().all(|seq| there.contains(seq)));
        assert!(!refused.is_empty());
        for error in refused {
            let said = format!("{error} {error:?}");
            assert!(matches!(error, StoreError::Unavailable { .. }), "{said}");
            assert!(!said.contains(password), "{said}");
        }
    }
    assert_eq!(findings(&store), []);
}

/// Waits until something is so.
#[track_caller]
fn wait_for(is_so: &mut dyn FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not come to pass");
    }
}
