//! When a run of Claude Code succeeded, and why it did not.
//!
//! `subtype` is `success` on errors of the server too, and the exit code is 0 after an interruption: only all of them
//! together are a success.

use serde_json::{Map, Value};

use super::super::classify;
use super::super::line::Look;
use super::reader::ClaudeReader;
use crate::{Class, Ending, Verdict};

/// What the final line says.
#[derive(Debug)]
pub(super) struct Final {
    /// Whether the line alone is that of a success.
    pub(super) ok: bool,
    /// Why the run ended, in the CLI's words.
    pub(super) reason: Option<String>,
    subtype: String,
    status: Option<u16>,
    text: String,
}

impl Final {
    /// Reads the final line.
    pub(super) fn read(fields: &Map<String, Value>) -> Self {
        let subtype = fields.string("subtype");
        let errors = fields.items("errors").iter().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("\n");
        Self {
            ok: subtype == "success"
                && fields.at("is_error").as_bool() == Some(false)
                && fields.count("num_turns") != Some(0),
            reason: fields
                .text("terminal_reason")
                .or_else(|| fields.text("subtype"))
                .map(str::to_owned),
            subtype,
            status: fields.status("api_error_status"),
            text: format!("{}\n{errors}", fields.text("result").unwrap_or_default()),
        }
    }
}

/// Returns what the lines and the end of the process mean together.
pub(super) fn verdict(reader: &ClaudeReader, ending: &Ending) -> Verdict {
    let Some(last) = &reader.last else {
        return without_final(reader, ending);
    };
    if let Some(rejected) = reader.rejected {
        return Verdict::failure(Class::Quota).until(rejected.resets_at);
    }
    if !last.ok {
        return Verdict::failure(class(reader, last));
    }
    if reader.denied {
        return Verdict::failure(Class::Denied);
    }
    if reader.went_on {
        return Verdict::failure(Class::Incomplete);
    }
    if reader.finals != 1 || !ending.is_clean() {
        return Verdict::failure(Class::Unknown);
    }
    Verdict::success()
}

/// Returns the verdict on a run that did not say that it is done.
fn without_final(reader: &ClaudeReader, ending: &Ending) -> Verdict {
    match (reader.rejected, reader.error) {
        (Some(rejected), _) => Verdict::failure(Class::Quota).until(rejected.resets_at),
        (None, Some((class, _))) if class != Class::Unknown => Verdict::failure(class),
        _ => classify::incomplete(ending),
    }
}

/// Returns why a final line is not that of a success.
fn class(reader: &ClaudeReader, last: &Final) -> Class {
    let reason = last.reason.as_deref().unwrap_or_default();
    let class = match (reason, last.subtype.as_str()) {
        (_, "error_max_turns") | ("max_turns", _) => Class::Turns,
        (_, "error_max_budget_usd") | ("budget_exhausted", _) => Class::Budget,
        ("prompt_too_long" | "blocking_limit", _) => Class::Context,
        (reason, _) if reason.starts_with("aborted") || reader.interrupted => Class::Cancelled,
        _ => match reader.error {
            Some((class, _)) if class != Class::Unknown => class,
            _ => classify::class(&last.text, last.status),
        },
    };
    match class {
        // Without its tool an agent goes round in circles: the denial is the cause.
        Class::Turns | Class::Budget | Class::Unknown if reader.denied => Class::Denied,
        class => class,
    }
}
