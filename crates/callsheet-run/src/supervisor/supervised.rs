//! The side that starts a supervisor: it says words and reads the journal. It never signals the agent itself.

use std::io::Write as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};

use super::journal::Tail;
use crate::RunError;
use crate::launch::{Entry, Launch, Word};

/// A supervisor that this process started. Dropping it ends the agent.
#[derive(Debug)]
pub struct Supervised {
    child: Box<dyn ChildWrapper>,
    pipe: Option<ChildStdin>,
    journal: Tail,
}

impl Supervised {
    /// Starts a supervisor, which starts the agent; `program` is the file of `callsheet`.
    ///
    /// The supervisor has no environment: what it has, the agent could read from `/proc`.
    pub fn start(program: &Path, launch: &Launch) -> Result<Self, RunError> {
        Self::start_with(program, launch, Stdio::null())
    }

    /// Starts a supervisor that keeps a file open as long as it lives, such as one with a lock; the agent does not get it.
    pub(crate) fn start_with(
        program: &Path,
        launch: &Launch,
        held: impl Into<Stdio>,
    ) -> Result<Self, RunError> {
        let line = launch.to_line()?;
        let refused = |cause| RunError::refused("cannot start the supervisor", cause);
        let mut command = Command::new(program);
        command
            .arg("supervise")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(held)
            .stderr(Stdio::null());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        let mut child = command.spawn().map_err(refused)?;
        let mut pipe = child.stdin().take();
        let written = pipe
            .as_mut()
            .map_or(Ok(()), |pipe| pipe.write_all(line.as_bytes()));
        let mut supervised = Self {
            child,
            pipe,
            journal: Tail::new(&launch.journal),
        };
        if let Err(cause) = written {
            supervised.pipe = None;
            // It has read no launch, so it ends at once; nobody else would take it off the list of processes.
            let _ = supervised.child.wait();
            return Err(refused(cause));
        }
        Ok(supervised)
    }

    /// Tells the supervisor something. One that is gone has nothing left to do.
    pub fn say(&mut self, word: Word) {
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(word.line().as_bytes());
        }
    }

    /// Returns what the journal has that it had not when this was last called.
    pub fn entries(&mut self) -> Vec<Entry> {
        self.journal.entries()
    }

    /// Tells whether the supervisor has ended. If its journal does not end with `done`, the agent may be alive.
    pub fn is_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the supervisor itself, for when it does not answer: an agent can stop it, as any process of the same user
    /// can. The agent stays; [`end_marked`](super::end_marked) ends it.
    pub fn kill(&mut self) {
        self.pipe = None;
        let _ = self.child.start_kill();
        let _ = self.child.wait();
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.pipe = None;
        let _ = self.child.try_wait();
    }
}
