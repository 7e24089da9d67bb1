//! One event as a line: text of the agent whole, a call folded with what came of it, a mark where something was refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callsheet_store::StoredEvent;
use serde_json::Value;

use crate::view::script::spell;

/// The longest argument of a call in its line.
const ARGUMENT: usize = 160;

/// How many last lines of a call that failed are shown at once.
const LAST: usize = 12;

/// A line of the stream.
pub(super) struct StreamLine {
    pub(super) html: String,
    /// The tool, if it is a call that went well.
    pub(super) fine: Option<String>,
    pub(super) at: i64,
}

/// Returns an event as a line, with its answer where it is a call.
pub(super) fn line(
    run: &str,
    start: i64,
    event: &StoredEvent,
    answers: &BTreeMap<&str, &StoredEvent>,
) -> StreamLine {
    let kind = event.event.kind.as_str();
    let mut html = String::new();
    let mut fine = None;
    let at = event.at - start;
    match kind {
        "agent:text" => said(&mut html, at, event),
        "agent:tool_call" => {
            let answer = text(event, "id").and_then(|id| answers.get(id)).copied();
            let is_fine = answer
                .is_some_and(|answer| answer.event.payload.get("ok") == Some(&Value::Bool(true)));
            call(&mut html, run, at, event, answer);
            fine = is_fine.then(|| text(event, "name").unwrap_or("tool").to_owned());
        }
        "agent:tool_result" | "agent:thinking" | "agent:unknown" => {
            folded_text(&mut html, run, at, event);
        }
        "agent:permission_denied" => mark(&mut html, at, event, ("warn", "block", "Denied.")),
        "agent:error" => mark(&mut html, at, event, ("bad", "fail", "Error.")),
        "agent:limit" if text(event, "status") == Some("allowed") => {
            plain(&mut html, at, event, "clock");
        }
        "agent:warning" | "agent:limit" => mark(&mut html, at, event, ("warn", "warn", "")),
        "run:stopping" => mark(&mut html, at, event, ("warn", "stopped", "Stopping.")),
        _ => plain(&mut html, at, event, sign(kind, event)),
    }
    StreamLine {
        html,
        fine,
        at: event.at,
    }
}

/// Writes an event as a sentence that nobody has to read.
fn plain(html: &mut String, at: i64, event: &StoredEvent, sign: &str) {
    open(html, "ev meta", at, sign, event.seq);
    spell(html, &said_shortly(event));
    html.push_str("</div></li>");
}

/// Returns the picture of an event.
fn sign(kind: &str, event: &StoredEvent) -> &'static str {
    match kind {
        "run:launched" => "script",
        "agent:session_started" => "play",
        "agent:retry" => "retry",
        "agent:file_change" => "edit",
        "check:finished" if text(event, "status") == Some("passed") => "pass",
        "check:finished" => "fail",
        "check:started" => "run",
        "run:finished" | "run:process" | "agent:finished" => "stopped",
        "run:queued" => "wait",
        _ => "more",
    }
}

/// Returns an event as a sentence: most have one, some are long.
fn said_shortly(event: &StoredEvent) -> String {
    let payload = &event.event.payload;
    match event.event.kind.as_str() {
        "run:launched" => {
            let bytes = payload
                .get("delivered")
                .and_then(|given| given["prompt"]["bytes"].as_u64());
            let runner = text(event, "runner").unwrap_or("the agent");
            let permissions = text(event, "permissions").unwrap_or("no");
            bytes.map_or_else(
                || format!("{runner} is launched, permissions {permissions}"),
                |bytes| format!("{runner} is launched with a prompt of {bytes} bytes, permissions {permissions}"),
            )
        }
        "run:started" => "A worker took the run".to_owned(),
        "run:finished" => "The run is over".to_owned(),
        _ => {
            let message = event.event.message();
            let mut letters = message.chars();
            let first = letters
                .next()
                .map(|first| first.to_uppercase().collect::<String>());
            format!("{}{}", first.unwrap_or_default(), letters.as_str())
        }
    }
}

