//! Gemini's generated content, as Gemini CLI asks for it.

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
    let contents = request["contents"].as_array().into_iter().flatten();
    contents
        .filter_map(|content| content["parts"].as_array())
        .flatten()
        .any(|part| part.get("functionResponse").is_some())
}

fn content(parts: &Value, finish: Option<&str>) -> Value {
    let input = USAGE.fresh + USAGE.cached;
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input,
            "cachedContentTokenCount": USAGE.cached,
            "candidatesTokenCount": USAGE.output,
            "totalTokenCount": input + USAGE.output,
        },
        "modelVersion": "test-model",
        "responseId": "response-1",
    })
}

fn text(_: &Value, words: &[&str]) -> Answer {
    let last = words.len().saturating_sub(1);
    let piece = |(nth, text): (usize, &&str)| {
        let finish = (nth == last).then_some("STOP");
        frame(&content(&json!([{"text": text}]), finish))
    };
    Answer {
        head: Vec::new(),
        pieces: words.iter().enumerate().map(piece).collect(),
        tail: Vec::new(),
        whole: content(&json!([{"text": words.concat()}]), Some("STOP")),
    }
}

fn edit(_: &Value, edit: &Edit) -> Answer {
    let args = json!({"file_path": edit.file, "content": edit.new});
    tool("write_file", &args)
}

fn command(_: &Value, line: &str) -> Answer {
    tool("run_shell_command", &json!({"command": line}))
}

fn tool(name: &str, args: &Value) -> Answer {
    let call = json!({"functionCall": {"id": "fc1", "name": name, "args": args}});
    let said = json!({"text": BEFORE_TOOL});
    Answer {
        head: vec![frame(&content(&json!([said]), None))],
        pieces: vec![frame(&content(&json!([call]), Some("STOP")))],
        tail: Vec::new(),
        whole: content(&json!([said, call]), Some("STOP")),
    }
}

fn refusal(refusal: Refusal) -> Refused {
    let (kind, text) = match refusal {
        Refusal::Key => ("UNAUTHENTICATED", "API key not valid"),
        Refusal::Rate => ("RESOURCE_EXHAUSTED", "too many requests"),
        Refusal::Quota { .. } => ("RESOURCE_EXHAUSTED", "You exceeded your current quota"),
        Refusal::Overload => ("UNAVAILABLE", "overloaded"),
        Refusal::Fault => ("INTERNAL", "internal error"),
    };
    let status = refusal.status();
    let mut error = json!({"code": status, "message": text, "status": kind});
    if let Some(wait) = refusal.wait() {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{wait}s"),
        }]);
    }
    Refused {
        status,
        headers: Vec::new(),
        body: json!({"error": error}),
    }
}
