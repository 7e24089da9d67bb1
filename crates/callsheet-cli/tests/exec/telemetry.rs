//! Runs as spans: what a receiver on the loopback gets, and what a receiver that fails does to a run.

#![expect(
    clippy::unwrap_used,
    reason = "a receiver that breaks HTTP fails the test"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::Desk;

/// What an agent says, does and costs; none of its texts may leave.
const SCRIPT: &str = r#"
model = "scripted-1"
[[steps]]
say = "SECRET"
[[steps]]
call = { tool = "Read", input = { path = "SECRET" }, output = "SECRET" }
[[steps]]
call = { tool = "Bash", input = { command = "SECRET" }, output = "SECRET", exit_code = 2 }
[[steps]]
write = { path = "src/login.rs", text = "fn login() {{}}\n" }
[[steps]]
usage = { input_tokens = 100, output_tokens = 7, cached_tokens = 40 }
"#;

/// A request that came.
struct Posted {
    head: String,
    body: Vec<u8>,
}

/// Listens on the loopback; every request is answered with the same status.
fn receiver(status: &'static str) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, posted) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = sender.send(answer(&stream.unwrap(), status));
        }
    });
    (address, posted)
}

fn answer(mut stream: &TcpStream, status: &str) -> Posted {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    stream.write_all(answer.as_bytes()).unwrap();
    Posted { head, body }
}

/// Returns an attribute of a span, as the text of its value.
fn attribute(span: &Value, name: &str) -> Option<String> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes
        .iter()
        .find(|attribute| attribute["key"] == name)?;
    let value = found["value"].as_object().unwrap().values().next().unwrap();
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

/// Returns what the span of a run has to say, by its document.
fn known(document: &Value) -> [(&'static str, &str); 13] {
    [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "agent"),
        ("gen_ai.agent.id", "scripted"),
        ("gen_ai.response.model", "scripted-1"),
        ("gen_ai.usage.input_tokens", "100"),
        ("gen_ai.usage.output_tokens", "7"),
        ("gen_ai.usage.cache_read.input_tokens", "40"),
        ("callsheet.run.id", document["id"].as_str().unwrap()),
        ("callsheet.run.status", "completed"),
        ("callsheet.run.termination", "exit"),
        ("callsheet.run.changed_files", "1"),
        ("callsheet.prompt.id", document["prompt"].as_str().unwrap()),
        (
            "callsheet.prompt.fingerprint",
            document["delivered"]["prompt"]["fingerprint"]
                .as_str()
                .unwrap(),
        ),
    ]
}

