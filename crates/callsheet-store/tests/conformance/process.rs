//! Other processes: this program once more, in a part that a test gives it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use callsheet_store::{Access, Location, Store};

use crate::place::Place;

/// The variable with the part, the place and an argument, one per line.
const PART: &str = "CALLSHEET_TEST_PART";

/// What a process does in a part.
type Play = fn(&Part);

/// The parts that a process can play.
const PARTS: &[(&str, Play)] = &[
    ("open", crate::opening::open_part),
    ("append", crate::events::append_part),
    ("work", crate::claims::work_part),
    ("crash", crate::crash::crash_part),
    ("record", crate::batch_crash::record_part),
    ("lock", crate::faults::lock_part),
    ("fill", crate::faults::fill_part),
    ("look", crate::permissions::look_part),
    ("write", crate::permissions::write_part),
    ("stream", crate::memory::stream_part),
    ("collect", crate::faults::collect_part),
    ("hold", crate::traces::hold_part),
];

/// What a process has been told.
pub(crate) struct Part {
    /// The place of the store.
    pub(crate) store: String,
    /// What else it has to know.
    pub(crate) argument: String,
}

impl Part {
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
fn part_of_another_test() {
    let Ok(told) = std::env::var(PART) else {
        return;
    };
    let mut lines = told.split('\n').map(str::to_owned);
    let name = lines.next().unwrap();
    let part = Part {
        store: lines.next().unwrap(),
        argument: lines.next().unwrap(),
    };
    let (_, play) = PARTS.iter().find(|(known, _)| *known == name).unwrap();
    play(&part);
}

/// A process that plays a part; it is killed when this goes.
pub(crate) struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
}

impl Process {
    /// Starts a process on the store of a place.
    pub(crate) fn start(part: &str, place: &Place, argument: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        Self::spawn(Command::new(program), part, place.text(), argument)
    }

    /// Starts a process through a command that ends with the program.
    pub(crate) fn spawn(mut command: Command, part: &str, store: &str, argument: &str) -> Self {
        let mut child = command
            .args([
                "--exact",
                "process::part_of_another_test",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(PART, format!("{part}\n{store}\n{argument}"))
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
