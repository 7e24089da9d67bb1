//! Normalised events: what an agent's output means, whichever CLI wrote it.
//!
//! One wire form, `{"kind": …}`. What no adapter understands is kept as it came. Nothing here is a fact about the work:
//! an agent's output is what it says of itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Class;

/// What one line of an agent's output means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The agent is up.
    SessionStarted {
        /// The CLI's own name for the session.
        session: Option<String>,
        /// The model that answers, where the CLI tells it.
        model: Option<String>,
        /// The version of the CLI, where it tells it.
        version: Option<String>,
    },
    /// Something the model wrote.
    Text {
        /// The text, or a piece of it.
        text: String,
        /// Whether more of the same text may follow.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        delta: bool,
        /// Whether an agent wrote it that this one started as a tool.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        subagent: bool,
    },
    /// Something the model thought.
    Thinking {
        /// The text.
        text: String,
    },
    /// The model uses a tool.
    ToolCall {
        /// Which call it is; its result has the same id.
        id: String,
        /// The tool.
        name: String,
        /// What the tool gets.
        input: Value,
    },
    /// A tool has answered.
    ToolResult {
        /// Which call it answers.
        id: String,
        /// Whether the CLI calls it a success.
        ok: bool,
        /// The exit code of a command, where the CLI tells it.
        exit_code: Option<i32>,
        /// What the tool said.
        output: String,
    },
    /// The agent says that it changed a file; git knows whether it did.
    FileChange {
        /// The path, as the CLI wrote it.
        path: String,
        /// What it did: `add`, `update` or `delete`.
        change: String,
    },
    /// The agent asked for a tool and did not get it.
    PermissionDenied {
        /// The tool.
        tool: String,
        /// Which call it was, where the CLI tells it.
        id: Option<String>,
        /// What the CLI said.
        text: String,
    },
    /// Tokens and money since the last such event: adding all of a run up gives its total.
    Usage(Usage),
    /// The CLI tries a request again.
    Retry {
        /// Which attempt failed, from 1.
        attempt: Option<u64>,
        /// How many the CLI makes at most.
        most: Option<u64>,
        /// How long it waits.
        delay_ms: Option<u64>,
        /// What the server answered; nothing if it did not answer.
        status: Option<u16>,
        /// Why, in our words.
        class: Class,
        /// What the CLI said.
        text: String,
    },
    /// How much of a usage window is left.
    Limit {
        /// `allowed`, `warning` or `rejected`.
        status: String,
        /// Which window, in the CLI's words.
        window: Option<String>,
        /// How much of it is used, from 0 to 1.
        used: Option<f64>,
        /// When it starts anew, in seconds since 1970.
        resets_at: Option<i64>,
    },
    /// Something that a person should hear of; the run goes on.
    Warning {
        /// What the CLI said.
        text: String,
    },
    /// Something that can end the run.
    Error {
        /// Why, in our words.
        class: Class,
        /// What the server answered, where the CLI tells it.
        status: Option<u16>,
        /// What the CLI said.
        text: String,
    },
    /// The CLI says that it is done. How the run ended is decided by this and the exit code together.
    Finished {
        /// Whether the CLI calls it a success.
        ok: bool,
        /// Why it ended, in the CLI's words.
        reason: Option<String>,
        /// The last text, where the CLI repeats it.
        text: Option<String>,
    },
    /// A line of no known form, as it came.
    Unknown {
        /// The line.
        raw: String,
    },
}

impl AgentEvent {
    /// Returns the word that the wire form has.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session_started",
            Self::Text { .. } => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::FileChange { .. } => "file_change",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::Usage(_) => "usage",
            Self::Retry { .. } => "retry",
            Self::Limit { .. } => "limit",
            Self::Warning { .. } => "warning",
            Self::Error { .. } => "error",
            Self::Finished { .. } => "finished",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// Tokens and money, as the CLI counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens that went in. Whether cached ones are among them depends on the CLI.
    pub input_tokens: u64,
    /// Tokens that came out.
    pub output_tokens: u64,
    /// Tokens that the provider's cache answered.
    pub cached_tokens: u64,
    /// An estimate of the CLI; nothing where it makes none.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Returns what this total has more than one before it.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            cost_usd: self
                .cost_usd
                .map(|cost| (cost - before.cost_usd.unwrap_or(0.0)).max(0.0)),
        }
    }

    /// Adds another one.
    pub fn add(&mut self, more: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        if let Some(cost) = more.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// Tells whether there is nothing to count.
    pub fn is_nothing(&self) -> bool {
        self.input_tokens == 0
            && self.output_tokens == 0
            && self.cached_tokens == 0
            && self.cost_usd.is_none_or(|cost| cost == 0.0)
    }
}
