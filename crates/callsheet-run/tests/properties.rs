//! What holds for any output of an agent: nothing panics, nothing is lost, and usage adds up.

#![expect(
    clippy::expect_used,
    reason = "a test without its adapter has nothing to test"
)]

use callsheet_run::{AgentEvent, Ending, Reader, Usage, adapter};
use proptest::prelude::*;
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Names of fields, and values that readers branch on.
const WORDS: &[&str] = &[
    "type",
    "subtype",
    "message",
    "content",
    "usage",
    "id",
    "model",
    "error",
    "item",
    "items",
    "part",
    "state",
    "status",
    "tokens",
    "cache",
    "reason",
    "timestamp",
    "stats",
    "severity",
    "result",
    "is_error",
    "num_turns",
    "permission_denials",
    "rate_limit_info",
    "resetsAt",
    "input_tokens",
    "output_tokens",
    "tool_use_id",
    "tool_use_result",
    "filePath",
    "changes",
    "exit_code",
    "data",
    "responseHeaders",
    "retry-after",
    "statusCode",
    "metadata",
    "exit",
    "system",
    "init",
    "assistant",
    "user",
    "text",
    "tool_result",
    "tool_use",
    "thinking",
    "api_retry",
    "permission_denied",
    "rate_limit_event",
    "rejected",
    "success",
    "<synthetic>",
    "thread.started",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "item.started",
    "item.completed",
    "command_execution",
    "file_change",
    "agent_message",
    "declined",
    "completed",
    "Reconnecting... 1/5 (x)",
    "step_start",
    "step_finish",
    "stop",
    "tool-calls",
    "retry after 99999999999999h",
    "status 429",
    "Exit code 99999999999",
    "2026-11-15T02:17:06Z",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec((word(), inner), 0..6)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// A line with a type that readers know, as a rule.
fn line() -> impl Strategy<Value = String> {
    let typed = (word(), word(), object(value())).prop_map(|(kind, subtype, mut fields)| {
        fields["type"] = json!(kind);
        fields["subtype"] = json!(subtype);
        fields.to_string()
    });
    prop_oneof![
        8 => typed,
        1 => value().prop_map(|value| value.to_string()),
        1 => any::<String>(),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    (any::<Option<i32>>(), any::<Option<i32>>(), any::<String>()).prop_map(
        |(exit_code, signal, stderr)| Ending {
            exit_code,
            signal,
            stderr,
        },
    )
}

fn reader(name: &str) -> Box<dyn Reader> {
    adapter::find(name).expect("it is listed").reader()
}

fn total(name: &str, lines: &[Value]) -> Usage {
    let mut reader = reader(name);
    let mut total = Usage::default();
    for line in lines {
        for event in reader.line(&line.to_string()) {
            if let AgentEvent::Usage(more) = event {
                total.add(&more);
            }
        }
    }
    total
}

fn tokens(input: u64, output: u64, cached: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        cost_usd: None,
    }
}

/// Small numbers of tokens: input, output, cached.
fn counts() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    proptest::collection::vec((0..9000_u32, 0..9000_u32, 0..9000_u32), 1..12)
}

proptest! {
    #[test]
    fn no_output_makes_a_reader_panic(
        lines in proptest::collection::vec(line(), 0..12),
        ending in ending(),
    ) {
        for name in NAMES {
            let mut reader = reader(name);
            let mut sum = Usage::default();
            for line in &lines {
                let events = reader.line(line);
                let object = serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object());
                if !object {
                    let kinds: Vec<&str> = events.iter().map(AgentEvent::kind).collect();
                    let expected: &[&str] = if line.trim().is_empty() { &[] } else { &["unknown"] };
                    prop_assert_eq!(kinds, expected);
                }
                for event in &events {
                    let wire = serde_json::to_string(event);
                    prop_assert!(wire.is_ok());
                    if let AgentEvent::Usage(more) = event {
                        sum.add(more);
                    }
                }
            }
            let verdict = reader.verdict(&ending);
            prop_assert!(ending.is_clean() || verdict.class.is_some());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_read_too(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        for name in NAMES {
            let mut reader = reader(name);
            for line in text.split('\n') {
                reader.line(line);
            }
            prop_assert!(reader.verdict(&Ending::default()).class.is_some());
        }
    }

    #[test]
    fn a_type_that_nobody_knows_is_kept(kind in "[a-z]{1,5}_new", field in any::<String>()) {
        for name in NAMES {
            let line = json!({"x": field, "type": kind}).to_string();
            let events = reader(name).line(&line);
            prop_assert_eq!(events, vec![AgentEvent::Unknown { raw: line }]);
        }
    }

    #[test]
    fn claude_adds_up_to_its_final_total(messages in counts(), repeats in 1..4_usize, output in 0..9000_u64) {
        let mut lines = Vec::new();
        let mut sum = tokens(0, output, 0);
        for (at, (input, start, cached)) in messages.iter().enumerate() {
            let line = json!({"type": "assistant", "message": {"id": format!("m{at}"), "content": [],
                "usage": {"input_tokens": input, "output_tokens": start, "cache_read_input_tokens": cached}}});
            lines.extend(std::iter::repeat_n(line, repeats));
            sum.add(&tokens(u64::from(*input), u64::from(*start), u64::from(*cached)));
        }
        lines.push(json!({"type": "result", "total_cost_usd": 0.25, "usage": {"input_tokens": sum.input_tokens,
            "output_tokens": sum.output_tokens, "cache_read_input_tokens": sum.cached_tokens}}));
        sum.cost_usd = Some(0.25);
        prop_assert_eq!(total("claude", &lines), sum);
    }

    #[test]
    fn codex_adds_up_to_its_last_total(turns in counts()) {
        let mut sum = Usage::default();
        let lines: Vec<Value> = turns.iter().map(|(input, output, cached)| {
            sum.add(&tokens(u64::from(*input), u64::from(*output), u64::from(*cached)));
            json!({"type": "turn.completed", "usage": {"input_tokens": sum.input_tokens,
                "cached_input_tokens": sum.cached_tokens, "output_tokens": sum.output_tokens}})
        }).collect();
        prop_assert_eq!(total("codex", &lines), sum);
    }

    #[test]
    fn opencode_adds_up_to_the_sum_of_its_steps(steps in counts()) {
        let mut sum = Usage::default();
        let lines: Vec<Value> = steps.iter().map(|(input, output, cached)| {
            sum.add(&tokens(u64::from(*input), u64::from(*output), u64::from(*cached)));
            json!({"type": "step_finish", "part": {"reason": "tool-calls",
                "tokens": {"input": input, "output": output, "cache": {"read": cached}}}})
        }).collect();
        prop_assert_eq!(total("opencode", &lines), sum);
    }
}
