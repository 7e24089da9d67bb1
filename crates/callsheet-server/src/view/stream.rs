//! What happened in a run, as lines: text of the agent whole, calls of tools folded, marks where something was refused.
//!
//! A call and its answer are one line. Calls in a row that went well fold into one.

mod line;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callsheet_store::StoredEvent;

use self::line::{StreamLine, icon, line, open};
pub(crate) use self::line::{span, text};
use super::script::spell;

/// How many events a page of the stream has.
pub(crate) const CHUNK: usize = 200;

/// So many events behind a page are looked at for answers of its calls.
pub(crate) const AHEAD: usize = 40;

/// So many calls in a row that went well fold into one line.
const RUN: usize = 4;

/// Returns events as HTML; those behind `count` are looked at for answers only.
pub(crate) fn html(run: &str, start: i64, events: &[StoredEvent], count: usize) -> String {
    let answers: BTreeMap<&str, &StoredEvent> = events
        .iter()
        .filter(|event| event.event.kind == "agent:tool_result")
        .filter_map(|event| Some((text(event, "id")?, event)))
        .collect();
    let shown = &events[..count.min(events.len())];
    let calls: Vec<&str> = shown
        .iter()
        .filter(|event| event.event.kind == "agent:tool_call")
        .filter_map(|event| text(event, "id"))
        .collect();
    let mut lines = Vec::new();
    for event in shown {
        let is_answered = event.event.kind == "agent:tool_result"
            && text(event, "id").is_some_and(|id| calls.contains(&id));
        // What they add up to stands in the head.
        let is_counted = event.event.kind == "agent:usage";
        if !is_answered && !is_counted {
            lines.push(line(run, start, event, &answers));
        }
    }
    folded(start, &lines)
}

/// Folds calls in a row that went well.
fn folded(start: i64, lines: &[StreamLine]) -> String {
    let mut html = String::new();
    let mut at = 0;
    while at < lines.len() {
        let fine = lines[at..]
            .iter()
            .take_while(|line| line.fine.is_some())
            .count();
        if fine < RUN {
            let upto = at + fine.max(1);
            html.extend(lines[at..upto].iter().map(|line| line.html.as_str()));
            at = upto;
            continue;
        }
        let calls = &lines[at..at + fine];
        let mut tools: Vec<&str> = Vec::new();
        for tool in calls.iter().filter_map(|line| line.fine.as_deref()) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        let took = calls[fine - 1].at - calls[0].at;
        open(&mut html, "ev", calls[0].at - start, "more", 0);
        let _ = write!(
            html,
            "<details class=\"tool\"><summary>{}<b>{fine} tool calls</b><code>",
            icon("chev", "s")
        );
        spell(&mut html, &tools.join(", "));
        let _ = write!(
            html,
            "</code><span class=\"res\">{} · all went well</span></summary><ol class=\"stream in\">",
            span(took)
        );
        html.extend(calls.iter().map(|line| line.html.as_str()));
        html.push_str("</ol></details></div></li>");
        at += fine;
    }
    html
}

#[cfg(test)]
mod tests {
    use callsheet::Event;
    use serde_json::{Value, json};

    use super::*;

    fn event(seq: i64, kind: &str, payload: Value) -> StoredEvent {
        let Value::Object(payload) = payload else {
            unreachable!("a payload is an object")
        };
        StoredEvent {
            seq,
            at: 1000 * seq,
            event: Event {
                kind: kind.to_owned(),
                payload,
            },
            run: None,
        }
    }

    #[test]
    fn a_call_and_its_answer_are_one_line() {
        let events = [
            event(
                1,
                "agent:tool_call",
                json!({"id": "a", "name": "Bash", "input": {"command": "./test <x>"}}),
            ),
            event(
                2,
                "agent:tool_result",
                json!({"id": "a", "ok": false, "exit_code": 101, "output": "one\ntwo"}),
            ),
        ];
        let shown = html("r", 0, &events, 2);
        assert_eq!(shown.matches("<li").count(), 1);
        assert!(shown.contains("<details class=\"tool\" open data-body=\"/runs/r/events/1\">"));
        assert!(shown.contains("<b>Bash</b><code>./test &lt;x&gt;</code>"));
        assert!(shown.contains("<span class=\"fail-c\">exit 101</span> · 2 lines · 1.0s"));
    }

    #[test]
    fn a_limit_that_allows_is_no_warning() {
        let of = |status: &str| {
            let event = event(1, "agent:limit", json!({"status": status, "text": "5h"}));
            html("r", 0, &[event], 1)
        };
        assert!(of("allowed").contains("<li class=\"ev meta\""));
        assert!(of("rejected").contains("<li class=\"ev mark warn\""));
    }

    #[test]
    fn calls_that_went_well_fold() {
        let mut events = Vec::new();
        for nth in 0..5 {
            let id = nth.to_string();
            events.push(event(
                2 * nth,
                "agent:tool_call",
                json!({"id": id, "name": "Read", "input": {"path": "a"}}),
            ));
            events.push(event(
                2 * nth + 1,
                "agent:tool_result",
                json!({"id": id, "ok": true, "output": ""}),
            ));
        }
        events.push(event(
            10,
            "agent:text",
            json!({"text": "<b>done</b>\n\nbye"}),
        ));
        let shown = html("r", 0, &events, 11);
        assert!(shown.contains("<b>5 tool calls</b><code>Read</code>"));
        assert!(shown.contains("<p>&lt;b&gt;done&lt;/b&gt;</p><p>bye</p>"));
    }
}
