//! Lines of Codex as events, and when a run of it succeeded.
//!
//! A changed file is the call and the result of a tool, and a `file_change` for each path. An `error` line is not the end:
//! one that says `Reconnecting...` is a retry, and one inside of an item is a warning. No code is told, so text decides.

use serde_json::{Map, Value, json};

use super::super::Reader;
use super::super::classify;
use super::super::line::{Look, Recent, joined, object, unknown};
use crate::{AgentEvent, Class, Ending, Usage, Verdict};

/// What reads the output of Codex.
#[derive(Debug, Default)]
pub struct CodexReader {
    /// The usage of the thread so far, which is what the CLI tells.
    total: Usage,
    /// The items whose call was told.
    calls: Recent<()>,
    lines: u64,
    denied: bool,
    error: Option<String>,
    failed: Option<String>,
    completed: bool,
}

impl CodexReader {
    /// Makes the reader of a thread that goes on: `total` is what it had used before.
    pub fn resuming(total: Usage) -> Self {
        Self {
            total,
            ..Self::default()
        }
    }
}

impl Reader for CodexReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let fields = match object(line) {
            Ok(fields) => fields,
            Err(events) => return events,
        };
        self.lines += 1;
        match fields.text("type").unwrap_or_default() {
            "thread.started" => vec![AgentEvent::SessionStarted {
                session: fields.text("thread_id").map(str::to_owned),
                model: None,
                version: None,
            }],
            "turn.started" => {
                self.completed = false;
                Vec::new()
            }
            kind @ ("item.started" | "item.updated" | "item.completed") => {
                self.item(kind, fields.at("item"), line)
            }
            "error" => vec![self.error(&fields.string("message"))],
            "turn.completed" => self.completed(fields.at("usage")),
            "turn.failed" => self.failed(&fields),
            _ => unknown(line),
        }
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        if let Some(text) = &self.failed {
            return failure(text);
        }
        if !self.completed {
            return match &self.error {
                Some(text) if classify::class(text, None) != Class::Unknown => failure(text),
                // Arguments that it does not take are told on stderr alone.
                _ if self.lines == 0 && ending.exit_code == Some(2) => {
                    Verdict::failure(Class::Environment)
                }
                _ => classify::incomplete(ending),
            };
        }
        if self.denied || refused_on_stderr(&ending.stderr) {
            return Verdict::failure(Class::Denied);
        }
        if !ending.is_clean() {
            return Verdict::failure(Class::Unknown);
        }
        Verdict::success()
    }
}

fn failure(text: &str) -> Verdict {
    Verdict::failure(classify::class(text, None)).until(classify::resets_at(text, None))
}

/// Tells whether a patch was refused by the sandbox, of which there is no line on stdout.
fn refused_on_stderr(stderr: &str) -> bool {
    stderr.contains("rejected by user approval settings")
        || stderr.contains("blocked by read-only sandbox")
}

impl CodexReader {
    fn item(&mut self, kind: &str, item: &Value, line: &str) -> Vec<AgentEvent> {
        let done = kind == "item.completed";
        let text = || item.string("text");
        match item.text("type").unwrap_or_default() {
            "agent_message" if done => vec![AgentEvent::Text {
                text: text(),
                delta: false,
                subagent: false,
            }],
            "reasoning" if done => vec![AgentEvent::Thinking { text: text() }],
            "error" if done => vec![AgentEvent::Warning {
                text: item.string("message"),
            }],
            "agent_message" | "reasoning" | "error" | "todo_list" => Vec::new(),
            "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call"
            | "web_search" => self.tool(done, item),
            _ => unknown(line),
        }
    }

    fn tool(&mut self, done: bool, item: &Value) -> Vec<AgentEvent> {
        let id = item.string("id");
        let mut events = Vec::new();
        if self.calls.get(&id).is_none() {
            self.calls.insert(&id, ());
            events.push(call(&id, item));
        }
        if !done {
            return events;
        }
        self.calls.remove(&id);
        let status = item.text("status").unwrap_or("completed");
        let ok = status == "completed";
        let exit_code = item.at("exit_code").as_i64();
        events.push(AgentEvent::ToolResult {
            id: id.clone(),
            ok,
            exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
            output: output(item),
        });
        if status == "declined" {
            self.denied = true;
            events.push(AgentEvent::PermissionDenied {
                tool: item.string("type"),
                id: Some(id),
                text: "the permissions of the run do not allow it".to_owned(),
            });
        }
        if ok {
            events.extend(item.items("changes").iter().map(change));
        }
        events
    }

    fn error(&mut self, text: &str) -> AgentEvent {
        let class = classify::class(text, None);
        let status = classify::status_in(text);
        if let Some(rest) = text.strip_prefix("Reconnecting") {
            let counts = rest.trim_start_matches('.').trim_start();
            let counts = counts.split_whitespace().next().unwrap_or_default();
            let (attempt, most) = counts.split_once('/').unwrap_or_default();
            return AgentEvent::Retry {
                attempt: attempt.parse().ok(),
                most: most.parse().ok(),
                delay_ms: None,
                status,
                class,
                text: text.to_owned(),
            };
        }
        self.error = Some(text.to_owned());
        AgentEvent::Error {
            class,
            status,
            text: text.to_owned(),
        }
    }

    fn completed(&mut self, usage: &Value) -> Vec<AgentEvent> {
        self.completed = true;
        let total = Usage {
            input_tokens: usage.count("input_tokens").unwrap_or(0),
            output_tokens: usage.count("output_tokens").unwrap_or(0),
            cached_tokens: usage.count("cached_input_tokens").unwrap_or(0),
            cost_usd: None,
        };
        let more = total.since(&self.total);
        self.total.add(&more);
        let usage = (!more.is_nothing()).then_some(AgentEvent::Usage(more));
        let finished = AgentEvent::Finished {
            ok: true,
            reason: Some("turn.completed".to_owned()),
            text: None,
        };
        usage.into_iter().chain([finished]).collect()
    }

    fn failed(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        let text = fields.at("error").string("message");
        let mut events = Vec::new();
        // The error stands in a line of its own before, as a rule.
        if self.error.as_ref() != Some(&text) {
            events.push(self.error(&text));
        }
        events.push(AgentEvent::Finished {
            ok: false,
            reason: Some("turn.failed".to_owned()),
            text: None,
        });
        self.failed = Some(text);
        events
    }
}

fn call(id: &str, item: &Value) -> AgentEvent {
    let kind = item.string("type");
    let (name, input) = match kind.as_str() {
        "command_execution" => (kind, json!({"command": item.at("command")})),
        "file_change" => (kind, json!({"changes": item.at("changes")})),
        "mcp_tool_call" => {
            let name = format!("{}.{}", item.string("server"), item.string("tool"));
            (name, item.at("arguments").clone())
        }
        "web_search" => (kind, json!({"query": item.at("query")})),
        _ => (item.string("tool"), json!({"prompt": item.at("prompt")})),
    };
    AgentEvent::ToolCall {
        id: id.to_owned(),
        name,
        input,
    }
}

/// Returns what a tool said: a command its output, an MCP tool its result or its error.
fn output(item: &Value) -> String {
    let error = item.at("error").string("message");
    let result = joined(item.at("result").at("content"));
    let said = [item.string("aggregated_output"), error, result];
    said.into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

fn change(change: &Value) -> AgentEvent {
    AgentEvent::FileChange {
        path: change.string("path"),
        change: change.string("kind"),
    }
}
