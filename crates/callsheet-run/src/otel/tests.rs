//! Events in, spans out; and what the environment decides.

use std::time::UNIX_EPOCH;

use callsheet::Event;
use callsheet_store::{RunKind, RunState};
use opentelemetry::trace::{Status, TraceState};
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value, json};

use super::*;

fn run(adapter: &str, outcome: Value) -> Run {
    let id = "1m7f6zd4n3x5c2".parse().unwrap();
    Run {
        id,
        project: "p".to_owned(),
        prompt: "1m7f6zd4n3x5c3".parse().unwrap(),
        kind: RunKind::First,
        parent: None,
        state: RunState::Finished,
        worker: None,
        attempt: 1,
        queued_at: 900,
        started_at: Some(1000),
        lease_until: None,
        finished_at: Some(9000),
        outcome: Some(outcome),
        records: 0,
        request: Some(json!({"runner": "dev", "adapter": adapter, "model": "opus"})),
        stop_requested_at: None,
        imported_at: None,
        task: None,
        batch: None,
    }
}

/// Makes events, each a tenth of a second after the one before it.
fn events(events: &[(&str, Value)]) -> Vec<StoredEvent> {
    let mut at = (0, 2000);
    let stored = events.iter().map(|(kind, facts)| {
        at = (at.0 + 1, at.1 + 100);
        let facts = facts.as_object().unwrap().clone();
        StoredEvent {
            seq: at.0,
            event: Event::new(format!("agent:{kind}"), facts, "said"),
            at: at.1,
            run: None,
        }
    });
    stored.collect()
}

fn translate(run: &Run, events: &[StoredEvent]) -> Vec<SpanData> {
    let mut spans = Spans::of(run).unwrap();
    for event in events {
        spans.note(event);
    }
    spans.done()
}

/// Writes spans as text, a line for each attribute.
fn shown(spans: &[SpanData]) -> String {
    let mut text = String::new();
    for span in spans {
        let millis =
            |time: std::time::SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_millis();
        text.push_str(&format!(
            "{} ({:?}) {}..{}{}\n",
            span.name,
            span.span_kind,
            millis(span.start_time),
            millis(span.end_time),
            match &span.status {
                Status::Error { description } => format!(" error: {description}"),
                _ => String::new(),
            }
        ));
        for attribute in &span.attributes {
            text.push_str(&format!("  {} = {}\n", attribute.key, attribute.value));
        }
    }
    text
}

/// Makes a run that went well; what must not leave is in capitals.
fn completed() -> (Run, Vec<StoredEvent>) {
    let outcome = json!({
        "status": "completed", "class": null, "termination": "exit", "exit_code": 0, "version": "2.1.325",
        "session": "s-1", "answered_by": "claude-opus-4-5", "changed_files": ["a", "b"], "settled": false,
        "reason": "SECRET", "argv": ["SECRET"], "env": ["SECRET"], "worktree": "/SECRET",
        "usage": {"input_tokens": 10, "output_tokens": 20, "cached_tokens": 30, "cost_usd": 0.5},
        "delivered": {"prompt": {"fingerprint": "b3:11", "bytes": 3, "read": 3}, "system": {"fingerprint": "b3:22", "bytes": 2, "read": null}},
    });
    let events = events(&[
        ("session_started", json!({"session": "s-1"})),
        ("text", json!({"text": "SECRET", "id": "t1"})),
        (
            "tool_call",
            json!({"id": "t1", "name": "Read", "input": {"path": "SECRET"}}),
        ),
        (
            "tool_call",
            json!({"id": "t2", "name": "Bash", "input": {"command": "SECRET"}}),
        ),
        (
            "tool_result",
            json!({"id": "t2", "ok": false, "exit_code": 1, "output": "SECRET"}),
        ),
        (
            "tool_result",
            json!({"id": "t1", "ok": true, "exit_code": null, "output": "SECRET"}),
        ),
        (
            "tool_result",
            json!({"id": "t9", "ok": true, "exit_code": null, "output": "SECRET"}),
        ),
    ]);
    (run("claude", outcome), events)
}

