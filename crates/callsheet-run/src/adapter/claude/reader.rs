//! Lines of Claude Code as events.
//!
//! Partial messages (`stream_event`) give no events: the same text follows whole. Usage is told per message while the run
//! goes on, with the output that a message starts with; the final line brings what is missing to its total.

use serde_json::{Map, Value};

use super::super::Reader;
use super::super::classify;
use super::super::line::{Look, Recent, joined, object, unknown};
use super::verdict::{self, Final};
use crate::{AgentEvent, Class, Ending, Usage, Verdict};

/// What is kept of the lines so far.
#[derive(Debug, Default)]
pub(super) struct ClaudeReader {
    /// The usage of the messages that were met last, by id.
    messages: Recent<Usage>,
    /// All usage that was told.
    counted: Usage,
    /// The calls that were denied last, so that none is told twice.
    denials: Recent<()>,
    pub(super) denied: bool,
    /// The usage window that is used up; a later answer of the model takes it back.
    pub(super) rejected: Option<Rejected>,
    /// The last error that the CLI wrote in the place of an answer.
    pub(super) error: Option<(Class, Option<u16>)>,
    pub(super) interrupted: bool,
    pub(super) finals: u64,
    pub(super) last: Option<Final>,
    /// Whether the conversation went on after the final line.
    pub(super) went_on: bool,
}

/// A usage window that is used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rejected {
    /// When it starts anew, in seconds since 1970.
    pub(super) resets_at: Option<i64>,
}

impl Reader for ClaudeReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let fields = match object(line) {
            Ok(fields) => fields,
            Err(events) => return events,
        };
        match fields.text("type").unwrap_or_default() {
            "system" => self.system(&fields, line),
            "assistant" if fields.at("message").at("content").is_array() => self.assistant(&fields),
            "user" => self.user(&fields),
            "rate_limit_event" => self.limit(fields.at("rate_limit_info")),
            "result" => self.result(&fields),
            "stream_event"
            | "tool_progress"
            | "tool_use_summary"
            | "auth_status"
            | "conversation_reset"
            | "prompt_suggestion"
            | "keep_alive"
            | "control_request"
            | "control_response"
            | "control_cancel_request" => Vec::new(),
            _ => unknown(line),
        }
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        verdict::verdict(self, ending)
    }

    /// It reads a file by positions of its own.
    fn moves_input(&self) -> bool {
        false
    }
}

impl ClaudeReader {
    fn system(&mut self, fields: &Map<String, Value>, line: &str) -> Vec<AgentEvent> {
        let warning = |text: String| vec![AgentEvent::Warning { text }];
        match fields.text("subtype").unwrap_or_default() {
            "init" => {
                self.went_on |= self.finals > 0;
                vec![AgentEvent::SessionStarted {
                    session: fields.text("session_id").map(str::to_owned),
                    model: fields.text("model").map(str::to_owned),
                    version: fields.text("claude_code_version").map(str::to_owned),
                }]
            }
            "api_retry" => vec![retry(fields)],
            "permission_denied" => self.deny(fields, &fields.string("message")),
            "session_writes_lost" => warning("the CLI could not write its session".to_owned()),
            "model_refusal_fallback" => {
                warning("the model refused, and another one answers".to_owned())
            }
            "worker_shutting_down" => warning("the CLI is shutting down".to_owned()),
            "status"
            | "thinking_tokens"
            | "ui_invalidate"
            | "compact_boundary"
            | "hook_started"
            | "hook_progress"
            | "hook_response"
            | "task_started"
            | "task_progress"
            | "task_updated"
            | "task_notification"
            | "session_state_changed"
            | "notification"
            | "informational"
            | "files_persisted"
            | "plugin_install"
            | "memory_recall"
            | "commands_changed"
            | "background_tasks_changed"
            | "local_command_output"
            | "elicitation_complete" => Vec::new(),
            _ => unknown(line),
        }
    }

    fn assistant(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        let message = fields.at("message");
        self.went_on |= self.finals > 0;
        let synthetic = message.text("model") == Some("<synthetic>");
        if synthetic || fields.text("error").is_some() {
            return vec![self.error(fields, &joined(message.at("content")))];
        }
        self.rejected = None;
        self.error = None;
        let mut events: Vec<AgentEvent> = message.items("content").iter().map(block).collect();
        if fields.text("parent_tool_use_id").is_none() {
            events.extend(self.message_usage(message));
        } else {
            // A sub-agent's tokens are not part of the final total, and its words are not the agent's own.
            for event in &mut events {
                if let AgentEvent::Text { subagent, .. } = event {
                    *subagent = true;
                }
            }
        }
        events
    }

    /// Returns the error that the CLI wrote as if the model had said it.
    fn error(&mut self, fields: &Map<String, Value>, text: &str) -> AgentEvent {
        let text = text.to_owned();
        let Some(name) = fields.text("error") else {
            return AgentEvent::Warning { text };
        };
        let status = fields.status("api_error_status");
        let by_text = classify::class(&text, None);
        let class = match (by_text, named(name)) {
            // The names do not tell these apart from others.
            (Class::Context | Class::Quota, _) => by_text,
            (Class::Network, _) if status.is_none() => by_text,
            (_, Some(class)) => class,
            (_, None) => classify::class(&text, status),
        };
        self.error = Some((class, status));
        AgentEvent::Error {
            class,
            status,
            text,
        }
    }

