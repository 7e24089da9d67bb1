//! `log -f` and `events -f`: what is stored first, then what comes, until the run is over.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Child, Stdio};

use crate::desk::{Desk, has, wait_for};

const AGENT: &str =
    "echo one; echo up > up; while ! test -e go; do sleep 0.02; done; echo two; echo three >&2";

fn spawned(desk: &Desk, args: &[&str]) -> Child {
    let mut command = desk.project.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_follower_that_comes_late_misses_nothing_and_ends_with_the_run() {
    let desk = Desk::with_shell(AGENT, "");
    let exec = spawned(&desk, &["exec", "run", "--input", "task.yaml"]);
    let up = desk.project.path("up");
    wait_for("the agent is up", || has(&up));
    let id = desk.runs()[0]["id"].as_str().unwrap().to_owned();
    let log = spawned(&desk, &["log", &id, "--stream", "stdout", "-f"]);
    let tail = spawned(
        &desk,
        &["log", &id, "--stream", "stdout", "-f", "--tail", "1"],
    );
    let events = spawned(&desk, &["events", "--run", &id, "-f", "--json"]);
    desk.project.file("go", "");
    assert!(exec.wait_with_output().unwrap().status.success());
    let text = |child: Child| {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(text(log), "one\ntwo\n");
    assert!(text(tail).ends_with("two\n"));
    let events = text(events);
    let kinds: Vec<serde_json::Value> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds.first().unwrap(), "run:queued");
    assert_eq!(kinds.last().unwrap(), "run:finished");
    assert_eq!(
        events,
        desk.project.run(&["events", "--run", &id, "--json"]).text()
    );
}

#[test]
fn a_log_by_stream_and_by_number() {
    let desk = Desk::with_shell("echo out; echo err >&2", "");
    let (document, _) = desk.document(&[]);
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id]).text();
    assert!(log.contains("\nstdout out\n"), "{log}");
    assert!(log.contains("stderr err\n"), "{log}");
    assert!(log.starts_with("meta   ## Role\n"), "{log}");
    let records = desk
        .project
        .run(&["log", id, "--json", "--since", "1"])
        .text();
    let first: serde_json::Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["seq"], &first["stream"]),
        (&2.into(), &"meta".into())
    );
    let launch: serde_json::Value = serde_json::from_str(first["data"].as_str().unwrap()).unwrap();
    assert_eq!(launch["kind"], "launch");
    insta::assert_snapshot!(desk.project.callsheet(&["log", "no-such"]), @"
    exit: 2
    --- stderr
    error: `no-such` is not the id of a run
    hint: `callsheet runs` lists them
    ");
}
