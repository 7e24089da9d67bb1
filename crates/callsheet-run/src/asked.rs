//! Asking a program: its output, within bounds of time and size, and nothing of it left behind.
//!
//! The program runs in a session of its own without a terminal. When it is gone, or is over a bound, its whole process
//! group is ended. No shell is involved.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::RunError;

/// How often a program that runs is looked at.
const TICK: Duration = Duration::from_millis(1);

/// How soon a program is looked at that has closed its output: most of them end at once.
const SOON: Duration = Duration::from_micros(50);

/// How long the last bytes of an ended program may be on their way.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// How much of a program's standard error is kept.
const SAID: u64 = 4096;

/// How much of a line of it is told.
const SAID_CHARS: usize = 300;

/// What a program that is asked may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How long it may take.
    pub time: Duration,
    /// How many bytes it may print.
    pub bytes: u64,
}

/// Runs a program to its end and returns what it printed; `what` is how a user would name it.
///
/// With `any_exit` what it printed counts although it failed.
pub fn ask(
    command: Command,
    what: &str,
    bounds: Bounds,
    any_exit: bool,
) -> Result<Vec<u8>, RunError> {
    ask_with(command, Stdio::null(), what, bounds, any_exit)
}

/// Does so with a standard input: a file that is read, or one that is only held open.
pub(crate) fn ask_with(
    command: Command,
    input: impl Into<Stdio>,
    what: &str,
    bounds: Bounds,
    any_exit: bool,
) -> Result<Vec<u8>, RunError> {
    let answer = answer(command, input, what, bounds)?;
    match answer.failed {
        Some(RunError::Failed { code: Some(_), .. }) if any_exit => Ok(answer.printed),
        Some(error) => Err(error),
        None => Ok(answer.printed),
    }
}

/// What a program within its bounds printed, and how it failed, if it did.
pub(crate) struct Answer {
    pub(crate) printed: Vec<u8>,
    pub(crate) failed: Option<RunError>,
}

/// Does so where both count: what it printed and what it said when it failed.
pub(crate) fn answer(
    mut command: Command,
    input: impl Into<Stdio>,
    what: &str,
    bounds: Bounds,
) -> Result<Answer, RunError> {
    command
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let refused = |cause| RunError::refused(format!("cannot run `{what}`"), cause);
    let mut asked = Asked::start(command, bounds.bytes).map_err(refused)?;
    let ended = asked.wait(bounds);
    // Before it is reaped: until then the number of the group cannot pass to another one.
    let _ = asked.child.start_kill();
    let status = asked.child.wait().map_err(refused)?;
    let printed = match ended {
        Ended::TooMuch => {
            return Err(RunError::TooMuch {
                what: what.to_owned(),
                most: bounds.bytes,
            });
        }
        Ended::TooLate => {
            return Err(RunError::TimedOut {
                what: what.to_owned(),
                after: bounds.time,
            });
        }
        Ended::ByItself(printed) => printed,
    };
    let failed = (!status.success()).then(|| RunError::Failed {
        what: what.to_owned(),
        code: status.code(),
        said: asked.said(),
    });
    Ok(Answer { printed, failed })
}

/// Returns a file without a name that is read from its start: the standard input of a program.
pub(crate) fn file_of(bytes: &[u8]) -> Result<File, RunError> {
    let written = || -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    };
    written().map_err(|cause| RunError::refused("cannot write a temporary file", cause))
}

/// How a program came to its end.
enum Ended {
    /// By itself, having printed this.
    ByItself(Vec<u8>),
    TooMuch,
    TooLate,
}

/// A program that runs.
struct Asked {
    child: Box<dyn ChildWrapper>,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
}

impl Asked {
    fn start(command: Command, most: u64) -> io::Result<Self> {
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        let (stdout, stderr) = (child.stdout().take(), child.stderr().take());
        Ok(Self {
            child,
            stdout: reader(stdout, most.saturating_add(1)),
            stderr: reader(stderr, SAID),
        })
    }

    fn wait(&mut self, bounds: Bounds) -> Ended {
        let deadline = Instant::now() + bounds.time;
        let mut printed = None;
        let mut pause = SOON;
        loop {
            if printed.is_none() {
                printed = self.stdout.recv_timeout(TICK).ok();
            } else {
                thread::sleep(pause);
                pause = TICK.min(pause * 2);
            }
            let size = printed.as_ref().map_or(0, |bytes| bytes.len() as u64);
            if size > bounds.bytes {
                return Ended::TooMuch;
            }
            if self.has_exited() {
                break;
            }
            if Instant::now() >= deadline {
                return Ended::TooLate;
            }
        }
        // What it left behind would keep its output open.
        let _ = self.child.start_kill();
        let printed = printed.or_else(|| self.stdout.recv_timeout(LAST_BYTES).ok());
        match printed {
            Some(printed) if printed.len() as u64 > bounds.bytes => Ended::TooMuch,
            Some(printed) => Ended::ByItself(printed),
            None => Ended::TooLate,
        }
    }

    /// Tells whether the program is gone, and leaves it to be reaped.
    fn has_exited(&self) -> bool {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    /// Returns the first line of its standard error that says something.
    fn said(&self) -> String {
        let said = self.stderr.recv_timeout(LAST_BYTES).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let mut lines = said.lines().map(plain_line);
        lines.find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Returns a line that a program said as it can be told: not too long, and nothing but text.
pub(crate) fn plain_line(line: &str) -> String {
    let line = line.trim().chars();
    line.map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(SAID_CHARS)
        .collect()
}

/// Reads a stream up to `most` bytes on a thread of its own; of what follows only the room is given back.
fn reader(stream: Option<impl Read + Send + 'static>, most: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut bytes = Vec::new();
        // A stream that breaks ends there; the exit code tells the rest.
        let _ = (&mut stream).take(most).read_to_end(&mut bytes);
        let full = bytes.len() as u64 == most;
        // Nobody waits any more when the program was too late.
        let _ = sender.send(bytes);
        if full {
            let _ = io::copy(&mut stream, &mut io::sink());
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
