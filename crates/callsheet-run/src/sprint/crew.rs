//! What the driver of a sprint needs from the program around it: prompts, runners, and somebody to tell.

use std::path::PathBuf;

use callsheet::Event;
use callsheet::sprint::PreviousRun;
use callsheet::sprint::machine::{ActionId, AgentOrder, Batch};
use callsheet_store::Id;

use crate::drive::{Live, Most};
use crate::{Resolved, RunError};

/// What an agent is given, and who runs it.
#[derive(Debug)]
pub struct Briefed {
    /// The sealed prompt.
    pub sealed: Id,
    /// The prompt, byte by byte.
    pub prompt: String,
    /// The text for the system prompt, byte by byte.
    pub system: Option<String>,
    /// What happened while it was composed.
    pub events: Vec<Event>,
    /// Who runs it.
    pub runner: Resolved,
    /// What the adapters `scripted` and `replay` play.
    pub script: Option<PathBuf>,
    /// What the agent may write beside what every one may, if it is to be in the sandbox.
    pub sandbox: Option<Vec<PathBuf>>,
    /// How many runs the project, and the account, may have at once.
    pub most: Most,
}

/// What a prompt has to say beyond the order of the machine.
#[derive(Clone, Debug, Default)]
pub struct Brief {
    /// The facts of the run before, where that failed.
    pub previous: Option<PreviousRun>,
    /// What the stories may write; nothing says that they may write anywhere.
    pub write_scope: Vec<String>,
    /// The worktree that the agent works in, where that is not the main checkout.
    pub worktree: Option<PathBuf>,
}

/// The program around a sprint. Agents run side by side, so it is asked from several threads.
pub trait Crew: Sync {
    /// Composes and seals the prompt of a phase, and chooses who runs it.
    fn brief(&self, order: &AgentOrder, brief: &Brief) -> Result<Briefed, RunError>;

    /// Returns what agents and checks in a worktree may write beside what every one may, if they are to be in the sandbox.
    fn writable(&self) -> Result<Option<Vec<PathBuf>>, RunError>;

    /// Returns how often somebody asked the sprint to stop: once as the setting says, twice at once.
    fn stops(&self) -> usize;

    /// Is told what was stored.
    fn recorded(&self, batch: &Batch, events: &[Event]);

    /// Is told how an agent is getting on.
    fn live(&self, action: ActionId, order: &AgentOrder, live: &Live<'_>);

    /// Is told what a person should know.
    fn note(&self, line: &str);

    /// Is told how long a limit has still to be waited for, in seconds.
    fn waiting(&self, action: ActionId, account: &str, seconds: u64);
}