fn said(html: &mut String, at: i64, event: &StoredEvent) {
    open(html, "ev text", at, "say", event.seq);
    let whole = text(event, "text").unwrap_or_default();
    for paragraph in whole.split("\n\n").filter(|part| !part.trim().is_empty()) {
        html.push_str("<p>");
        spell(html, paragraph.trim_end());
        html.push_str("</p>");
    }
    html.push_str("</div></li>");
}

/// Writes a call: tool, argument, and what came of it; one that failed is open.
fn call(html: &mut String, run: &str, at: i64, event: &StoredEvent, answer: Option<&StoredEvent>) {
    let name = text(event, "name").unwrap_or("tool");
    let input = event.event.payload.get("input").unwrap_or(&Value::Null);
    let failed =
        answer.is_some_and(|answer| answer.event.payload.get("ok") == Some(&Value::Bool(false)));
    open(html, "ev", at, picture(name), event.seq);
    let is_open = if failed { " open" } else { "" };
    let _ = write!(
        html,
        "<details class=\"tool\"{is_open} data-body=\"/runs/{run}/events/{}\"><summary>{}<b>",
        event.seq,
        icon("chev", "s")
    );
    spell(html, name);
    html.push_str("</b><code>");
    spell(html, &argument(input));
    html.push_str("</code><span class=\"res\">");
    result(html, event, answer, failed);
    html.push_str("</span></summary>");
    if let Some(answer) = answer.filter(|_| failed) {
        let output = text(answer, "output").unwrap_or_default();
        let lines: Vec<&str> = output.lines().collect();
        let hidden = lines.len().saturating_sub(LAST);
        html.push_str("<pre class=\"out\" tabindex=\"0\"><code>");
        if hidden > 0 {
            let _ = writeln!(html, "<span class=\"dim\">… {hidden} lines before</span>");
        }
        spell(html, &lines[hidden..].join("\n"));
        html.push_str("</code></pre>");
    }
    let _ = write!(
        html,
        "<p class=\"more\"><a href=\"/runs/{run}/events/{}\">All of it</a></p></details></div></li>",
        event.seq
    );
}

/// Writes what came of a call: exit code, lines, how long it took.
fn result(html: &mut String, event: &StoredEvent, answer: Option<&StoredEvent>, failed: bool) {
    let Some(answer) = answer else {
        html.push_str("no answer yet");
        return;
    };
    let code = answer
        .event
        .payload
        .get("exit_code")
        .and_then(Value::as_i64);
    let word = match (code, failed) {
        (Some(code), _) => format!("exit {code}"),
        (None, true) => "failed".to_owned(),
        (None, false) => String::new(),
    };
    if failed {
        let _ = write!(html, "<span class=\"fail-c\">{word}</span>");
    } else {
        html.push_str(&word);
    }
    let lines = text(answer, "output").map_or(0, |output| output.lines().count());
    let mut parts = Vec::new();
    if lines > 0 {
        let cut = answer.event.payload.contains_key("cut");
        parts.push(format!(
            "{lines}{} {}",
            if cut { "+" } else { "" },
            if lines == 1 { "line" } else { "lines" }
        ));
    }
    parts.push(span(answer.at - event.at));
    let rest = parts.join(" · ");
    let between = if word.is_empty() { "" } else { " · " };
    let _ = write!(html, "{between}{rest}");
}

/// Writes text that few want to read: what the model thought, an answer without its call, a line of no known form.
fn folded_text(html: &mut String, run: &str, at: i64, event: &StoredEvent) {
    let (name, field, sign) = match event.event.kind.as_str() {
        "agent:thinking" => ("Thinking", "text", "think"),
        "agent:tool_result" => ("Answer of a tool", "output", "term"),
        _ => ("A line of no known form", "raw", "more"),
    };
    let words = text(event, field).map_or(0, |text| text.split_whitespace().count());
    open(html, "ev", at, sign, event.seq);
    let _ = write!(
        html,
        "<details class=\"tool\" data-body=\"/runs/{run}/events/{0}\"><summary>{1}<b>{name}</b><code></code>\
        <span class=\"res\">{words} {2}</span></summary><p class=\"more\"><a href=\"/runs/{run}/events/{0}\">All of it</a></p></details></div></li>",
        event.seq,
        icon("chev", "s"),
        if words == 1 { "word" } else { "words" }
    );
}

