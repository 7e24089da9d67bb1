//! The WebSocket: what it says first, its pings, and the same events.

use serde_json::{Value, json};

use crate::client::{Frame, Socket};
use crate::project::Project;
use crate::served::{Served, demo};

#[test]
fn a_socket_begins_with_the_open_batch_and_answers_pings() {
    let project = demo();
    let served = Served::start(&project);
    let mut socket = served.socket();
    let init = socket.next();
    assert_eq!(init["type"], "init");
    assert_eq!(init["payload"], json!({"batch": null, "events": []}));
    assert!(init["timestamp"].as_i64() > Some(1_700_000_000_000));
    // What is not a message of ours is passed over.
    socket.send("no json");
    socket.send(r#"{"type": 3}"#);
    socket.send(r#"{"type": "ping"}"#);
    let pong = socket.next();
    assert_eq!(pong["type"], "pong");
    assert!(pong["timestamp"].is_i64());
    let run = project.run(&["task", "add", "--title", "one", "--write", "src/**"]);
    assert_eq!(run.code(), Some(0));
    let event = socket.next();
    assert_eq!(event["seq"], event["id"]);
    assert!(event["type"].is_string() && event["payload"].is_object());
}

#[test]
fn a_socket_needs_a_token_and_a_page_of_ours() {
    let project = Project::new();
    let served = Served::start(&project);
    let open = |headers: &[(&str, &str)]| Socket::open(&served.address, headers).err();
    assert_eq!(open(&[]), Some(401));
    let bearer = format!("Bearer {}", served.read_token);
    assert_eq!(open(&[("Authorization", &bearer)]), None);
    let foreign = ("Origin", "http://evil.example");
    assert_eq!(open(&[("Authorization", &bearer), foreign]), Some(403));
}

#[test]
fn a_batch_that_is_open_is_told_with_its_newest_events() {
    let project = demo();
    let path = "_bmad-output/implementation-artifacts/sprint-status.yaml";
    let board = project.read(path);
    project.file(
        path,
        board.replace("1-1-add-a-task: done", "1-1-add-a-task: review"),
    );
    project.file("agent.toml", "[[steps]]\nhang = true\n");
    let served = Served::start(&project);
    let started = served.post("/api/orchestrator/start", &json!({"batch_size": 1}));
    started.expect(200);
    let running = served.until("/api/orchestrator/status", |found| {
        found["current_stories"] == json!(["1-1-add-a-task"])
    });
    let init = served.socket().next();
    let batch = &init["payload"]["batch"];
    assert_eq!(batch["id"], running["batch_id"]);
    assert_eq!(batch["status"], "running");
    let events = init["payload"]["events"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!((1..=50).contains(&events.len()), "{init}");
    let seqs: Vec<Option<i64>> = events.iter().map(|event| event["seq"].as_i64()).collect();
    assert!(seqs.windows(2).all(|two| two[0] > two[1]), "{seqs:?}");
    let first = events.last().unwrap_or(&Value::Null);
    assert_eq!(first["type"], "batch:start", "{init}");
    assert_eq!(first["payload"]["batch_id"], running["batch_id"]);
}

#[test]
fn a_client_that_is_gone_is_let_go() {
    let project = Project::new();
    project.file(
        "callsheet.toml",
        "[serve]\nwebsocket_heartbeat_seconds = 1\n",
    );
    let served = Served::start(&project);
    let mut socket = served.socket();
    assert_eq!(socket.next()["type"], "init");
    assert_eq!(socket.next_frame(), Frame::Ping);
    assert_eq!(socket.next_frame(), Frame::Ping);
    // The second one stays without an answer.
    socket.fall_silent();
}