#[test]
fn a_run_becomes_a_span_with_one_for_each_tool_call() {
    let (run, events) = completed();
    let spans = translate(&run, &events);
    insta::assert_snapshot!(shown(&spans), @"
    invoke_agent dev (Client) 1000..9000
      gen_ai.operation.name = invoke_agent
      gen_ai.provider.name = anthropic
      gen_ai.agent.name = dev
      gen_ai.agent.id = claude
      gen_ai.agent.version = 2.1.325
      gen_ai.conversation.id = s-1
      gen_ai.request.model = opus
      gen_ai.response.model = claude-opus-4-5
      gen_ai.usage.input_tokens = 40
      gen_ai.usage.output_tokens = 20
      gen_ai.usage.cache_read.input_tokens = 30
      callsheet.run.cost_usd = 0.5
      callsheet.run.id = 1m7f6zd4n3x5c2
      callsheet.run.status = completed
      callsheet.run.termination = exit
      callsheet.run.exit_code = 0
      callsheet.run.changed_files = 2
      callsheet.prompt.id = 1m7f6zd4n3x5c3
      callsheet.prompt.fingerprint = b3:11
      callsheet.system.fingerprint = b3:22
    execute_tool Read (Internal) 2300..2600
      gen_ai.operation.name = execute_tool
      gen_ai.tool.name = Read
      gen_ai.tool.call.id = t1
    execute_tool Bash (Internal) 2400..2500 error: tool_error
      gen_ai.operation.name = execute_tool
      gen_ai.tool.name = Bash
      gen_ai.tool.call.id = t2
      error.type = tool_error
    ");
    assert!(!format!("{spans:?}").contains("SECRET"));
}

#[test]
fn the_spans_of_a_run_are_one_trace() {
    let (run, events) = completed();
    let spans = translate(&run, &events);
    let root = &spans[0];
    assert_eq!(root.parent_span_id, SpanId::INVALID);
    for tool in &spans[1..] {
        assert_eq!(tool.parent_span_id, root.span_context.span_id());
        assert_eq!(tool.span_context.trace_id(), root.span_context.trace_id());
        assert_eq!(tool.span_context.trace_state(), &TraceState::NONE);
    }
    assert_ne!(
        spans[1].span_context.span_id(),
        spans[2].span_context.span_id()
    );
}

#[test]
fn failures_have_their_class_and_unknown_facts_are_left_out() {
    let outcome = json!({"status": "failed", "class": "overload", "termination": "exit", "exit_code": 1, "settled": true});
    let events = events(&[
        (
            "tool_call",
            json!({"id": "a", "name": "Write", "input": {}}),
        ),
        (
            "tool_result",
            json!({"id": "a", "ok": false, "exit_code": null, "output": ""}),
        ),
        (
            "permission_denied",
            json!({"id": "a", "tool": "Write", "text": "no"}),
        ),
        ("tool_call", json!({"id": "b", "name": "", "input": {}})),
        (
            "tool_call",
            json!({"id": "c", "name": "x".repeat(300), "input": {}}),
        ),
        (
            "permission_denied",
            json!({"id": "c", "tool": "x", "text": "no"}),
        ),
        (
            "tool_result",
            json!({"id": "c", "ok": false, "exit_code": null, "output": ""}),
        ),
    ]);
    let text = shown(&translate(&run("scripted", outcome), &events));
    insta::assert_snapshot!(text.replace(&"x".repeat(200), "[200 x]"), @"
    invoke_agent dev (Client) 1000..9000 error: overload
      gen_ai.operation.name = invoke_agent
      gen_ai.agent.name = dev
      gen_ai.agent.id = scripted
      gen_ai.request.model = opus
      error.type = overload
      callsheet.run.id = 1m7f6zd4n3x5c2
      callsheet.run.status = failed
      callsheet.run.termination = exit
      callsheet.run.exit_code = 1
      callsheet.prompt.id = 1m7f6zd4n3x5c3
      callsheet.run.settled = true
    execute_tool Write (Internal) 2100..2200 error: denied
      gen_ai.operation.name = execute_tool
      gen_ai.tool.name = Write
      gen_ai.tool.call.id = a
      error.type = denied
    execute_tool (Internal) 2400..9000
      gen_ai.operation.name = execute_tool
      gen_ai.tool.call.id = b
      callsheet.tool.answered = false
    execute_tool [200 x]… (Internal) 2500..2600 error: denied
      gen_ai.operation.name = execute_tool
      gen_ai.tool.name = [200 x]…
      gen_ai.tool.call.id = c
      error.type = denied
    ");
}

#[test]
fn a_run_that_was_stopped_is_no_error() {
    let cancelled = json!({"status": "cancelled", "class": "cancelled"});
    let spans = translate(&run("codex", cancelled), &[]);
    assert_eq!(spans[0].status, Status::Unset);
    assert!(!shown(&spans).contains("error.type"));
}

#[test]
fn a_flood_of_tool_calls_is_bounded_and_counted() {
    let calls: Vec<(&str, Value)> = (0..5002)
        .map(|number| {
            (
                "tool_call",
                json!({"id": number.to_string(), "name": "Bash"}),
            )
        })
        .collect();
    let spans = translate(&run("claude", json!({})), &events(&calls));
    assert_eq!(spans.len(), 5001);
    assert!(shown(&spans[..1]).contains("callsheet.tools.left_out = 2\n"));
}

#[test]
fn a_run_that_is_not_finished_has_no_spans() {
    let mut unfinished = run("claude", json!({}));
    unfinished.state = RunState::Running;
    assert!(Spans::of(&unfinished).is_none());
}

#[test]
fn providers_come_from_the_adapter_or_the_model() {
    let provider = super::names::provider;
    assert_eq!(provider("codex", None), Some("openai"));
    assert_eq!(provider("gemini", Some("x")), Some("gcp.gemini"));
    assert_eq!(
        provider("opencode", Some("anthropic/claude")),
        Some("anthropic")
    );
    assert_eq!(
        provider("opencode", Some("google/gemini")),
        Some("gcp.gemini")
    );
    assert_eq!(provider("opencode", None), None);
    assert_eq!(provider("command", Some("a/b")), None);
}

#[test]
fn the_agent_is_told_of_the_span_that_is_exported() {
    let run = run("claude", json!({}));
    let header = traceparent(run.id);
    let root = &translate(&run, &[])[0].span_context;
    assert_eq!(
        header,
        format!("00-{}-{}-01", root.trace_id(), root.span_id())
    );
    assert_eq!((header.len(), root.is_valid()), (55, true));
    assert_ne!(header, traceparent("1m7f6zd4n3x5c3".parse().unwrap()));
}

#[test]
fn the_usual_variables_switch_it_on_and_off() {
    let on = |variables: &[(&str, &str)]| {
        let owned = variables.iter();
        is_on(
            &owned
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert!(on(&[endpoint]));
    assert!(on(&[(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "http://x/v1/traces"
    )]));
    assert!(!on(&[]));
    assert!(!on(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]));
    assert!(!on(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]));
    assert!(!on(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]));
}

#[test]
fn what_cannot_be_sent_is_said_before_anything_is_tried() {
    let said = |variables: &[(&str, &str)]| {
        let owned = variables.iter();
        let environment = owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        send::send(Vec::new(), &environment.collect(), Duration::ZERO).unwrap_err()
    };
    insta::assert_snapshot!(
        said(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]),
        @"OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`; this build sends `http/protobuf` and `http/json`"
    );
    if !cfg!(feature = "otel-tls") {
        insta::assert_snapshot!(
            said(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "HTTPS://user:password@example.com")]),
            @"this build has no TLS; the Cargo feature `otel-tls` adds it"
        );
    }
}
