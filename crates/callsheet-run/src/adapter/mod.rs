//! Adapters: what knows one agent CLI. An order becomes a launch plan, a line of output becomes events.
//!
//! Both are pure: an adapter starts nothing, reads no file and knows no clock. One file per CLI; flags, models and
//! capabilities are data, in `adapters/NAME.toml`.

mod classify;
mod claude;
pub mod codex;
mod command;
mod draft;
mod gemini;
mod line;
mod opencode;
mod player;
mod registry;
mod replay;
mod scripted;
mod sheet;
#[cfg(test)]
mod test_order;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use command::CommandAdapter;
pub use registry::{NAMES, find, sheet};
pub(crate) use registry::{name_of_run, of_run};
pub use replay::{ReplayAdapter, ReplayReader};
pub use scripted::ScriptedAdapter;
pub use sheet::Sheet;

use crate::launch::StopSignal;
use crate::{AgentEvent, Ending, Permissions, PromptBy, RunError, Verdict};

/// What is to be run, as values.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// What the CLI takes, with what the project changed of it.
    pub sheet: &'a Sheet,
    /// The beginning of the command line.
    pub command: &'a [String],
    /// The model, in the words of the CLI.
    pub model: Option<&'a str>,
    /// What the agent may do without asking.
    pub permissions: Permissions,
    /// Tools that are allowed.
    pub allow: &'a [String],
    /// Tools that are denied.
    pub deny: &'a [String],
    /// The prompt. It travels as a file; an adapter looks at it only to refuse what its CLI would change.
    pub prompt: &'a str,
    /// The text for the system prompt.
    pub system: Option<&'a str>,
    /// The private folder of the run; its files `prompt` and `system` are there, where there is such a text.
    pub folder: &'a Path,
    /// The folder that the agent works in.
    pub cwd: &'a Path,
    /// Whether the CLI gets a state folder of its own, which is `state` in the folder of the run.
    pub isolate: bool,
    /// The variables that are passed on, those of the runner included.
    pub env: &'a BTreeMap<String, String>,
    /// How the adapter `command` hands the prompt over.
    pub prompt_by: PromptBy,
    /// This program, for adapters that play.
    pub program: &'a Path,
    /// What the adapters `scripted` and `replay` play.
    pub script: Option<&'a Path>,
    /// Whether the agent will be in the sandbox.
    pub sandboxed: bool,
}

impl Order<'_> {
    /// Returns the file with the prompt.
    pub fn prompt_file(&self) -> PathBuf {
        self.folder.join("prompt")
    }

    /// Returns the file with the text for the system prompt.
    pub fn system_file(&self) -> PathBuf {
        self.folder.join("system")
    }

    /// Returns the state folder of the run.
    pub fn state_folder(&self) -> PathBuf {
        self.folder.join("state")
    }
}

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The command line.
    pub argv: Vec<String>,
    /// Variables, over those that every agent has and those that are passed on.
    pub env: BTreeMap<String, String>,
    /// Whether the prompt is the standard input; else it is empty.
    pub prompt_on_stdin: bool,
    /// Private files that have to be there before the start, by absolute path.
    pub files: BTreeMap<PathBuf, String>,
    /// The signal that the CLI takes as a request to stop.
    pub stop: StopSignal,
    /// Whether the CLI takes the white space at both ends of the system text away.
    pub trims_system: bool,
    /// What a person should know before the start, such as a list that the CLI does not take.
    pub notes: Vec<String>,
}

/// What knows one agent CLI.
pub trait Adapter: Send + Sync {
    /// Returns how an agent is started.
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError>;

    /// Returns files that may be the program itself, where `program` is a script that only starts it.
    fn natives(&self, program: &Path) -> Vec<PathBuf> {
        let _ = program;
        Vec::new()
    }

    /// Tells whether a text for the system prompt can be given: `command` is the command line of the user, and `isolated` says
    /// whether the CLI has a state folder of the run's own.
    fn takes_system(&self, command: &[String], isolated: bool) -> bool {
        let _ = (command, isolated);
        true
    }

    /// Returns what reads the output of one run.
    fn reader(&self) -> Box<dyn Reader>;
}

/// What reads the output of one run, line by line. It keeps what it needs of the lines before.
pub trait Reader: Send {
    /// Returns what a line of the standard output means, possibly nothing.
    fn line(&mut self, line: &str) -> Vec<AgentEvent>;

    /// Returns what the lines and the end of the process mean together.
    fn verdict(&self, ending: &Ending) -> Verdict;

    /// Tells whether the CLI moves the position in the file that is its standard input, which tells how much it took.
    fn moves_input(&self) -> bool {
        true
    }
}