#[test]
fn a_run_is_exported_as_spans_of_the_conventions() {
    let (address, posted) = receiver("200 OK");
    let mut desk = Desk::with_script(SCRIPT);
    desk.project
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", &address)
        .variable("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue");
    let (document, code) = desk.document(&[]);
    assert_eq!(code, Some(0), "{document}");

    let got = posted.recv_timeout(Duration::from_secs(10)).unwrap();
    let head = got.head.to_lowercase();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(head.contains("x-team: blue"), "{head}");
    let text = String::from_utf8(got.body).unwrap();
    assert!(
        !text.contains("SECRET") && !text.contains("login"),
        "{text}"
    );
    let body: Value = serde_json::from_str(&text).unwrap();
    let sent = &body["resourceSpans"][0];
    assert_eq!(
        attribute(&sent["resource"], "service.name").unwrap(),
        "callsheet"
    );
    let scope = &sent["scopeSpans"][0];
    assert_eq!(scope["scope"]["name"], "callsheet");
    let spans = scope["spans"].as_array().unwrap();
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(
        names,
        [
            "invoke_agent agent",
            "execute_tool Read",
            "execute_tool Bash",
            "execute_tool write"
        ]
    );

    let root = &spans[0];
    for (name, expected) in known(&document) {
        assert_eq!(attribute(root, name).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(attribute(root, "error.type"), None);
    assert_eq!(attribute(&spans[2], "error.type").unwrap(), "tool_error");
    assert_eq!(attribute(&spans[1], "gen_ai.tool.name").unwrap(), "Read");
    for tool in &spans[1..] {
        assert_eq!(tool["traceId"], root["traceId"]);
        assert_eq!(tool["parentSpanId"], root["spanId"]);
    }
    let nanos = |field: &str| root[field].as_str().unwrap().parse::<i64>().unwrap();
    assert_eq!(
        nanos("startTimeUnixNano"),
        document["started_at"].as_i64().unwrap() * 1_000_000
    );
    assert_eq!(
        nanos("endTimeUnixNano"),
        document["finished_at"].as_i64().unwrap() * 1_000_000
    );
}

#[test]
fn the_agent_gets_the_trace_it_belongs_to() {
    let (address, posted) = receiver("200 OK");
    let mut desk = Desk::with_shell("printf %s \"$TRACEPARENT\" > told", "");
    desk.project
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", &address)
        .variable("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    assert_eq!(desk.exec(&[]).code(), Some(0));
    let got = posted.recv_timeout(Duration::from_secs(10)).unwrap();
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    let root = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    let id = |field: &str| root[field].as_str().unwrap().to_owned();
    let expected = format!("00-{}-{}-01", id("traceId"), id("spanId"));
    assert_eq!(desk.project.read("told"), expected);

    desk.project.variable("OTEL_SDK_DISABLED", "true");
    assert_eq!(desk.exec(&[]).code(), Some(0));
    assert_eq!(desk.project.read("told"), "");
    assert!(
        posted.try_recv().is_err(),
        "nothing is sent when the SDK is switched off"
    );
}

#[test]
fn protobuf_is_the_default() {
    let (address, posted) = receiver("200 OK");
    let mut desk = Desk::with_shell("exit 1", "");
    desk.project.variable(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        &format!("{address}/elsewhere"),
    );
    assert_eq!(desk.exec(&[]).code(), Some(1));
    let got = posted.recv_timeout(Duration::from_secs(10)).unwrap();
    let head = got.head.to_lowercase();
    assert!(head.starts_with("post /elsewhere "), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let has = |text: &str| {
        got.body
            .windows(text.len())
            .any(|bytes| bytes == text.as_bytes())
    };
    assert!(has("invoke_agent agent") && has("error.type"));
}

/// Runs the agent with a receiver that fails, and returns what is on stderr and how long it took.
fn with_broken(endpoint: &str) -> (String, Duration) {
    let mut desk = Desk::with_script("[[steps]]\nsay = \"fine\"\n");
    desk.project
        .variable("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    let since = Instant::now();
    let run = desk.exec(&[]);
    let took = since.elapsed();
    assert_eq!(run.code(), Some(0));
    desk.assert_clean();
    (String::from_utf8(run.stderr).unwrap(), took)
}

#[test]
fn a_receiver_that_fails_costs_a_warning_and_nothing_else() {
    let (refusing, _posted) = receiver("401 Unauthorized");
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (endpoint, said) in [
        (refusing, "HTTP export failed with status code: 401"),
        (
            format!("http://{closed}"),
            "HTTP export failed: network error",
        ),
        (
            "http://user:word@[".to_owned(),
            "invalid exporter configuration: OTEL_EXPORTER_OTLP_ENDPOINT: invalid endpoint '…': invalid authority",
        ),
    ] {
        let (stderr, _) = with_broken(&endpoint);
        let warnings: Vec<&str> = stderr
            .lines()
            .filter(|line| line.starts_with("warning: "))
            .collect();
        assert_eq!(warnings, [format!("warning: cannot export spans: {said}")]);
    }
}

#[test]
fn a_receiver_that_never_answers_is_left() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (stderr, took) = with_broken(&format!("http://{}", silent.local_addr().unwrap()));
    assert!(
        stderr.ends_with("warning: cannot export spans: no answer within 5 s\n"),
        "{stderr}"
    );
    // The exporter itself would wait twice as long.
    assert!(took >= Duration::from_secs(5), "{took:?}");
}
