//! The one harness: a folder with files, and the program run in it.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its folder has nothing to test"
)]

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use callsheet_store::Id;
use serde_json::Value;
use tempfile::TempDir;

/// Far more than any command needs; a command that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder of its own that looks like a project, and is gone after the test.
pub(crate) struct Project {
    folder: TempDir,
    root: PathBuf,
    variables: Vec<(String, String)>,
    /// The ids that were shown, in the order in which they came up.
    ids: Mutex<Vec<Id>>,
}

/// What a run of the program left behind, byte by byte.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Run {
    /// Returns stdout as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }

    /// Returns stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// Returns the exit code.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

impl Project {
    /// Makes an empty project; git's folder makes it one, so that nothing above it is looked at.
    pub(crate) fn new() -> Self {
        Self::named("project")
    }

    /// Makes an empty project in a folder of that name.
    pub(crate) fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(root.join(".git")).unwrap();
        Self {
            folder,
            root,
            variables: Vec::new(),
            ids: Mutex::default(),
        }
    }

    /// Returns the folder that the program is started in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a folder beside the project, which the program was not given.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Returns the path of a file of the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Reads a file of the project.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Sets a variable for every run that follows.
    pub(crate) fn variable(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the command that runs the program in the project, with no environment but its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.tool(env!("CARGO_BIN_EXE_callsheet"));
        command.args(args);
        command
    }

    /// Returns the command that runs another program the same way.
    pub(crate) fn tool(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(&self.root);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        // Help is as wide as the terminal, and a terminal on stdin counts.
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program and returns its bytes.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        finish(&mut self.command(args))
    }

    /// Runs the program and returns all that a user sees.
    #[must_use = "snapshot it"]
    pub(crate) fn callsheet(&self, args: &[&str]) -> String {
        self.shown(&self.run(args))
    }

    /// Runs the program with a text on stdin and returns all that a user sees.
    #[must_use = "snapshot it"]
    pub(crate) fn callsheet_with_stdin(&self, text: &str, args: &[&str]) -> String {
        let file = self.outside().join("stdin");
        std::fs::write(&file, text).unwrap();
        let mut command = self.command(args);
        command.stdin(std::fs::File::open(file).unwrap());
        self.shown(&finish(&mut command))
    }

    /// Returns a run as a user sees it, with the folder, the ids and the times of this one test made nameless.
    pub(crate) fn shown(&self, run: &Run) -> String {
        let mut shown = format!("exit: {}\n", run.code().unwrap_or(-1));
        for (name, bytes) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            if !bytes.is_empty() {
                let text = String::from_utf8_lossy(bytes);
                shown.push_str(&format!("--- {name}\n{}\n", text.trim_end_matches('\n')));
            }
        }
        let shown = shown
            .replace(&self.root.display().to_string(), "[ROOT]")
            .replace(&self.outside().display().to_string(), "[OUTSIDE]");
        without_times(&self.without_ids(&shown))
    }

    /// Puts `[ID1]` in the place of the first id that ever came up, and so on.
    fn without_ids(&self, text: &str) -> String {
        let mut ids = self.ids.lock().unwrap();
        let mut shown = String::new();
        for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let Some((id, rest)) = id_at(word) else {
                shown.push_str(word);
                continue;
            };
            let known = ids.iter().position(|known| *known == id);
            let number = known.unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            });
            shown.push_str(&format!("[ID{}]{rest}", number + 1));
        }
        shown
    }
}

/// Reads the id that a word is; what looks like one by chance is of no time in which anything was sealed.
fn id_at(word: &str) -> Option<(Id, &str)> {
    let (id, rest) = word.split_at_checked(14)?;
    let id: Id = id.parse().ok()?;
    let sealed_by_us = id.at() > 1_600_000_000_000 && id.at() < 2_200_000_000_000;
    let ends = rest
        .chars()
        .next()
        .is_none_or(|c| !c.is_ascii_alphanumeric());
    (sealed_by_us && ends).then_some((id, rest))
}

/// Puts `[TOOK]` in the place of how long a run took, and `[TIME]` in that of times such as `2026-11-15 08:41:10Z`, and of `sealed_at` in documents.
fn without_times(text: &str) -> String {
    const SHAPE: &str = "0000-00-00 00:00:00Z";
    let is_time = |text: &str| {
        let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
        text.chars().map(digits).eq(SHAPE.chars())
    };
    let mut left = text;
    let mut shown = String::new();
    while let Some(first) = left.chars().next() {
        let (length, by) = match left.get(..SHAPE.len()) {
            Some(start) if is_time(start) => (SHAPE.len(), "[TIME]"),
            _ => (first.len_utf8(), &left[..first.len_utf8()]),
        };
        shown.push_str(by);
        left = &left[length..];
    }
    let lines = shown.split_inclusive('\n');
    let shown: String = lines
        .map(|line| match line.split("  ").next() {
            Some("took") => "took       [TOOK]\n".to_owned(),
            Some("head") => format!("head       [HEAD]{}\n", dirt(line)),
            _ => line.to_owned(),
        })
        .collect();
    let key = "\"sealed_at\": ";
    let mut pieces = shown.split(key);
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        masked.push_str(key);
        masked.push_str("[TIME]");
        masked.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    masked
}

/// Returns what a line about commits says of files that are not committed.
fn dirt(line: &str) -> &str {
    line.trim_end()
        .find(',')
        .map_or("", |at| &line.trim_end()[at..])
}

/// Returns the arguments of a line without quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Tells whoever reads the output of the test why it did nothing; in CI nothing is skipped.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "skipped: {why}");
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Waits for a command to end; one that hangs is ended and fails the test.
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Run {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (
        drain(child.stdout.take().unwrap()),
        drain(child.stderr.take().unwrap()),
    );
    let (Ok(stdout), Ok(stderr)) = (stdout.recv_timeout(PATIENCE), stderr.recv_timeout(PATIENCE))
    else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the program hangs: {command:?}");
    };
    Run {
        status: child.wait().unwrap(),
        stdout,
        stderr,
    }
}

fn drain(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (done, waiting) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        // After a hang nobody waits any more.
        let _ = read.map(|_| done.send(bytes));
    });
    waiting
}