    /// Returns what a message used beyond what was told of it; each of its blocks repeats it.
    fn message_usage(&mut self, message: &Value) -> Option<AgentEvent> {
        let id = message.text("id")?;
        let used = tokens(message.at("usage"));
        let before = self.messages.insert(id, used).unwrap_or_default();
        self.count(used.since(&before))
    }

    fn count(&mut self, more: Usage) -> Option<AgentEvent> {
        self.counted.add(&more);
        (!more.is_nothing()).then_some(AgentEvent::Usage(more))
    }

    fn user(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        self.went_on |= self.finals > 0;
        let mut events = Vec::new();
        let content = fields.at("message").at("content");
        for block in content.as_array().map_or(&[][..], Vec::as_slice) {
            match block.text("type").unwrap_or_default() {
                "tool_result" => events.push(tool_result(block)),
                // Each line with a text is the CLI's own: an interruption, a reminder.
                "text" => {
                    let text = block.text("text").unwrap_or_default();
                    self.interrupted |= text.starts_with("[Request interrupted by user");
                }
                _ => {}
            }
        }
        let result = fields.at("tool_use_result");
        if let (Some(path), true) = (
            result.text("filePath"),
            result.at("structuredPatch").is_array(),
        ) {
            let created = result.text("type") == Some("create");
            events.push(AgentEvent::FileChange {
                path: path.to_owned(),
                change: if created { "add" } else { "update" }.to_owned(),
            });
        }
        events
    }

    fn limit(&mut self, limit: &Value) -> Vec<AgentEvent> {
        let status = match limit.text("status").unwrap_or_default() {
            "allowed_warning" => "warning",
            status => status,
        };
        let resets_at = limit.at("resetsAt").as_i64();
        self.rejected = (status == "rejected").then_some(Rejected { resets_at });
        vec![AgentEvent::Limit {
            status: status.to_owned(),
            window: limit.text("rateLimitType").map(str::to_owned),
            used: limit.at("utilization").as_f64(),
            resets_at,
        }]
    }

    fn result(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for denial in fields.items("permission_denials") {
            events.extend(self.deny(denial, "the permissions of the run do not allow it"));
        }
        let mut total = tokens(fields.at("usage"));
        total.cost_usd = fields.at("total_cost_usd").as_f64();
        events.extend(self.count(total.since(&self.counted)));
        let last = Final::read(fields);
        events.push(AgentEvent::Finished {
            ok: last.ok,
            reason: last.reason.clone(),
            text: fields.text("result").map(str::to_owned),
        });
        self.finals += 1;
        self.went_on = false;
        self.last = Some(last);
        events
    }

    /// Tells a denial, once per call.
    fn deny(&mut self, denial: &impl Look, text: &str) -> Vec<AgentEvent> {
        self.denied = true;
        let id = denial.text("tool_use_id");
        if id.is_some_and(|id| self.denials.insert(id, ()).is_some()) {
            return Vec::new();
        }
        vec![AgentEvent::PermissionDenied {
            tool: denial.string("tool_name"),
            id: id.map(str::to_owned),
            text: text.to_owned(),
        }]
    }
}

fn block(block: &Value) -> AgentEvent {
    match block.text("type").unwrap_or_default() {
        "text" => AgentEvent::Text {
            text: block.string("text"),
            delta: false,
            subagent: false,
        },
        "thinking" => AgentEvent::Thinking {
            text: block.string("thinking"),
        },
        "redacted_thinking" => AgentEvent::Thinking {
            text: String::new(),
        },
        "tool_use" | "server_tool_use" | "mcp_tool_use" => AgentEvent::ToolCall {
            id: block.string("id"),
            name: block.string("name"),
            input: block.at("input").clone(),
        },
        kind if kind.ends_with("tool_result") => tool_result(block),
        _ => AgentEvent::Unknown {
            raw: block.to_string(),
        },
    }
}

fn tool_result(block: &Value) -> AgentEvent {
    let ok = block.at("is_error").as_bool() != Some(true);
    let output = joined(block.at("content"));
    AgentEvent::ToolResult {
        id: block.string("tool_use_id"),
        ok,
        // The CLI tells it in prose, and only where it is not 0.
        exit_code: (!ok).then(|| exit_code(&output)).flatten(),
        output,
    }
}

fn exit_code(output: &str) -> Option<i32> {
    let first = output.lines().next()?;
    first.strip_prefix("Exit code ")?.trim().parse().ok()
}

fn retry(fields: &Map<String, Value>) -> AgentEvent {
    let status = fields.status("error_status");
    let name = fields.string("error");
    let class = match (named(&name), status) {
        (Some(class), _) => class,
        (None, Some(status)) => Class::of_status(status),
        (None, None) => Class::Network,
    };
    AgentEvent::Retry {
        attempt: fields.count("attempt"),
        most: fields.count("max_retries"),
        delay_ms: fields.count("retry_delay_ms"),
        status,
        class,
        text: name,
    }
}

/// Returns the class of an error that the CLI names.
fn named(error: &str) -> Option<Class> {
    Some(match error {
        "authentication_failed" | "cloud_credential_error" | "account_on_hold" => Class::Auth,
        "billing_error" => Class::Quota,
        "rate_limit" | "overloaded" | "server_error" => Class::Overload,
        "invalid_request" | "model_not_found" | "max_output_tokens" => Class::Request,
        _ => return None,
    })
}

fn tokens(usage: &Value) -> Usage {
    Usage {
        input_tokens: usage.count("input_tokens").unwrap_or(0),
        output_tokens: usage.count("output_tokens").unwrap_or(0),
        cached_tokens: usage.count("cache_read_input_tokens").unwrap_or(0),
        cost_usd: None,
    }
}
