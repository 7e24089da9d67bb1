//! The run document: what is known of a run, in the one shape that people and programs get.
//!
//! What is not known is null. What an agent says of itself is not here.

use callsheet::task::annotated;
use callsheet_store::{Annotation, Run, RunState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Class, Usage};

/// The name and version of the shape.
pub const SCHEMA: &str = "callsheet.run/1";

/// The fields of a run document, in their order; those that the store itself knows are filled from it.
const FIELDS: [&str; 30] = [
    "id",
    "task",
    "kind",
    "parent",
    "prompt",
    "runner",
    "adapter",
    "model",
    "state",
    "status",
    "class",
    "termination",
    "exit_code",
    "signal",
    "branch",
    "worktree",
    "start_head",
    "head",
    "dirty",
    "changed_files",
    "checks",
    "violations",
    "usage",
    "delivered",
    "started_at",
    "finished_at",
    "account",
    "permissions",
    "reason",
    "resets_at",
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did what the rule of its adapter calls a success.
    Completed,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl Status {
    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What ended the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Termination {
    /// It ended by itself.
    Exit,
    /// A signal that was not ours.
    Signal,
    /// A limit of the run.
    Timeout,
    /// Somebody stopped it.
    Cancelled,
}

/// A text that the process was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// The hash of its bytes.
    pub fingerprint: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many of them the process took; nothing where that cannot be told.
    pub read: Option<u64>,
    /// Whether the CLI takes white space at its ends away before its model gets it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed: bool,
}

/// What the process was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// The prompt.
    pub prompt: Option<Handed>,
    /// The text for the system prompt.
    pub system: Option<Handed>,
}

/// What is known before the process starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Known {
    /// The command line; no text of a prompt is in it.
    pub argv: Vec<String>,
    /// The names of the variables that the process has.
    pub env: Vec<String>,
    /// The version of the CLI, where it told one.
    pub version: Option<String>,
    /// Whether the CLI has a state folder of its own.
    pub isolated: bool,
    /// What of the user's own configuration came along.
    pub ambient: Came,
    /// What the process is given.
    pub delivered: Delivered,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The commit that was checked out.
    pub start_head: Option<String>,
    /// The tree that the files made, those that are not committed included.
    pub start_tree: Option<String>,
    /// The folder that the agent works in.
    pub worktree: Option<String>,
}

/// What of the user's own configuration came along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Came {
    /// Files with instructions.
    pub instructions: Vec<String>,
    /// Hooks, by the event that they are for.
    pub hooks: Vec<String>,
    /// MCP servers, by name.
    pub mcp_servers: Vec<String>,
}

/// What was observed when the process was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// How the run ended.
    pub status: Status,
    /// Why it failed.
    pub class: Option<Class>,
    /// What ended the process.
    pub termination: Option<Termination>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What happened, for people, where the class does not say it all.
    pub reason: Option<String>,
    /// When the usage window starts anew, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// Whether the attempt counts.
    pub charged: bool,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Whether there is anything that is not committed.
    pub dirty: Option<bool>,
    /// Files that are not what they were at the start.
    pub changed_files: Option<Vec<String>>,
    /// Tokens and money.
    pub usage: Option<Usage>,
    /// The model that answered, where the CLI told it.
    pub answered_by: Option<String>,
    /// The CLI's own name for the session.
    pub session: Option<String>,
    /// How many lines no adapter understood.
    pub unknown: u64,
    /// Processes that were still there after the agent was gone.
    pub leftovers: Vec<String>,
    /// Whether the agent was in the sandbox.
    #[serde(default)]
    pub sandbox: bool,
    /// Whether another process settled the run from the evidence that was left.
    pub settled: bool,
}

/// Returns the document of a run to which nothing was added.
pub fn document(run: &Run) -> Value {
    document_with(run, &[])
}

/// Returns the document of a run with what was added to it after it finished, the oldest first.
pub fn document_with(run: &Run, annotations: &[Annotation]) -> Value {
    let mut known = Map::new();
    for part in [&run.request, &run.outcome].into_iter().flatten() {
        // The request defines checks; the document has their results.
        known.remove("checks");
        if let Value::Object(fields) = part {
            known.extend(fields.clone());
        }
    }
    if run.outcome.is_none() {
        known.remove("checks");
    }
    let stored = json!({
        "id": run.id,
        "task": run.task,
        "kind": run.kind,
        "parent": run.parent,
        "prompt": run.prompt,
        "state": run.state,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    });
    if let Value::Object(fields) = stored {
        known.extend(fields);
    }
    // Checks and violations come with tasks; a run without one has none.
    if run.state == RunState::Finished {
        known.entry("checks").or_insert_with(|| json!([]));
        known.entry("violations").or_insert_with(|| json!([]));
    }
    let mut document = Map::new();
    document.insert("schema".to_owned(), json!(SCHEMA));
    for field in FIELDS {
        let value = known.remove(field).unwrap_or_default();
        document.insert(field.to_owned(), value);
    }
    // Whatever else was observed, in a fixed order.
    known.sort_keys();
    document.extend(known);
    annotated(&Value::Object(document), &json!(annotations))
}
