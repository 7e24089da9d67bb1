//! `log-event`: the line that it prints, and the event that it stores.

#![expect(
    clippy::unwrap_used,
    reason = "an event that cannot be read is a failed test"
)]

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::project::{Project, Run};

const EVENT: &str = r#"{"epic_id": "2a", "story_id": "2a-1,2a-2", "command": "sprint-dev-story", "task_id": "tests",
    "status": "end", "message": "say \"hi\"\nand go", "metrics": {"tests": 4}, "attempt": 2}"#;

/// Returns what a user sees, with the time of the line made nameless.
fn shown(project: &Project, run: &Run) -> String {
    let text = project.shown(run);
    let lines = text.lines().map(|line| match line.split_once(',') {
        Some((time, rest)) if time.parse::<i64>().is_ok() => format!("[TIME],{rest}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn log(project: &Project, event: &str) -> String {
    shown(project, &project.run(&["log-event", event]))
}

fn commands(project: &Project) -> Vec<Value> {
    let run = project.run(&["events", "--json"]);
    let text = run.text();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter(|event: &Value| event["type"].as_str().unwrap().starts_with("command:"))
        .collect()
}

#[test]
fn the_line_is_printed_and_the_event_stored() {
    let desk = Desk::with_script("[[steps]]\nsay = \"hello\"\n");
    desk.exec(&[]);
    insta::assert_snapshot!(log(&desk.project, EVENT), @r#"
    exit: 0
    --- stdout
    [TIME],2a,"2a-1,2a-2",sprint-dev-story,tests,end,"say ""hi""\nand go"
    "#);
    let stored = commands(&desk.project);
    let [event] = &stored[..] else {
        panic!("{stored:?}");
    };
    assert_eq!(event["type"], "command:end");
    let mut payload = event["payload"].clone();
    assert!(payload["logged_at"].as_i64().unwrap() > 1_700_000_000);
    payload["logged_at"] = json!(0);
    insta::assert_snapshot!(payload.to_string(), @r#"{"epic_id":"2a","story_key":"2a-1,2a-2","command":"sprint-dev-story","task_id":"tests","status":"end","logged_at":0,"message":"say \"hi\"\\nand go","metrics":{"tests":4},"attempt":2}"#);
}

#[test]
fn the_run_is_named_where_it_is_known() {
    let mut desk = Desk::with_script("[[steps]]\nsay = \"hello\"\n");
    desk.exec(&[]);
    let run = desk.runs()[0]["id"].as_str().unwrap().to_owned();
    desk.project.variable("CALLSHEET_RUN", &run);
    let _ = log(&desk.project, EVENT);
    desk.project.variable("CALLSHEET_RUN", "1m7f6zd4n3x5c2");
    let _ = log(&desk.project, EVENT);
    let stored = commands(&desk.project);
    assert_eq!(stored[0]["run"], json!(run));
    assert_eq!(stored[1].get("run"), None);
}

#[test]
fn without_a_store_the_line_is_printed_all_the_same() {
    let mut project = Project::new();
    insta::assert_snapshot!(log(&project, EVENT), @r#"
    exit: 3
    --- stdout
    [TIME],2a,"2a-1,2a-2",sprint-dev-story,tests,end,"say ""hi""\nand go"
    --- stderr
    error: the event is not stored: there is no store in this project
    "#);
    project.variable("CALLSHEET_RUN", "1m7f6zd4n3x5c2");
    insta::assert_snapshot!(log(&project, EVENT), @r#"
    exit: 0
    --- stdout
    [TIME],2a,"2a-1,2a-2",sprint-dev-story,tests,end,"say ""hi""\nand go"
    --- stderr
    warning: the event is not stored: there is no store in this project
    "#);
    assert!(!project.path(".callsheet").exists());
    project.file("callsheet.toml", "no settings");
    insta::assert_snapshot!(log(&project, EVENT), @r#"
    exit: 0
    --- stdout
    [TIME],2a,"2a-1,2a-2",sprint-dev-story,tests,end,"say ""hi""\nand go"
    --- stderr
    warning: the event is not stored: callsheet.toml:1: key with no value, expected `=`
    "#);
}

#[test]
fn a_bad_event_is_refused_with_its_field() {
    let project = Project::new();
    let with = |from: &str, to: &str| log(&project, &EVENT.replace(from, to));
    insta::assert_snapshot!(with("\"2a\"", "\" \""), @"
    exit: 2
    --- stderr
    error: the event: `epic_id` is empty
    ");
    insta::assert_snapshot!(with("\"2a\"", "2"), @"
    exit: 2
    --- stderr
    error: the event: `epic_id` has to be a string
    ");
    insta::assert_snapshot!(with("\"epic_id\": \"2a\",", ""), @"
    exit: 2
    --- stderr
    error: the event: `epic_id` is missing
    ");
    insta::assert_snapshot!(with("epic_id", "epic"), @"
    exit: 2
    --- stderr
    error: the event: unknown field `epic`
    hint: allowed are `epic_id`, `story_id`, `command`, `task_id`, `status`, `message`, `metrics`, `attempt`
    ");
    insta::assert_snapshot!(with("task_id", "epic_id"), @"
    exit: 2
    --- stderr
    error: the event: line 1: the key `epic_id` is there twice, first in line 1
    ");
    insta::assert_snapshot!(with("{\"tests\": 4}", "4"), @"
    exit: 2
    --- stderr
    error: the event: `metrics` has to be an object
    ");
    insta::assert_snapshot!(with("\"attempt\": 2", "\"attempt\": -2"), @"
    exit: 2
    --- stderr
    error: the event: `attempt` has to be a whole number
    ");
    insta::assert_snapshot!(with("2}", "2"), @"
    exit: 2
    --- stderr
    error: the event: line 2: the text ends before the `}` of the object that begins in line 1
    ");
    insta::assert_snapshot!(log(&project, "[]"), @"
    exit: 2
    --- stderr
    error: the event has to be a JSON object
    ");
}
