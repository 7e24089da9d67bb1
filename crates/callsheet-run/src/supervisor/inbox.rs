//! What reaches a supervisor: words on standard input, the end of it, signals, and the news that a child has ended.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::launch::Word;

/// More than a system lets a command line and an environment have, several times over.
const MOST: usize = 64 << 20;

/// What was heard in one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// Somebody wants the agent to stop.
    pub(super) stop: bool,
    /// Somebody wants it to be gone.
    pub(super) kill: bool,
    /// Whoever started the supervisor is gone.
    pub(super) orphaned: bool,
}

/// Where a supervisor listens.
pub(super) struct Inbox {
    /// Nothing once it has ended.
    stdin: Option<OwnedFd>,
    /// What was read of a line that has not ended.
    line: Vec<u8>,
    /// Signals that mean the same as the word to stop.
    stops: UnixStream,
    /// A child has ended.
    children: UnixStream,
}

impl Inbox {
    /// Opens the inbox. From here on, no signal ends this process but KILL, and agents start with none of them ignored.
    pub(super) fn open(stdin: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stdin: Some(stdin),
            line: Vec::new(),
            stops: signals(&[SIGTERM, SIGINT, SIGHUP, SIGQUIT])?,
            children: signals(&[SIGCHLD])?,
        })
    }

    /// Returns the first line, without its newline.
    pub(super) fn first_line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(line) = self.next_line() {
                return Ok(line);
            }
            if self.line.len() > MOST {
                return Err(io::Error::other("the first line does not end"));
            }
            if !self.read()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Waits until something is heard, a child has ended or the time is over.
    pub(super) fn wait(&mut self, most: Option<Duration>) -> Heard {
        let ready = self.poll(most);
        let mut heard = Heard::default();
        drain(&self.children);
        heard.stop |= drain(&self.stops);
        if ready && !self.read().unwrap_or(false) {
            self.stdin = None;
            heard.orphaned = true;
        }
        while let Some(line) = self.next_line() {
            match Word::from_line(&line) {
                Some(Word::Stop) => heard.stop = true,
                Some(Word::Kill) => heard.kill = true,
                None => {}
            }
        }
        // Whoever floods us says nothing.
        if self.line.len() > MOST {
            self.line.clear();
        }
        heard
    }

    /// Waits, and tells whether there is something to read on standard input.
    fn poll(&self, most: Option<Duration>) -> bool {
        // Words that came together with the first line.
        if memchr::memchr(b'\n', &self.line).is_some() {
            return false;
        }
        let mut fds = vec![
            PollFd::new(&self.stops, PollFlags::IN),
            PollFd::new(&self.children, PollFlags::IN),
        ];
        if let Some(stdin) = &self.stdin {
            fds.push(PollFd::new(stdin, PollFlags::IN));
        }
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        let polled = poll(&mut fds, most.as_ref());
        polled.is_ok() && fds.get(2).is_some_and(|stdin| !stdin.revents().is_empty())
    }

    /// Reads what there is, and tells whether there may be more.
    fn read(&mut self) -> io::Result<bool> {
        let Some(stdin) = &self.stdin else {
            return Ok(false);
        };
        let mut bytes = [0; 16 << 10];
        loop {
            match rustix::io::read(stdin, &mut bytes) {
                Ok(count) => {
                    self.line.extend_from_slice(&bytes[..count]);
                    return Ok(count > 0);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = memchr::memchr(b'\n', &self.line)?;
        let mut line: Vec<u8> = self.line.drain(..=end).collect();
        line.pop();
        Some(line)
    }
}

/// Catches signals; each makes a byte arrive.
fn signals(signals: &[i32]) -> io::Result<UnixStream> {
    let (here, there) = UnixStream::pair()?;
    here.set_nonblocking(true)?;
    for signal in signals {
        pipe::register(*signal, there.try_clone()?)?;
    }
    Ok(here)
}

/// Takes all bytes that arrived, and tells whether there were any.
fn drain(mut stream: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut any = false;
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
        any = true;
    }
    any
}
