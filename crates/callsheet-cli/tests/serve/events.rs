//! Live events: without a gap, resumed where a client was, from whoever stores them.

use serde_json::json;

use crate::database::Database;
use crate::project::{Project, skip};
use crate::served::{Served, demo};

/// Adds a task with another process; its id comes back.
fn add_task(project: &Project, title: &str) -> String {
    let run = project.run(&["task", "add", "--title", title, "--write", "src/**"]);
    assert_eq!(
        run.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    run.text().trim().to_owned()
}

fn what_others_store_appears(project: &Project) {
    let served = Served::start(project);
    let mut all = served.events("/api/events", &[]);
    let mut other = served.events("/api/events", &[]);
    let first = add_task(project, "one");
    add_task(project, "two");
    let event = all.next();
    let wire = event.json();
    assert_eq!(wire["id"].as_i64(), event.id);
    assert_eq!(wire["seq"], wire["id"]);
    assert!(wire["timestamp"].is_i64());
    assert_eq!(
        wire["payload"]["task"]
            .as_str()
            .or(wire["payload"]["task_id"].as_str()),
        Some(first.as_str()),
        "{wire}"
    );
    let mut ids = vec![event.id];
    while !all_named(&mut ids, &all.next(), "two") {}
    // Each client gets all of them.
    assert_eq!(other.next(), event);
    let last = ids.last().copied().flatten();
    let numbers: Vec<i64> = ids.into_iter().flatten().collect();
    assert!(
        numbers.windows(2).all(|two| two[1] == two[0] + 1),
        "{numbers:?}"
    );

    // Whoever comes back has missed nothing.
    let from = event.id.map(|id| id.to_string()).unwrap_or_default();
    let mut resumed = served.events("/api/events", &[("Last-Event-ID", &from)]);
    assert_eq!(resumed.next().id, event.id.map(|id| id + 1));
    let mut since = served.events(&format!("/api/events?since={from}"), &[]);
    assert_eq!(since.next().id, event.id.map(|id| id + 1));

    add_task(project, "three");
    assert_eq!(all.next().id, last.map(|id| id + 1));
}

/// Notes the number of an event, and tells whether it is about a task of this title.
fn all_named(ids: &mut Vec<Option<i64>>, event: &crate::client::Event, title: &str) -> bool {
    ids.push(event.id);
    event.data.contains(title)
}

#[test]
fn what_others_store_appears_from_a_file() {
    what_others_store_appears(&demo());
}

#[test]
fn what_others_store_appears_from_a_server() {
    let Some(database) = Database::new() else {
        skip("no PostgreSQL server");
        return;
    };
    let mut project = demo();
    project.variable("CALLSHEET_STORE", &database.url());
    what_others_store_appears(&project);
}

#[test]
fn events_of_one_run_are_its_own() {
    let project = demo();
    let served = Served::start(&project);
    let runs = project.run(&["runs", "--limit", "1", "--json"]).json();
    let run = runs["runs"][0]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut events = served.events(&format!("/api/events?since=0&run_id={run}"), &[]);
    for _ in 0..2 {
        assert_eq!(events.next().json()["run"], json!(run));
    }
}

#[test]
fn what_is_asked_for_is_checked() {
    let project = Project::new();
    let served = Served::start(&project);
    let status = |path: &str| served.get(path).error(400).0;
    assert_eq!(status("/api/events?since=x"), "VALIDATION_ERROR");
    assert_eq!(
        served.get("/api/events?project_id=other").error(404).0,
        "NOT_FOUND"
    );
    assert_eq!(
        served.get("/api/events?run_id=00000000000000").error(404).0,
        "NOT_FOUND"
    );
    let bearer = format!("Bearer {}", served.token);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Last-Event-ID", "many"),
    ];
    let response = crate::client::send(&served.address, "GET", "/api/events", &headers, b"");
    assert_eq!(
        response.error(400).1,
        "`Last-Event-ID` is not the number of an event"
    );
}

#[test]
fn who_is_too_far_behind_is_told_to_ask_anew() {
    let project = demo();
    let served = Served::start(&project);
    let store = callsheet_store::Store::open(
        &callsheet_store::Location::parse(
            &project
                .path(".callsheet/callsheet.db")
                .display()
                .to_string(),
        )
        .unwrap(),
        callsheet_store::Access::Write,
    )
    .unwrap();
    let mut slow = served.events("/api/events?since=0", &[]);
    assert_eq!(slow.next().id, Some(1));
    let projects = callsheet_store::Wait::wait(store.projects()).unwrap();
    let note = |number: usize| callsheet_store::NewEvent {
        event: callsheet::Event::new("note", [("number", number.into())], String::new()),
        run: None,
    };
    let mut head = 0;
    for from in 0..7 {
        let events = (from * 1000..(from + 1) * 1000).map(note).collect();
        let numbers = callsheet_store::Wait::wait(store.append_events(&projects[0], events));
        head = numbers.unwrap().last().copied().unwrap_or_default();
    }
    // Whoever begins at the first is told at once; whoever listens all the time gets each of them or is told.
    let mut behind = served.events("/api/events?since=1", &[]);
    let told = behind.next();
    assert_eq!(told.name.as_deref(), Some("refetch"));
    assert_eq!(told.id, Some(head));
    assert_eq!(told.json(), json!({"id": head}));
    let mut last = 1;
    while last < head {
        let event = slow.next();
        let id = event.id.unwrap_or_default();
        assert!(event.name.is_some() || id == last + 1, "{last} {event:?}");
        last = id;
    }
}
