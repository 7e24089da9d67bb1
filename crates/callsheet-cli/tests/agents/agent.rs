//! The harness: one fake agent, a shell script below a supervisor, in a folder that is gone after the test.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot start an agent has nothing to test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use callsheet_run::launch::{Entry, Identity, Launch, MARKER, Step, StopSignal};
use callsheet_run::supervisor::{Supervised, read_journal};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far more than anything here needs; what takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The file of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_callsheet");

/// A function for scripts: `up PID NAME` waits until a process has become the program of that name.
const UP: &str = "up() { until [ \"$(cat /proc/$1/comm)\" = \"$2\" ]; do :; done; }\n";

/// A fake agent, and what is needed to start it.
pub(crate) struct Agent {
    folder: TempDir,
    pub(crate) launch: Launch,
}

impl Agent {
    /// Makes an agent that runs a shell script, which can call `up`.
    pub(crate) fn new(script: &str) -> Self {
        Self::with(&["sh", "-c", &format!("{UP}{script}")])
    }

    /// Makes an agent with that command line.
    pub(crate) fn with(argv: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let run = format!("test-{}-{count}-run", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let launch = Launch {
            argv: argv.iter().map(|part| (*part).to_owned()).collect(),
            env: BTreeMap::from([
                (MARKER.to_owned(), run),
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ]),
            cwd: folder.path().to_owned(),
            stdin: None,
            stdout: path("stdout"),
            stderr: path("stderr"),
            journal: path("journal"),
            stop: StopSignal::Terminate,
            sandbox: None,
        };
        Self { folder, launch }
    }

    /// Asks the agent to stop by INT.
    pub(crate) fn interrupted(mut self) -> Self {
        self.launch.stop = StopSignal::Interrupt;
        self
    }

    /// Gives the agent something to read.
    pub(crate) fn reading(mut self, text: &str) -> Self {
        let path = self.path("stdin");
        std::fs::write(&path, text).unwrap();
        self.launch.stdin = Some(path);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn run(&self) -> &str {
        &self.launch.env[MARKER]
    }

    pub(crate) fn start(&self) -> Supervised {
        Supervised::start(Path::new(PROGRAM), &self.launch).unwrap()
    }

    /// Starts the agent, waits until nothing of it is left, and returns its journal.
    pub(crate) fn play(&self) -> String {
        let mut supervised = self.start();
        until("the supervisor is gone", || supervised.is_gone());
        self.journal()
    }

    /// Starts the agent and waits until it has printed `ready`.
    pub(crate) fn ready(&self) -> Supervised {
        let supervised = self.start();
        self.wait_ready();
        supervised
    }

    pub(crate) fn wait_ready(&self) {
        until("the agent is ready", || self.stdout().contains("ready"));
        // An agent may be faster than the record of its start.
        let recorded = self.launch.journal.is_file();
        until("its start is on record", || {
            !recorded || self.entries().len() > 1
        });
    }

    pub(crate) fn stdout(&self) -> String {
        std::fs::read_to_string(&self.launch.stdout).unwrap_or_default()
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        read_journal(&self.launch.journal)
    }

    /// Returns the supervisor and the agent.
    pub(crate) fn processes(&self) -> (Identity, Identity) {
        let mut found = (None, None);
        for entry in self.entries() {
            match entry.step {
                Step::Supervising { process } => found.0 = Some(process),
                Step::Spawned { process } => found.1 = Some(process),
                _ => {}
            }
        }
        (found.0.unwrap(), found.1.unwrap())
    }

    /// Returns the journal without times, and with nameless processes and folders. Nothing of the run may be alive.
    pub(crate) fn journal(&self) -> String {
        assert_eq!(survivors(self.run()), Vec::<i32>::new());
        let mut before = 0;
        let lines: Vec<String> = self
            .entries()
            .into_iter()
            .map(|entry| {
                assert!(entry.at > 1_700_000_000_000 && entry.at >= before);
                before = entry.at;
                let mut step = serde_json::to_value(entry.step).unwrap();
                if let Some(process) = step.get_mut("process") {
                    *process = json!("[PROCESS]");
                }
                if let Some(abi) = step.get_mut("abi") {
                    *abi = json!("[ABI]");
                }
                step.to_string()
            })
            .collect();
        let folder = self.folder.path().display().to_string();
        lines.join("\n").replace(&folder, "[FOLDER]")
    }

    /// Returns the command that is a supervisor, to be spoken to directly.
    pub(crate) fn supervise() -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("supervise")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// Replaces the counts of a journal, where they depend on the moment.
pub(crate) fn without_counts(journal: &str) -> String {
    let lines = journal.lines().map(|line| {
        let mut step: Value = serde_json::from_str(line).unwrap();
        if let Some(count) = step.get_mut("processes") {
            *count = json!("[COUNT]");
        }
        step.to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Returns the processes that carry the mark of a run. Of a zombie, no environment can be read.
pub(crate) fn survivors(run: &str) -> Vec<i32> {
    let mark = format!("{MARKER}={run}");
    let pids = std::fs::read_dir("/proc").unwrap();
    pids.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut entries = environment.split(|byte| *byte == 0);
            entries.any(|entry| entry == mark.as_bytes())
        })
        .collect()
}

/// Sends a signal to a process.
pub(crate) fn send(to: Identity, signal: Signal) {
    kill_process(Pid::from_raw(to.pid).unwrap(), signal).unwrap();
}

/// Returns the session of a process.
pub(crate) fn session(of: Identity) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", of.pid)).unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1;
    fields.split(' ').nth(3).unwrap().parse().unwrap()
}
