//! Chromium as a process: without a window, with an empty profile, and gone with the test.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot start its browser has nothing to test"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::project::skip;

/// What keeps it to itself: no window, no sandbox of its own (it runs as root in containers), nothing that it loads.
const FLAGS: [&str; 14] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
];

/// A browser that runs.
pub(crate) struct Chromium {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
    _profile: TempDir,
}

impl Chromium {
    /// Starts it; none where it is missing, which is told and is a failure in CI.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            skip("the tests of the dashboard, because Chromium is not installed");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let folder = profile.path();
        let mut child = Command::new(program)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", folder)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.join("data").display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        let address = loop {
            let mut line = String::new();
            let read = said.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "Chromium does not start:\n{text}");
            if let Some(address) = line.trim_end().strip_prefix("DevTools listening on ") {
                break address.to_owned();
            }
            text.push_str(&line);
        };
        // What it says later is of no interest, but it must not wait for somebody to read it.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(1..) = said.read(&mut bytes) {}
        });
        Some(Self {
            child,
            address,
            _profile: profile,
        })
    }

    /// Waits until it is gone, after it was asked to go.
    pub(crate) fn wait(&mut self) {
        let _ = self.child.wait();
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Its other processes end with the first one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program, by the name that Debian gives it or by that of others.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().find_map(|name| {
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        found.find(|file| file.is_file())
    })
}