fn mark(html: &mut String, at: i64, event: &StoredEvent, (tone, sign, word): (&str, &str, &str)) {
    open(html, &format!("ev mark {tone}"), at, sign, event.seq);
    html.push_str("<p>");
    if !word.is_empty() {
        let _ = write!(html, "<b>{word}</b> ");
    }
    let detail = text(event, "text").filter(|text| !text.trim().is_empty());
    let tool = text(event, "tool");
    match (tool, detail) {
        (Some(tool), Some(detail)) => spell(html, &format!("{tool}: {detail}")),
        (_, Some(detail)) => spell(html, detail),
        _ => spell(html, event.event.message()),
    }
    html.push_str("</p></div></li>");
}

/// Begins a line.
pub(super) fn open(html: &mut String, class: &str, at: i64, sign: &str, seq: i64) {
    let seconds = at.max(0) / 1000;
    let clock = match seconds {
        0..3600 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    };
    let number = if seq > 0 {
        format!(" id=\"e{seq}\"")
    } else {
        String::new()
    };
    let _ = write!(
        html,
        "<li class=\"{class}\"{number}><time class=\"mono-s\" datetime=\"PT{seconds}S\">{clock}</time>{}<div class=\"ev-b\">",
        icon(sign, "ic")
    );
}

pub(super) fn icon(name: &str, class: &str) -> String {
    format!(
        "<svg class=\"icon {class}\" aria-hidden=\"true\"><use href=\"/assets/icons.svg#i-{name}\"/></svg>"
    )
}

/// Returns the picture of a tool.
fn picture(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["bash", "shell", "run", "exec", "command"]) {
        "term"
    } else if has(&["edit", "write", "patch", "replace"]) {
        "edit"
    } else if has(&["read", "view", "cat", "open"]) {
        "file"
    } else if has(&["grep", "glob", "search", "find", "list", "ls"]) {
        "find"
    } else {
        "more"
    }
}

/// Returns what a call is about, in a line.
fn argument(input: &Value) -> String {
    let words = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => {
            let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    };
    let fields = [
        "command",
        "cmd",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
        "description",
        "prompt",
    ];
    let named = fields
        .iter()
        .find_map(|field| input.get(field).and_then(words));
    let text = named
        .or_else(|| words(input))
        .unwrap_or_else(|| match input {
            Value::Null => String::new(),
            other => other.to_string(),
        });
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(ARGUMENT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns how long something took, in short; what took less than ten seconds has tenths: `0.4s`, `3m 52s`.
pub(crate) fn span(millis: i64) -> String {
    match millis.max(0) {
        millis @ 0..10_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        millis => crate::pages::show::age(millis),
    }
}

pub(crate) fn text<'e>(event: &'e StoredEvent, field: &str) -> Option<&'e str> {
    event.event.payload.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_quick_has_tenths() {
        let shown = [-1, 0, 340, 9_999, 10_000, 250_000].map(span);
        assert_eq!(shown, ["0.0s", "0.0s", "0.3s", "9.9s", "10s", "4m 10s"]);
    }

    #[test]
    fn an_argument_is_one_line() {
        assert_eq!(
            argument(&json!({"command": ["sh", "test.sh"]})),
            "sh test.sh"
        );
        assert_eq!(argument(&json!({"file_path": "a.rs", "text": "x"})), "a.rs");
        assert_eq!(argument(&json!({"odd": 1})), "{\"odd\":1}");
        assert_eq!(argument(&json!(null)), "");
    }
}
