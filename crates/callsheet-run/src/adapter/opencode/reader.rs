//! Lines of opencode as events, and when a run of it succeeded.
//!
//! There is no first and no last line: a session starts with its first step, and is done when a step ends with `stop`. A
//! tool is told when it is done, call and result in one line. A denied tool ends the run with exit code 0.

use jiff::fmt::rfc2822;
use serde_json::{Map, Value};

use super::super::Reader;
use super::super::classify;
use super::super::line::{Look, object, unknown};
use crate::{AgentEvent, Class, Ending, Usage, Verdict};

/// What is kept of the lines so far.
#[derive(Debug, Default)]
pub(super) struct OpencodeReader {
    started: bool,
    denied: bool,
    /// The last error: its class, and when it is worth to try again.
    error: Option<(Class, Option<i64>)>,
    /// Why the last step ended; nothing while one is open.
    ended: Option<String>,
}

impl Reader for OpencodeReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let fields = match object(line) {
            Ok(fields) => fields,
            Err(events) => return events,
        };
        let part = fields.at("part");
        match fields.text("type").unwrap_or_default() {
            "step_start" => self.step_start(&fields),
            "text" => vec![AgentEvent::Text {
                text: part.string("text"),
                delta: false,
                subagent: false,
            }],
            "reasoning" => vec![AgentEvent::Thinking {
                text: part.string("text"),
            }],
            "tool_use" => self.tool(part),
            "step_finish" => self.step_finish(part),
            "error" => vec![self.error(&fields)],
            _ => unknown(line),
        }
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        if let Some((class, resets_at)) = self.error {
            return Verdict::failure(class).until(resets_at);
        }
        let is_exit = ending.signal.is_none();
        match self.ended.as_deref() {
            _ if self.denied && is_exit => Verdict::failure(Class::Denied),
            Some("stop") if ending.is_clean() => Verdict::success(),
            Some("stop") => Verdict::failure(Class::Unknown),
            // More was to come.
            Some("tool-calls") | None => classify::incomplete(ending),
            Some("length") if is_exit => Verdict::failure(Class::Request),
            Some(_) => Verdict::failure(Class::Unknown),
        }
    }
}

impl OpencodeReader {
    fn step_start(&mut self, fields: &Map<String, Value>) -> Vec<AgentEvent> {
        self.ended = None;
        if std::mem::replace(&mut self.started, true) {
            return Vec::new();
        }
        vec![AgentEvent::SessionStarted {
            session: fields.text("sessionID").map(str::to_owned),
            model: None,
            version: None,
        }]
    }

    fn tool(&mut self, part: &Value) -> Vec<AgentEvent> {
        let (id, name) = (part.string("callID"), part.string("tool"));
        let state = part.at("state");
        let metadata = state.at("metadata");
        // The tool `invalid` answers in the place of one that there is not.
        let ok = state.text("status") == Some("completed") && name != "invalid";
        let said = state.text("output").or_else(|| state.text("error"));
        let output = said.unwrap_or_default().to_owned();
        let exit_code = metadata.at("exit").as_i64();
        let mut events = vec![
            AgentEvent::ToolCall {
                id: id.clone(),
                name: name.clone(),
                input: state.at("input").clone(),
            },
            AgentEvent::ToolResult {
                id: id.clone(),
                ok,
                exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
                output,
            },
        ];
        let error = state.text("error").unwrap_or_default();
        if denied(error) {
            self.denied = true;
            events.push(AgentEvent::PermissionDenied {
                tool: name,
                id: Some(id),
                text: error.to_owned(),
            });
        } else if let (true, "write", Some(path)) = (ok, name.as_str(), metadata.text("filepath")) {
            let existed = metadata.at("exists").as_bool() == Some(true);
            events.push(AgentEvent::FileChange {
                path: path.to_owned(),
                change: if existed { "update" } else { "add" }.to_owned(),
            });
        } else if let (true, "edit", Some(path)) =
            (ok, name.as_str(), state.at("input").text("filePath"))
        {
            events.push(AgentEvent::FileChange {
                path: path.to_owned(),
                change: "update".to_owned(),
            });
        }
        events
    }

    fn step_finish(&mut self, part: &Value) -> Vec<AgentEvent> {
        let tokens = part.at("tokens");
        let count = |name| tokens.count(name).unwrap_or(0);
        let used = Usage {
            input_tokens: count("input"),
            output_tokens: count("output").saturating_add(count("reasoning")),
            cached_tokens: tokens.at("cache").count("read").unwrap_or(0),
            cost_usd: part.at("cost").as_f64(),
        };
        let mut events = Vec::new();
        if !used.is_nothing() {
            events.push(AgentEvent::Usage(used));
        }
        let reason = part.string("reason");
        if reason != "tool-calls" {
            events.push(AgentEvent::Finished {
                ok: reason == "stop",
                reason: Some(reason.clone()),
                text: None,
            });
        }
        self.ended = Some(reason);
        events
    }

    fn error(&mut self, fields: &Map<String, Value>) -> AgentEvent {
        let error = fields.at("error");
        let details = error.at("data");
        let text = details.text("message").or_else(|| error.text("name"));
        let text = text.unwrap_or_default().to_owned();
        let status = details.status("statusCode");
        let now = fields
            .count("timestamp")
            .and_then(|ms| i64::try_from(ms / 1000).ok());
        let resets_at = retry_at(details.at("responseHeaders"), now);
        let class = match error.text("name").unwrap_or_default() {
            "ContextOverflowError" => Class::Context,
            "ProviderAuthError" => Class::Auth,
            "MessageAbortedError" => Class::Cancelled,
            "MessageOutputLengthError" => Class::Request,
            // "Unexpected server error" is what it says of anything.
            "UnknownError" if status.is_none() => match classify::class(&text, None) {
                Class::Overload => Class::Unknown,
                class => class,
            },
            _ => {
                let body = details.text("responseBody").unwrap_or_default();
                classify::class(&format!("{text}\n{body}"), status)
            }
        };
        let class = match status {
            Some(429) => classify::with_wait(class, resets_at, now),
            _ => class,
        };
        self.error = Some((class, resets_at));
        AgentEvent::Error {
            class,
            status,
            text,
        }
    }
}

/// Returns when the server wants to be asked again; all times are in seconds since 1970.
fn retry_at(headers: &Value, now: Option<i64>) -> Option<i64> {
    let now = now?;
    let wait = |name: &str, unit: f64| {
        let seconds: f64 = headers.text(name)?.trim().parse().ok()?;
        now.checked_add(classify::whole(seconds * unit)?)
    };
    let date = || {
        let date = rfc2822::DateTimeParser::new();
        let date = date.parse_timestamp(headers.text("retry-after")?).ok()?;
        Some(date.as_second())
    };
    wait("retry-after", 1.0)
        .or_else(|| wait("retry-after-ms", 0.001))
        .or_else(date)
}

/// Tells whether a tool failed because nobody was there to allow it, or a rule did not.
fn denied(error: &str) -> bool {
    let error = error.to_lowercase();
    [
        "rejected permission",
        "rule which prevents you",
        "permission denied by rule",
    ]
    .iter()
    .any(|text| error.contains(text))
}
