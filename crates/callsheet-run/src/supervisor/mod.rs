//! The process that stands between this program and an agent: it starts the agent, ends it, and sweeps up after it.
//!
//! One supervisor per run, in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it. It
//! decides nothing about a run: when to stop is said by whoever started it, and what a run came to is read from its journal.

mod hunt;
mod inbox;
mod journal;
mod process;
mod spawn;
mod supervised;
mod watch;

use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper};

pub use hunt::end_marked;
pub use journal::read_journal;
pub use process::is_alive;
pub use supervised::Supervised;

use crate::RunError;
use crate::launch::{Identity, Launch, Step};
use inbox::Inbox;
use journal::Journal;

/// Supervises one agent, as standard input says. This is all that `callsheet supervise` does.
///
/// Returns once no process of the run is left. An error means that there was nothing to start, that the journal has gaps or
/// that a process cannot be ended.
pub fn supervise() -> Result<(), RunError> {
    let refused = |cause: std::io::Error| RunError::refused("cannot supervise", cause);
    let stdin = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(refused)?;
    let mut inbox = Inbox::open(stdin).map_err(refused)?;
    let launch = Launch::from_line(&inbox.first_line().map_err(refused)?)?;
    let mut journal = Journal::open(&launch.journal)?;
    // What an agent leaves behind becomes a child of ours, whatever session it moved to.
    set_child_subreaper(Some(getpid())).map_err(|errno| refused(errno.into()))?;
    let process = Identity::current().map_err(refused)?;
    journal.write(Step::Supervising { process });
    // Whoever asked for the agent may be gone already.
    let heard = inbox.wait(Some(Duration::ZERO));
    if heard.orphaned {
        journal.write(Step::Done);
        return journal.close();
    }
    match spawn::spawn(&launch, &mut journal) {
        Ok(agent) => watch::Watch::new(&launch, agent, inbox, &mut journal).run(heard)?,
        Err(step) => {
            journal.write(step);
            journal.write(Step::Done);
        }
    }
    journal.close()
}
