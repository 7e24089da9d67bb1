//! Anthropic's messages, as Claude Code asks for them.

use serde_json::{Value, json};

use super::{Answer, BEFORE_TOOL, Edit, Protocol, Refusal, Refused, USAGE, frame};

pub(super) const PROTOCOL: Protocol = Protocol {
    has_result,
    text,
    edit,
    command,
    refusal,
};

fn has_result(request: &Value) -> bool {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .any(|block| block["type"] == "tool_result")
}

fn usage() -> Value {
    json!({
        "input_tokens": USAGE.fresh,
        "cache_read_input_tokens": USAGE.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": USAGE.output,
    })
}

/// Returns a message; a stream begins with one that has no content.
fn message(request: &Value, content: &Value, stop: Option<&str>) -> Value {
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(),
    })
}

fn delta(index: usize, delta: &Value) -> String {
    frame(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn opened(index: usize, block: &Value) -> String {
    frame(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn closed(index: usize) -> String {
    frame(&json!({"type": "content_block_stop", "index": index}))
}

fn ending(stop: &str) -> [String; 2] {
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    let last = json!({"type": "message_delta", "delta": delta, "usage": usage()});
    [frame(&last), frame(&json!({"type": "message_stop"}))]
}

fn text(request: &Value, words: &[&str]) -> Answer {
    let start = message(request, &json!([]), None);
    let mut tail = vec![closed(0)];
    tail.extend(ending("end_turn"));
    Answer {
        head: vec![
            frame(&json!({"type": "message_start", "message": start})),
            opened(0, &json!({"type": "text", "text": ""})),
        ],
        pieces: words
            .iter()
            .map(|text| delta(0, &json!({"type": "text_delta", "text": text})))
            .collect(),
        tail,
        whole: message(
            request,
            &json!([{"type": "text", "text": words.concat()}]),
            Some("end_turn"),
        ),
    }
}

fn edit(request: &Value, edit: &Edit) -> Answer {
    let input = json!({"file_path": edit.file, "content": edit.new});
    tool(request, "Write", &input)
}

fn command(request: &Value, line: &str) -> Answer {
    let input = json!({"command": line, "description": "Runs a command"});
    tool(request, "Bash", &input)
}

fn tool(request: &Value, name: &str, input: &Value) -> Answer {
    let tool =
        |input: &Value| json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input});
    let part = json!({"type": "input_json_delta", "partial_json": input.to_string()});
    let said = json!({"type": "text_delta", "text": BEFORE_TOOL});
    let start = message(request, &json!([]), None);
    let mut tail = vec![closed(1)];
    tail.extend(ending("tool_use"));
    Answer {
        head: vec![
            frame(&json!({"type": "message_start", "message": start})),
            opened(0, &json!({"type": "text", "text": ""})),
            delta(0, &said),
            closed(0),
            opened(1, &tool(&json!({}))),
        ],
        pieces: vec![delta(1, &part)],
        tail,
        whole: message(
            request,
            &json!([{"type": "text", "text": BEFORE_TOOL}, tool(input)]),
            Some("tool_use"),
        ),
    }
}

fn refusal(refusal: Refusal) -> Refused {
    let (kind, text) = match refusal {
        Refusal::Key => ("authentication_error", "invalid x-api-key"),
        Refusal::Rate => ("rate_limit_error", "too many requests"),
        Refusal::Quota { .. } => ("rate_limit_error", "the quota is used up"),
        Refusal::Overload => ("overloaded_error", "Overloaded"),
        Refusal::Fault => ("api_error", "Internal server error"),
    };
    let mut headers = Vec::new();
    if let Refusal::Quota { until } = refusal {
        headers = vec![
            ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
            ("anthropic-ratelimit-unified-reset", until.to_string()),
            (
                "anthropic-ratelimit-unified-representative-claim",
                "five_hour".to_owned(),
            ),
            (
                "anthropic-ratelimit-unified-5h-status",
                "rejected".to_owned(),
            ),
            ("anthropic-ratelimit-unified-5h-reset", until.to_string()),
            (
                "anthropic-ratelimit-unified-5h-utilization",
                "1.0".to_owned(),
            ),
        ];
        headers.extend(refusal.wait().map(|wait| ("retry-after", wait.to_string())));
    }
    Refused {
        status: refusal.status(),
        headers,
        body: json!({"type": "error", "error": {"type": kind, "message": text}}),
    }
}
