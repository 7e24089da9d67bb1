//! From the start of an agent to the end of the last process that it left: who is signalled, when, and why.

use std::io::Seek as _;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, WaitStatus, wait};

use super::hunt::{GRACE, Hunt, PATIENCE, TICK, send_all};
use super::inbox::{Heard, Inbox};
use super::journal::Journal;
use super::process::Process;
use super::spawn::Agent;
use crate::RunError;
use crate::launch::{Launch, MARKER, Step, StopSignal};

/// How long an agent has for each step of a stop.
const STOP: Duration = Duration::from_secs(5);
/// How long processes that are about to end by themselves have before they count as left behind.
const SETTLE: Duration = Duration::from_millis(200);

/// How far the end of an agent has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Nobody wants it to end.
    Running,
    /// It got the signal that it takes as a request.
    Asked,
    /// All of its processes got TERM.
    Terminated,
    /// All of its processes got KILL.
    Killed,
}

/// What looks after one agent.
pub(super) struct Watch<'a> {
    agent: Agent,
    stop: StopSignal,
    hunt: Hunt,
    inbox: Inbox,
    journal: &'a mut Journal,
    stage: Stage,
    /// When the next stage is due.
    due: Option<Instant>,
    why: &'static str,
}

/// What children there are, after those that have ended were taken off the list.
struct Reaped {
    agent: Option<WaitStatus>,
    any_left: bool,
}

impl<'a> Watch<'a> {
    /// Puts the start of an agent on record, and looks after it from then on.
    pub(super) fn new(
        launch: &Launch,
        agent: Agent,
        inbox: Inbox,
        journal: &'a mut Journal,
    ) -> Self {
        let process = agent.process;
        journal.write(Step::Spawned { process });
        let run = launch.env.get(MARKER).map(String::as_str);
        Self {
            agent,
            stop: launch.stop,
            hunt: Hunt::below(run, process),
            inbox,
            journal,
            stage: Stage::Running,
            due: None,
            why: "stop",
        }
    }

    /// Returns once no process of the run is left, or once one cannot be ended; `heard` came before the agent was there.
    pub(super) fn run(mut self, heard: Heard) -> Result<(), RunError> {
        self.hear(heard);
        let status = self.until_exit()?;
        let read = self.agent.stdin.as_mut();
        let read = read.and_then(|file| file.stream_position().ok());
        self.journal.write(Step::Exited {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            read,
        });
        self.sweep()?;
        self.journal.write(Step::Done);
        Ok(())
    }

    fn until_exit(&mut self) -> Result<WaitStatus, RunError> {
        let mut killed = None;
        loop {
            let reaped = reap(self.agent.process.pid);
            if let Some(status) = reaped.agent {
                return Ok(status);
            }
            let left = self.due.map(|due| due.duration_since(Instant::now()));
            let heard = self.inbox.wait(left);
            self.hear(heard);
            if self.due.is_some_and(|due| due <= Instant::now()) {
                self.next_stage();
            }
            if self.stage == Stage::Killed {
                let since = *killed.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    return Err(self.give_up());
                }
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        if heard.stop && self.stage == Stage::Running {
            self.ask();
        }
        if heard.kill && self.stage < Stage::Killed {
            self.why = "kill";
            self.kill();
        }
        if heard.orphaned && self.stage < Stage::Killed {
            self.why = "orphaned";
            if self.stage < Stage::Terminated {
                self.terminate(GRACE);
            } else {
                let soon = Instant::now() + GRACE;
                self.due = self.due.map(|due| due.min(soon));
            }
        }
    }

    fn next_stage(&mut self) {
        match self.stage {
            Stage::Running => self.ask(),
            Stage::Asked => self.terminate(STOP),
            Stage::Terminated | Stage::Killed => self.kill(),
        }
    }

    fn ask(&mut self) {
        let group = self.agent.process.pid;
        let mut found = self.hunt.find();
        found.retain(|process| process.group == group);
        match self.stop {
            StopSignal::Interrupt => self.signal(&found, Signal::INT, "INT"),
            StopSignal::Terminate => self.signal(&found, Signal::TERM, "TERM"),
        }
        self.stage = Stage::Asked;
        self.due = Some(Instant::now() + STOP);
    }

    fn terminate(&mut self, grace: Duration) {
        let found = self.hunt.find();
        self.signal(&found, Signal::TERM, "TERM");
        self.stage = Stage::Terminated;
        self.due = Some(Instant::now() + grace);
    }

    fn kill(&mut self) {
        let processes = self.hunt.kill();
        // A process that takes its time to end after KILL is not news.
        if processes > 0 || self.stage < Stage::Killed {
            self.journal.write(Step::Signalled {
                signal: "KILL".to_owned(),
                processes,
                why: self.why.to_owned(),
            });
        }
        self.stage = Stage::Killed;
        self.due = Some(Instant::now() + TICK);
    }

    fn signal(&mut self, to: &[Process], signal: Signal, name: &str) {
        let processes = send_all(to, signal);
        self.journal.write(Step::Signalled {
            signal: name.to_owned(),
            processes,
            why: self.why.to_owned(),
        });
    }

    /// Ends what the agent left behind.
    fn sweep(&mut self) -> Result<(), RunError> {
        let start = Instant::now();
        // What got TERM together with the agent has had its notice already.
        let mut due = match self.stage {
            Stage::Running | Stage::Asked => start + SETTLE,
            Stage::Terminated => start + GRACE,
            Stage::Killed => start,
        };
        loop {
            let any_left = reap(self.agent.process.pid).any_left;
            let found = self.hunt.find();
            if found.is_empty() && !any_left {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(self.give_up());
            }
            let now = Instant::now();
            if !found.is_empty() && now >= due {
                due = self.end_leftovers(&found);
            }
            let heard = self.inbox.wait(Some(TICK));
            if heard.kill && self.stage < Stage::Terminated {
                self.stage = Stage::Terminated;
                due = now;
            }
        }
    }

    /// Takes the next step against what was left behind, and returns when the one after it is due.
    fn end_leftovers(&mut self, found: &[Process]) -> Instant {
        if self.why != "leftovers" && self.stage < Stage::Killed {
            self.leftovers(found);
            self.why = "leftovers";
        }
        if self.stage < Stage::Terminated {
            self.terminate(GRACE);
        } else {
            self.kill();
        }
        self.due.unwrap_or_else(Instant::now)
    }

    fn leftovers(&mut self, found: &[Process]) {
        let mut names: Vec<String> = found.iter().map(|process| process.name.clone()).collect();
        names.sort();
        self.journal.write(Step::Leftovers { names });
    }

    fn give_up(&mut self) -> RunError {
        let found = self.hunt.find();
        self.leftovers(&found);
        let cause = std::io::ErrorKind::TimedOut.into();
        RunError::refused("cannot end every process of the agent", cause)
    }
}

/// Takes children that have ended off the list. Among them are processes that lost their own parent.
fn reap(agent: i32) -> Reaped {
    let mut status = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, ended))) if pid.as_raw_pid() == agent => status = Some(ended),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                return Reaped {
                    agent: status,
                    any_left: true,
                };
            }
            Err(_) => {
                return Reaped {
                    agent: status,
                    any_left: false,
                };
            }
        }
    }
}
