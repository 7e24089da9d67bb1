//! Chat completions, as opencode asks for them.

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
        .filter_map(|message| message["role"].as_str())
        .any(|role| role == "tool")
}

fn usage() -> Value {
    let input = USAGE.fresh + USAGE.cached;
    json!({
        "prompt_tokens": input,
        "prompt_tokens_details": {"cached_tokens": USAGE.cached},
        "completion_tokens": USAGE.output,
        "total_tokens": input + USAGE.output,
    })
}

fn chunk(request: &Value, choices: &Value) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request["model"],
        "choices": choices,
    })
}

fn delta(request: &Value, delta: &Value) -> String {
    let choice = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    frame(&chunk(request, &choice))
}

fn ending(request: &Value, finish: &str) -> Vec<String> {
    let choice = json!([{"index": 0, "delta": {}, "finish_reason": finish}]);
    let mut last = chunk(request, &json!([]));
    last["usage"] = usage();
    vec![
        frame(&chunk(request, &choice)),
        frame(&last),
        "data: [DONE]\n\n".to_owned(),
    ]
}

fn whole(request: &Value, message: &Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage(),
    })
}

fn text(request: &Value, words: &[&str]) -> Answer {
    let message = json!({"role": "assistant", "content": words.concat()});
    Answer {
        head: vec![delta(request, &json!({"role": "assistant", "content": ""}))],
        pieces: words
            .iter()
            .map(|text| delta(request, &json!({"content": text})))
            .collect(),
        tail: ending(request, "stop"),
        whole: whole(request, &message, "stop"),
    }
}

fn edit(request: &Value, edit: &Edit) -> Answer {
    let input = json!({"filePath": edit.file, "content": edit.new});
    tool(request, "write", &input)
}

fn command(request: &Value, line: &str) -> Answer {
    let input = json!({"command": line, "description": "Runs a command"});
    tool(request, "bash", &input)
}

fn tool(request: &Value, name: &str, input: &Value) -> Answer {
    let call = json!({
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": name, "arguments": input.to_string()},
    });
    let message = json!({"role": "assistant", "content": BEFORE_TOOL, "tool_calls": [call]});
    Answer {
        head: vec![delta(
            request,
            &json!({"role": "assistant", "content": BEFORE_TOOL}),
        )],
        pieces: vec![delta(request, &json!({"tool_calls": [call]}))],
        tail: ending(request, "tool_calls"),
        whole: whole(request, &message, "tool_calls"),
    }
}

fn refusal(refusal: Refusal) -> Refused {
    let (kind, text) = match refusal {
        Refusal::Key => ("invalid_api_key", "Incorrect API key provided"),
        Refusal::Rate => ("rate_limit_exceeded", "too many requests"),
        Refusal::Quota { .. } => ("insufficient_quota", "the quota is used up"),
        Refusal::Overload => ("overloaded", "overloaded"),
        Refusal::Fault => ("server_error", "internal error"),
    };
    // opencode asks six times whatever it is told; this is how long it waits in between, and nothing else can shorten that.
    let mut headers = vec![("retry-after-ms", "1".to_owned())];
    headers.extend(refusal.wait().map(|wait| ("retry-after", wait.to_string())));
    Refused {
        status: refusal.status(),
        headers,
        body: json!({"error": {"type": kind, "code": kind, "message": text}}),
    }
}
