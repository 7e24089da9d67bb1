//! OpenAI's responses, as Codex asks for them.

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
    let items = request["input"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["type"].as_str())
        .any(|kind| kind.ends_with("_call_output"))
}

fn response(status: &str, output: &[&Value]) -> Value {
    let input = USAGE.fresh + USAGE.cached;
    json!({
        "id": "resp_1",
        "object": "response",
        "status": status,
        "output": output,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": USAGE.cached},
            "output_tokens": USAGE.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + USAGE.output,
        },
    })
}

fn message(text: &str) -> Value {
    json!({
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn created() -> String {
    let response = json!({"id": "resp_1", "object": "response", "status": "in_progress"});
    frame(&json!({"type": "response.created", "response": response}))
}

fn added(index: usize, item: &Value) -> String {
    frame(&json!({"type": "response.output_item.added", "output_index": index, "item": item}))
}

fn done(index: usize, item: &Value) -> String {
    frame(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}

fn completed(output: &[&Value]) -> String {
    let response = response("completed", output);
    frame(&json!({"type": "response.completed", "response": response}))
}

fn text(_: &Value, words: &[&str]) -> Answer {
    let whole = message(&words.concat());
    let mut empty = whole.clone();
    empty["content"] = json!([]);
    let piece = |text: &&str| {
        frame(&json!({
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": text,
        }))
    };
    Answer {
        head: vec![created(), added(0, &empty)],
        pieces: words.iter().map(piece).collect(),
        tail: vec![done(0, &whole), completed(&[&whole])],
        whole: response("completed", &[&whole]),
    }
}

/// Codex gives a model that it does not know one tool for commands, and takes a patch there for what it is.
fn edit(request: &Value, edit: &Edit) -> Answer {
    let signed = |sign: &str, text: &str| -> String {
        let lines = text.split_inclusive('\n');
        lines.flat_map(|line| [sign, line]).collect()
    };
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n{}{}*** End Patch\n",
        edit.file.display(),
        signed("-", &edit.old),
        signed("+", &edit.new),
    );
    command(request, &format!("apply_patch <<'PATCH'\n{patch}PATCH\n"))
}

fn command(_: &Value, line: &str) -> Answer {
    let call = json!({
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "exec_command",
        "arguments": json!({"cmd": line}).to_string(),
        "status": "completed",
    });
    let said = message(BEFORE_TOOL);
    Answer {
        head: vec![created(), added(0, &said), done(0, &said), added(1, &call)],
        pieces: vec![done(1, &call)],
        tail: vec![completed(&[&said, &call])],
        whole: response("completed", &[&said, &call]),
    }
}

fn refusal(refusal: Refusal) -> Refused {
    let (kind, text) = match refusal {
        Refusal::Key => ("invalid_request_error", "Incorrect API key provided"),
        Refusal::Rate => ("rate_limit_exceeded", "too many requests"),
        Refusal::Quota { .. } => ("usage_limit_reached", "The usage limit has been reached"),
        Refusal::Overload => ("server_error", "overloaded"),
        Refusal::Fault => ("server_error", "internal error"),
    };
    let mut error = json!({"type": kind, "message": text});
    if let Refusal::Quota { until } = refusal {
        error["plan_type"] = json!("plus");
        error["resets_at"] = json!(until);
        error["resets_in_seconds"] = json!(refusal.wait());
    }
    Refused {
        status: refusal.status(),
        headers: Vec::new(),
        body: json!({"error": error}),
    }
}
