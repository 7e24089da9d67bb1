//! Lines of Gemini CLI as events, and when a run of it succeeded.
//!
//! Its exit code is the status of the server's answer in one byte. A shell command that fails is a success of its tool,
//! without an exit code. A loop that was detected is only a warning of the CLI, but not a success here.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::Reader;
use super::super::classify;
use super::super::line::{Look, Recent, object, unknown};
use crate::{AgentEvent, Class, Ending, Usage, Verdict};

/// The tools that a permission takes away; the CLI does not know them then.
const GATED: &[&str] = &[
    "run_shell_command",
    "write_file",
    "replace",
    "edit",
    "web_fetch",
    "save_memory",
];

/// The tools that write one file.
const WRITES: &[&str] = &["write_file", "replace", "edit"];

/// What is kept of the lines so far.
#[derive(Debug, Default)]
pub(super) struct GeminiReader {
    total: Usage,
    /// The tools of the calls that were met last, and the files that they are to write, by id.
    calls: Recent<(String, Option<String>)>,
    denied: bool,
    /// Whether the CLI warned of something that is not a success.
    stopped: bool,
    error: Option<String>,
    finals: u64,
    last: Option<Final>,
}

/// What the final line says.
#[derive(Debug)]
struct Final {
    ok: bool,
    text: Option<String>,
    /// When it was written, in seconds since 1970.
    at: Option<i64>,
}

impl Reader for GeminiReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let fields = match object(line) {
            Ok(fields) => fields,
            Err(events) => return events,
        };
        match fields.text("type").unwrap_or_default() {
            "init" => vec![AgentEvent::SessionStarted {
                session: fields.text("session_id").map(str::to_owned),
                model: fields.text("model").map(str::to_owned),
                version: None,
            }],
            // The prompt comes back as the first message.
            "message" if fields.text("role") == Some("user") => Vec::new(),
            "message" => vec![AgentEvent::Text {
                text: fields.string("content"),
                delta: fields.at("delta").as_bool() == Some(true),
                subagent: false,
            }],
            "tool_use" => vec![self.call(&fields)],
            "tool_result" => self.tool_result(&fields),
            "error" => vec![self.error(&fields)],
            "result" => self.result(&fields),
            _ => unknown(line),
        }
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        let status = ending.exit_code.and_then(status_of_exit);
        let Some(last) = &self.last else {
            return self.without_final(ending, status);
        };
        if !last.ok {
            return failure(last.text.as_deref(), status, last.at);
        }
        if let Some(text) = &self.error {
            return failure(Some(text), status, last.at);
        }
        if self.denied {
            return Verdict::failure(Class::Denied);
        }
        if self.stopped || self.finals != 1 || !ending.is_clean() {
            return Verdict::failure(Class::Unknown);
        }
        Verdict::success()
    }
}

fn failure(text: Option<&str>, status: Option<u16>, at: Option<i64>) -> Verdict {
    let Some(text) = text else {
        // A broken stream ends with a final line that has no error.
        return Verdict::failure(status.map_or(Class::Network, Class::of_status));
    };
    Verdict::failure(class(text, status, at)).until(classify::resets_at(text, at))
}

fn class(text: &str, status: Option<u16>, at: Option<i64>) -> Class {
    let class = classify::class(text, status);
    classify::with_wait(class, classify::resets_at(text, at), at)
}

/// Returns the status that became an exit code, which has one byte.
fn status_of_exit(code: i32) -> Option<u16> {
    match code {
        17 => Some(529),
        144..=255 => u16::try_from(code + 256).ok(),
        _ => None,
    }
}

impl GeminiReader {
    fn without_final(&self, ending: &Ending, status: Option<u16>) -> Verdict {
        let class = match ending.exit_code {
            Some(41) => Class::Auth,
            Some(42) => Class::Request,
            Some(44 | 52 | 55) => Class::Environment,
            Some(53) => Class::Turns,
            Some(130) => Class::Cancelled,
            _ => match (status, &self.error) {
                (Some(status), _) => Class::of_status(status),
                (None, Some(text)) => return failure(Some(text), None, None),
                (None, None) => return classify::incomplete(ending),
            },
        };
        Verdict::failure(class)
    }

    fn call(&mut self, fields: &Map<String, Value>) -> AgentEvent {
        let (id, name) = (fields.string("tool_id"), fields.string("tool_name"));
        let file = fields.at("parameters").text("file_path");
        let file = file.filter(|_| WRITES.contains(&name.as_str()));
        self.calls
            .insert(&id, (name.clone(), file.map(str::to_owned)));
        AgentEvent::ToolCall {
            id,
            name,
            input: fields.at("parameters").clone(),
        }
    }

    fn tool_result(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        let id = fields.string("tool_id");
        let error = fields.at("error");
        let said = fields.text("output").or_else(|| error.text("message"));
        let output = said.unwrap_or_default().to_owned();
        let ok = fields.text("status") == Some("success");
        let (tool, file) = self.calls.remove(&id).unwrap_or_default();
        let mut events = vec![AgentEvent::ToolResult {
            id: id.clone(),
            ok,
            exit_code: None,
            output: output.clone(),
        }];
        events.extend(file.filter(|_| ok).map(|path| AgentEvent::FileChange {
            path,
            // Whether the file was there before is not told.
            change: "update".to_owned(),
        }));
        let gone = error.text("type") == Some("tool_not_registered");
        if gone && GATED.contains(&tool.as_str()) || denied(error) {
            self.denied = true;
            events.push(AgentEvent::PermissionDenied {
                tool,
                id: Some(id),
                text: output,
            });
        }
        events
    }

    fn error(&mut self, fields: &Map<String, Value>) -> AgentEvent {
        let text = fields.string("message");
        if fields.text("severity") == Some("warning") {
            let lower = text.to_lowercase();
            self.stopped |= ["loop detected", "execution stopped", "execution blocked"]
                .iter()
                .any(|stop| lower.contains(stop));
            return AgentEvent::Warning { text };
        }
        self.error = Some(text.clone());
        AgentEvent::Error {
            class: classify::class(&text, None),
            status: classify::status_in(&text),
            text,
        }
    }

    fn result(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        let stats = fields.at("stats");
        let total = Usage {
            input_tokens: stats.count("input_tokens").unwrap_or(0),
            output_tokens: stats.count("output_tokens").unwrap_or(0),
            cached_tokens: stats.count("cached").unwrap_or(0),
            cost_usd: None,
        };
        let more = total.since(&self.total);
        self.total.add(&more);
        let mut events = Vec::new();
        if !more.is_nothing() {
            events.push(AgentEvent::Usage(more));
        }
        let ok = fields.text("status") == Some("success");
        let text = fields.at("error").text("message").map(str::to_owned);
        let at = fields.text("timestamp").map(str::parse::<Timestamp>);
        let at = at.and_then(Result::ok).map(Timestamp::as_second);
        if let (false, Some(text)) = (ok, &text) {
            events.push(AgentEvent::Error {
                class: class(text, None, at),
                status: classify::status_in(text),
                text: text.clone(),
            });
        }
        events.push(AgentEvent::Finished {
            ok,
            reason: fields.text("status").map(str::to_owned),
            text: None,
        });
        self.finals += 1;
        self.last = Some(Final { ok, text, at });
        events
    }
}

/// Tells whether a tool failed because a policy or a person did not allow it.
fn denied(error: &Value) -> bool {
    let text_of_error =
        format!("{} {}", error.string("type"), error.string("message")).to_lowercase();
    ["denied by policy", "policy_violation", "user denied"]
        .iter()
        .any(|text| text_of_error.contains(text))
}
