//! Ingest: output of an agent becomes records of the log and events beside them.
//!
//! A record has the exact bytes. An event has what they mean, with long texts cut: the record beside it has them whole.

use std::borrow::Cow;

use callsheet::Event;
use callsheet::sprint::LogLine;
use callsheet_store::{Record, Stream};
use serde_json::{Map, Value, json};

use super::start::now;
use crate::{AgentEvent, Reader, Usage};

/// The longest text in an event.
const LONGEST: usize = 2000;

/// The longest value with structure in an event.
const LARGEST: usize = 8000;

/// How much of the end of stderr the verdict looks at.
const STDERR_TAIL: usize = 16 << 10;

/// What was read of a run so far.
pub(super) struct Ingest {
    reader: Box<dyn Reader>,
    /// Whether lines of tools can be log lines, as those of a phase of a sprint can.
    logs: bool,
    seen: Seen,
    stderr: Vec<u8>,
}

/// What the events of a run add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Tokens and money.
    pub usage: Option<Usage>,
    /// The tool that was called last.
    pub last_tool: Option<String>,
    /// How many tools were called.
    pub tool_calls: u64,
    /// How many lines no adapter understood.
    pub unknown: u64,
    /// Whether the CLI said that it is done.
    pub finished: bool,
    /// The model that answers.
    pub model: Option<String>,
    /// The CLI's own name for the session.
    pub session: Option<String>,
    /// The version of the CLI, where it tells it.
    pub version: Option<String>,
    /// What the CLI said last that was wrong.
    pub error: Option<String>,
}

/// Records with the events that they mean; an event comes with the number of its record among them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    pub(super) events: Vec<(Option<usize>, Event)>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.events.is_empty()
    }

    /// Returns how many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.data.len()).sum()
    }
}

impl Ingest {
    pub(super) fn new(reader: Box<dyn Reader>, logs: bool) -> Self {
        Self {
            reader,
            logs,
            seen: Seen::default(),
            stderr: Vec::new(),
        }
    }

    /// Returns what the events add up to.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns what the lines and the end of the process mean together.
    pub(super) fn verdict(&self, exit_code: Option<i32>, signal: Option<i32>) -> crate::Verdict {
        self.reader.verdict(&crate::Ending {
            exit_code,
            signal,
            stderr: String::from_utf8_lossy(&self.stderr).into_owned(),
        })
    }

    /// Returns how much of its standard input the process took, by the position that it left; nothing where that does not tell.
    pub(super) fn took(&self, position: Option<u64>) -> Option<u64> {
        position.filter(|position| *position > 0 || self.reader.moves_input())
    }

    /// Returns the end of stderr.
    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Takes whole lines of the standard output.
    pub(super) fn stdout(&mut self, bytes: Vec<u8>, batch: &mut Batch) {
        let record = batch.records.len();
        let mut pending: Option<AgentEvent> = None;
        let mut unknown = 0;
        for line in lines(&bytes) {
            for event in self.reader.line(&line) {
                self.seen.note(&event);
                match (&mut pending, event) {
                    (
                        Some(AgentEvent::Text {
                            text, delta: true, ..
                        }),
                        AgentEvent::Text {
                            text: more,
                            delta: true,
                            ..
                        },
                    ) => {
                        // What follows a long text is in the record.
                        if text.len() <= LONGEST {
                            text.push_str(&more);
                        }
                    }
                    (Some(AgentEvent::Unknown { .. }), AgentEvent::Unknown { .. }) => unknown += 1,
                    (_, event) => {
                        let logged = self.logged(&event);
                        let before = pending.replace(event);
                        flush(before, &mut unknown, record, batch);
                        if !logged.is_empty() {
                            flush(pending.take(), &mut unknown, record, batch);
                            let logged = logged.into_iter().map(|event| (Some(record), event));
                            batch.events.extend(logged);
                        }
                    }
                }
            }
        }
        flush(pending, &mut unknown, record, batch);
        batch.records.push(Record {
            stream: Stream::Stdout,
            data: bytes,
        });
    }

    /// Returns the log lines in what a tool said, as events; what an event keeps of it may be cut before them.
    fn logged(&self, event: &AgentEvent) -> Vec<Event> {
        let AgentEvent::ToolResult { output, .. } = event else {
            return Vec::new();
        };
        if !self.logs {
            return Vec::new();
        }
        let now = now() / 1000;
        let lines = output.lines().filter_map(|line| LogLine::read(line, now));
        lines.map(|line| line.event()).collect()
    }

    /// Takes bytes of the standard error.
    pub(super) fn stderr_bytes(&mut self, bytes: Vec<u8>, batch: &mut Batch) {
        self.stderr.extend_from_slice(&bytes);
        let over = self.stderr.len().saturating_sub(STDERR_TAIL);
        self.stderr.drain(..over);
        batch.records.push(Record {
            stream: Stream::Stderr,
            data: bytes,
        });
    }
}

