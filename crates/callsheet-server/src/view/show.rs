//! Which events of a run are shown, and all that is known of one of them.

use std::fmt::Write as _;

use callsheet_store::{EventFilter, StoredEvent};
use serde_json::Value;

use super::script::spell;
use super::stream::text;

/// How many bytes of a body are shown.
const BODY: usize = 64 << 10;

/// Which events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    All,
    Text,
    Tools,
    Marks,
}

impl Show {
    pub(crate) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("text") => Self::Text,
            Some("tools") => Self::Tools,
            Some("marks") => Self::Marks,
            _ => Self::All,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Text => "text",
            Self::Tools => "tools",
            Self::Marks => "marks",
        }
    }

    /// Returns which events of a run these are.
    pub(crate) fn filter(self, after: i64) -> EventFilter {
        let kinds: &[&str] = match self {
            Self::All => &[],
            Self::Text => &["agent:text", "agent:finished"],
            Self::Tools => &["agent:tool_call", "agent:tool_result", "agent:file_change"],
            Self::Marks => &[
                "agent:permission_denied",
                "agent:error",
                "agent:limit",
                "agent:retry",
                "agent:warning",
                "run:stopping",
                "run:taken_over",
            ],
        };
        EventFilter {
            after,
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            newest: false,
        }
    }
}

/// Returns all that is known of an event, as HTML: what a call got and what it answered.
pub(crate) fn body(
    event: &StoredEvent,
    answer: Option<&StoredEvent>,
    record: Option<&[u8]>,
) -> String {
    let mut html = String::new();
    let mut part = |name: &str, text: &str| {
        let _ = write!(
            html,
            "<p class=\"label\">{name}</p><pre class=\"out\" tabindex=\"0\"><code>"
        );
        let end = text.floor_char_boundary(BODY);
        spell(&mut html, &text[..end]);
        if end < text.len() {
            let _ = write!(
                html,
                "\n<span class=\"dim\">… {} more bytes</span>",
                text.len() - end
            );
        }
        html.push_str("</code></pre>");
    };
    match event.event.payload.get("input") {
        Some(Value::String(text)) => part("Gets", text),
        Some(Value::Object(fields)) => {
            for (name, value) in fields {
                part(
                    name,
                    &value
                        .as_str()
                        .map_or_else(|| format!("{value:#}"), str::to_owned),
                );
            }
        }
        Some(Value::Null) | None => {}
        Some(other) => part("Gets", &format!("{other:#}")),
    }
    for field in ["text", "output", "raw"] {
        if let Some(said) = text(event, field) {
            part(if field == "output" { "Answers" } else { "Says" }, said);
        }
    }
    if let Some(output) = answer.and_then(|answer| text(answer, "output")) {
        part("Answers", output);
    }
    if let Some(record) = record {
        part("As the agent wrote it", &String::from_utf8_lossy(record));
    }
    html
}
