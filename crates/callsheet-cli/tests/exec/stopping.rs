//! Stopping a run: by Ctrl-C, by `stop` from elsewhere, once and twice.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::desk::{Desk, has, survivors, wait_for};

/// Starts an agent that says when it is up, and waits for that.
fn started(desk: &Desk) -> Child {
    let mut command = desk.command(&["--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let up = desk.project.path("up");
    wait_for("the agent is up", || has(&up));
    child
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([name, &pid])
            .status()
            .unwrap()
            .success()
    );
}

fn ended(child: Child) -> (Value, Option<i32>, String) {
    let done = child.wait_with_output().unwrap();
    let document = serde_json::from_slice(&done.stdout).unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    (document, done.status.code(), said)
}

#[test]
fn ctrl_c_stops_the_tree_and_leaves_a_clean_record() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let line = "(setsid sleep 600 &); echo up > up; sleep 600";
        let desk = Desk::with_shell(line, "");
        let child = started(&desk);
        signal(&child, name);
        let (document, code, said) = ended(child);
        assert_eq!(code, Some(1), "{name}");
        let end = json!([
            document["status"],
            document["class"],
            document["termination"]
        ]);
        assert_eq!(end, json!(["cancelled", "cancelled", "cancelled"]));
        assert!(said.contains("stopping the agent; once more ends it at once"));
        assert_eq!(
            survivors(document["id"].as_str().unwrap()),
            Vec::<String>::new()
        );
        desk.assert_clean();
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait() {
    let desk = Desk::with_shell(
        "trap '' INT TERM; echo up > up; while :; do sleep 1; done",
        "",
    );
    let child = started(&desk);
    let since = std::time::Instant::now();
    signal(&child, "-INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(&child, "-INT");
    let (document, _, said) = ended(child);
    assert_eq!(document["status"], "cancelled");
    assert!(said.contains("ending the agent"), "{said}");
    assert!(since.elapsed().as_secs() < 5, "the polite way takes longer");
    desk.assert_clean();
}

#[test]
fn stop_ends_a_run_from_elsewhere() {
    let desk = Desk::with_shell("echo up > up; sleep 600", "");
    let child = started(&desk);
    let id = desk.runs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.runs()[0]["state"], "running");
    let stopped = desk.project.run(&["stop", &id]);
    assert_eq!(stopped.code(), Some(0));
    let (document, code, _) = ended(child);
    assert_eq!((code, &document["status"]), (Some(1), &json!("cancelled")));
    insta::assert_snapshot!(desk.project.callsheet(&["stop", &id]), @"
    exit: 0
    --- stderr
    note: run [ID1] is over already
    run [ID1]: cancelled
    ");
    desk.assert_clean();
}

#[test]
fn an_agent_that_is_done_before_it_hears_of_the_stop_has_completed() {
    let desk = Desk::with_shell(
        "trap 'exit 0' TERM; echo up > up; while :; do sleep 0.1; done",
        "",
    );
    let child = started(&desk);
    signal(&child, "-INT");
    let (document, _, _) = ended(child);
    assert_eq!(document["status"], "completed");
    assert_eq!(document["termination"], "exit");
}

#[test]
fn stopping_what_is_not_there() {
    let desk = Desk::with_shell("echo up > up", "");
    insta::assert_snapshot!(desk.project.callsheet(&["stop", "1m7f6zd4"]), @"
    exit: 3
    --- stderr
    error: there are no runs in this project
    hint: `callsheet exec RECIPE` starts one
    ");
    assert_eq!(desk.exec(&[]).code(), Some(0));
    insta::assert_snapshot!(desk.project.callsheet(&["stop", "zzzz"]), @"
    exit: 2
    --- stderr
    error: no run `zzzz`
    hint: `callsheet runs` lists them
    ");
}