/// Returns the lines of some output as text; bytes that are not UTF-8 are replaced here and kept in the record.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = bytes;
    let ends = std::iter::from_fn(move || {
        let at = memchr::memchr(b'\n', rest);
        let (line, after) = match at {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None if rest.is_empty() => return None,
            None => (rest, &[][..]),
        };
        rest = after;
        Some(line)
    });
    ends.map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(text)
}

/// Returns bytes as text. Nearly all are, and checking that takes a tenth of looking for what is not.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn flush(event: Option<AgentEvent>, unknown: &mut u64, record: usize, batch: &mut Batch) {
    let Some(event) = event else { return };
    let mut stored = stored(&event);
    if *unknown > 0 {
        stored.payload.insert("more".to_owned(), json!(*unknown));
        *unknown = 0;
    }
    batch.events.push((Some(record), stored));
}

/// Returns an event as the store has it: `agent:KIND`, with long texts cut.
fn stored(event: &AgentEvent) -> Event {
    // Our own type, with text keys only: serialising it cannot fail.
    let value = serde_json::to_value(event).unwrap_or_default();
    let mut fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.remove("kind");
    let mut cut = false;
    for value in fields.values_mut() {
        cut |= shorten(value);
    }
    if cut {
        fields.insert("cut".to_owned(), json!(true));
    }
    fields.insert("message".to_owned(), json!(sentence(event)));
    Event {
        kind: format!("agent:{}", event.kind()),
        payload: fields,
    }
}

/// Cuts a long text, or the text of a large value; tells whether it did.
fn shorten(value: &mut Value) -> bool {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push('…');
            true
        }
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= LARGEST {
                return false;
            }
            let end = text.floor_char_boundary(LONGEST);
            *value = Value::String(format!("{}…", &text[..end]));
            true
        }
        _ => false,
    }
}

/// Returns one line for people.
fn sentence(event: &AgentEvent) -> String {
    let said = match event {
        AgentEvent::SessionStarted { model, .. } => match model {
            Some(model) => format!("the agent is up, with {model}"),
            None => "the agent is up".to_owned(),
        },
        AgentEvent::Text { text, .. } | AgentEvent::Thinking { text } => text.clone(),
        AgentEvent::ToolCall { name, .. } => format!("calls {name}"),
        AgentEvent::ToolResult { ok, exit_code, .. } => match (ok, exit_code) {
            (_, Some(code)) => format!("the tool exited with {code}"),
            (true, None) => "the tool answered".to_owned(),
            (false, None) => "the tool failed".to_owned(),
        },
        AgentEvent::FileChange { path, change } => format!("says it did {change} {path}"),
        AgentEvent::PermissionDenied { tool, .. } => format!("was denied {tool}"),
        AgentEvent::Usage(usage) => format!(
            "{} tokens in, {} out",
            usage.input_tokens, usage.output_tokens
        ),
        AgentEvent::Retry { text, class, .. } => {
            format!("tries again ({}): {text}", class.as_str())
        }
        AgentEvent::Limit { status, .. } => format!("usage limit: {status}"),
        AgentEvent::Warning { text } => format!("warning: {text}"),
        AgentEvent::Error { text, class, .. } => format!("error ({}): {text}", class.as_str()),
        AgentEvent::Finished { ok: true, .. } => "says that it is done".to_owned(),
        AgentEvent::Finished { ok: false, .. } => "says that it failed".to_owned(),
        AgentEvent::Unknown { .. } => "wrote a line of no known form".to_owned(),
    };
    let line = said.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Seen {
    fn note(&mut self, event: &AgentEvent) {
        let keep = |slot: &mut Option<String>, value: &Option<String>| {
            if value.is_some() {
                slot.clone_from(value);
            }
        };
        match event {
            AgentEvent::SessionStarted {
                session,
                model,
                version,
            } => {
                keep(&mut self.session, session);
                keep(&mut self.model, model);
                keep(&mut self.version, version);
            }
            AgentEvent::ToolCall { name, .. } => {
                self.last_tool = Some(name.chars().take(80).collect());
                self.tool_calls += 1;
            }
            AgentEvent::Usage(usage) => self.usage.get_or_insert_default().add(usage),
            AgentEvent::Error { text, .. } => {
                self.error = Some(text.chars().take(LONGEST).collect());
            }
            AgentEvent::Finished { .. } => self.finished = true,
            AgentEvent::Unknown { .. } => self.unknown += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_are_text_without_their_ends() {
        let bytes = b"one\r\n\n\r\ntwo \xff\xc3\xa9\nthree";
        assert_eq!(
            lines(bytes).collect::<Vec<_>>(),
            ["one", "two \u{fffd}\u{e9}", "three"]
        );
        assert_eq!(lines(b"").count() + lines(b"\n").count(), 0);
    }
}
