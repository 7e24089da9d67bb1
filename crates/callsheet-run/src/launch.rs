//! What the supervisor of a run is told and what it puts on record: the two sides of one protocol.
//!
//! `callsheet supervise` is started once per run. Its standard input has one line with a [`Launch`], then one [`Word`] per
//! line; when it ends, whoever started the supervisor is gone, and so is the agent a moment later. What it does stands in a
//! journal, one [`Entry`] per line, so that a run can be settled by whoever comes next.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::sandbox::Sandbox;

/// The variable that marks every process of a run; its value is the id of the run.
pub const MARKER: &str = "CALLSHEET_RUN";

/// What a supervisor starts. It holds the agent's environment, so it is never written to a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The command line.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The folder that the agent works in.
    pub cwd: PathBuf,
    /// The file that the agent reads on its standard input; nothing to read without one.
    pub stdin: Option<PathBuf>,
    /// The file for its standard output.
    pub stdout: PathBuf,
    /// The file for its standard error.
    pub stderr: PathBuf,
    /// The file for the journal.
    pub journal: PathBuf,
    /// The signal that the CLI takes as a request to stop.
    pub stop: StopSignal,
    /// What the agent may write; everything that its user may without one.
    pub sandbox: Option<Sandbox>,
}

impl Launch {
    /// Returns the line that tells a supervisor what to start, with its newline.
    pub fn to_line(&self) -> Result<String, RunError> {
        let mut line = serde_json::to_string(self)
            .map_err(|error| RunError::Input(format!("cannot hand the launch over: {error}")))?;
        line.push('\n');
        Ok(line)
    }

    /// Reads such a line, with or without its newline.
    pub fn from_line(line: &[u8]) -> Result<Self, RunError> {
        let launch: Self = serde_json::from_slice(line)
            .map_err(|error| RunError::Input(format!("not a launch: {error}")))?;
        if launch.argv.is_empty() {
            return Err(RunError::Input("not a launch: `argv` is empty".to_owned()));
        }
        Ok(launch)
    }
}

/// The signal that a CLI takes as a request to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    #[default]
    Terminate,
}

/// What a supervisor is told while the agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Stop the agent: its own way, then TERM, then KILL, the whole tree.
    Stop,
    /// Stop it at once.
    Kill,
}

impl Word {
    /// Returns the line that says it, with its newline.
    pub fn line(self) -> &'static str {
        match self {
            Self::Stop => "stop\n",
            Self::Kill => "kill\n",
        }
    }

    /// Reads such a line, with or without its newline; any other line says nothing.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        match line.trim_ascii_end() {
            b"stop" => Some(Self::Stop),
            b"kill" => Some(Self::Kill),
            _ => None,
        }
    }
}

/// Which process it is: a pid alone may have passed to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The number of the process.
    pub pid: i32,
    /// When it was started, in clock ticks since the machine was.
    pub started: u64,
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What happened.
    #[serde(flatten)]
    pub step: Step,
}

/// What a supervisor did or saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The supervisor is up.
    Supervising {
        /// The supervisor itself.
        process: Identity,
    },
    /// The supervisor, and with it the agent to come, can write only here from now on.
    Sandboxed {
        /// The version of Landlock's interface.
        abi: u32,
        /// What can be written, some devices aside.
        write: Vec<PathBuf>,
    },
    /// The agent is up.
    Spawned {
        /// The agent.
        process: Identity,
    },
    /// The agent could not be started.
    NotSpawned {
        /// What the system said.
        why: String,
        /// Whether there is no such program.
        missing: bool,
    },
    /// A signal was sent.
    Signalled {
        /// The signal, such as `TERM`.
        signal: String,
        /// To how many processes.
        processes: usize,
        /// Why: `stop`, `kill`, `orphaned` or `leftovers`.
        why: String,
    },
    /// The agent is gone.
    Exited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// How many bytes of its standard input it took.
        read: Option<u64>,
    },
    /// Processes of the agent were still there after it was gone.
    Leftovers {
        /// Their names.
        names: Vec<String>,
    },
    /// No process of the run is left. Nothing follows.
    Done,
}
