//! Other processes: this program once more, with a job that a test gives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use callsheet_store::{Access, Location, Store};

use crate::test_store::TestStore;

/// The variable with the part, the place and an argument, one per line.
const JOB: &str = "CALLSHEET_TEST_JOB";

/// What a process does.
type Job = fn(&Assignment);

/// What a process can do for a test.
const JOBS: &[(&str, Job)] = &[
    ("open", crate::opening::open_job),
    ("append", crate::events::append_job),
    ("work", crate::claims::work_job),
    ("crash", crate::crash::crash_job),
    ("record", crate::batch_crash::record_job),
    ("lock", crate::faults::lock_job),
    ("fill", crate::faults::fill_job),
    ("look", crate::permissions::look_job),
    ("write", crate::permissions::write_job),
    ("stream", crate::memory::stream_job),
    ("collect", crate::faults::collect_job),
    ("hold", crate::leftovers::hold_job),
];

/// What a process of a test has to know.
pub(crate) struct Assignment {
    /// Where the store is.
    pub(crate) store: String,
    /// What else it has to know.
    pub(crate) argument: String,
}

impl Assignment {
    pub(crate) fn location(&self) -> Location {
        Location::parse(&self.store).unwrap()
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(&self.location(), Access::Write).unwrap()
    }

    /// Says a line to the process that has started this one; if that one is gone, so is the reason to go on.
    pub(crate) fn say(&self, line: &str) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "> {line}")
            .and_then(|()| out.flush())
            .unwrap();
    }

    /// Waits until the other process says something or is gone.
    pub(crate) fn wait(&self) {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    }
}

/// Not a test of its own: what the processes of other tests do.
#[test]
fn job_of_another_test() {
    let Ok(text) = std::env::var(JOB) else {
        return;
    };
    let mut lines = text.split('\n').map(str::to_owned);
    let name = lines.next().unwrap();
    let assignment = Assignment {
        store: lines.next().unwrap(),
        argument: lines.next().unwrap(),
    };
    let (_, job) = JOBS.iter().find(|(known, _)| *known == name).unwrap();
    job(&assignment);
}

/// A process with a job; it is killed when this goes.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
}

impl Process {
    /// Starts a process on the store of a place.
    pub(crate) fn start(assignment: &str, place: &TestStore, argument: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        Self::spawn(Command::new(program), assignment, place.text(), argument)
    }

    /// Starts a process through a command that ends with the program.
    pub(crate) fn spawn(
        mut command: Command,
        assignment: &str,
        store: &str,
        argument: &str,
    ) -> Self {
        let mut child = command
            .args([
                "--exact",
                "process::job_of_another_test",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(JOB, format!("{assignment}\n{store}\n{argument}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            lines: BufReader::new(child.stdout.take().unwrap()),
            input: child.stdin.take(),
            child,
        }
    }

    /// Waits for the next line that the process says; none when it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The harness writes to the same place, also in front of what is said.
            if let (Some(at), true) = (line.find("> "), line.ends_with('\n')) {
                return Some(line[at + 2..].trim_end().to_owned());
            }
        }
    }

    /// Lets a process go on that waits.
    pub(crate) fn go_on(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Kills the process and returns what it had said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.rest()
    }

    /// Waits for the process to end well and returns what it said.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Vec<String> {
        drop(self.input.take());
        let said = self.rest();
        assert!(self.child.wait().unwrap().success(), "{said:?}");
        said
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.hear()).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a program of the system, where it has it.
pub(crate) fn tool(name: &str) -> Option<String> {
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        .iter()
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| Path::new(path).exists())
}
