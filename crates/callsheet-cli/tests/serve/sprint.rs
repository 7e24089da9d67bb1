//! The sprint over HTTP: start, stop, status, the board, batches and stories.

use serde_json::{Value, json};

use crate::project::Project;
use crate::served::{Served, demo};

const BOARD: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";

/// An agent that finds nothing, and has nothing to commit.
const REVIEWER: &str = "[[scenes]]\nphase = \"code-review\"\nsteps = [{ say = \"ZERO ISSUES\" }]\n\
    [[scenes]]\nphase = \"commit\"\nsteps = [{ say = \"[NO-CHANGES-TO-COMMIT]\" }]\n";

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_project_without_a_sprint_is_idle() {
    let project = Project::new();
    let served = Served::start(&project);
    assert_eq!(
        served.get("/api/orchestrator/status").expect(200),
        json!({"status": "idle", "batch_id": null, "cycles_completed": 0, "max_cycles": 0})
    );
    assert_eq!(
        served.get("/api/orchestrator-status").expect(200),
        json!({"activities": [], "raw": ""})
    );
    assert_eq!(
        served.get("/api/batches").expect(200),
        json!({"batches": [], "total": 0})
    );
    assert_eq!(
        served.get("/story-descriptions.json").expect(200),
        json!({})
    );
    let no_board = "this project has no `sprint-status.yaml`".to_owned();
    assert_eq!(
        served.get("/api/sprint-status").error(404),
        ("NOT_FOUND".to_owned(), no_board.clone())
    );
    assert_eq!(
        served
            .post("/api/orchestrator/start", &json!({}))
            .error(412),
        ("PRECONDITION_FAILED".to_owned(), no_board)
    );
    assert_eq!(
        served.post("/api/orchestrator/stop", &json!({})).error(409),
        ("CONFLICT".to_owned(), "no batch is running".to_owned())
    );
}

#[test]
fn what_a_batch_is_started_with_is_checked() {
    let project = Project::new();
    let served = Served::start(&project);
    let started = |body: &str| {
        let response = served.send(
            "POST",
            "/api/orchestrator/start",
            "application/json",
            body.as_bytes(),
        );
        let (code, message) = response.error(400);
        assert_eq!(code, "VALIDATION_ERROR", "{body}");
        message
    };
    assert_eq!(started("{"), "Invalid JSON body");
    assert_eq!(started("[]"), "Invalid JSON body");
    assert_eq!(
        started(r#"{"batch_size": 0}"#),
        "batch_size must be positive"
    );
    assert_eq!(started(r#"{"batch_size": "many"}"#), "Invalid batch_size");
    assert_eq!(started(r#"{"batch_size": true}"#), "Invalid batch_size");
}

#[test]
fn the_methods_of_each_path_are_told() {
    let project = Project::new();
    let served = Served::start(&project);
    for path in [
        "/api/orchestrator/start",
        "/api/orchestrator/stop",
        "/api/sprint-status",
        "/api/orchestrator-status",
        "/api/batches",
        "/api/settings",
    ] {
        let response = served.send("OPTIONS", path, "", b"");
        assert_eq!(response.status, 204, "{path}");
        assert_eq!(response.header("allow"), Some("GET, POST, PUT, OPTIONS"));
        assert_eq!(response.header("access-control-allow-origin"), None);
    }
    let status = served.send("OPTIONS", "/api/orchestrator/status", "", b"");
    assert_eq!(status.status, 405);
}

#[test]
fn a_sprint_is_started_and_its_batch_is_told() {
    let project = demo();
    let board = project.read(BOARD);
    project.file(
        BOARD,
        board.replace("1-1-add-a-task: done", "1-1-add-a-task: review"),
    );
    project.file("agent.toml", REVIEWER);
    let served = Served::start(&project);
    let before = served.get("/api/batches").expect(200);
    assert_eq!(before["total"], 1);
    let started = served.post("/api/orchestrator/start", &json!({"batch_size": 1}));
    assert_eq!(
        started.expect(200),
        json!({"status": "started", "batch_size": 1})
    );
    let status = served.until("/api/orchestrator/status", |found| {
        found["status"] == "idle" && found["cycles_completed"] == 1
    });
    assert_eq!(status["max_cycles"], 1);
    let batch = word(&status["batch_id"]);
    let batches = served.get("/api/batches?limit=1").expect(200);
    assert_eq!(batches["total"], 2);
    let row = &batches["batches"][0];
    assert_eq!(row["id"], batch);
    assert_eq!(row["status"], "completed");
    assert_eq!(row["story_count"], 1);
    let detail = served.get(&format!("/api/batches/{batch}")).expect(200);
    assert_eq!(&detail["batch"], row);
    let story = &detail["stories"][0];
    assert_eq!(story["id"], 1);
    assert_eq!(story["story_key"], "1-1-add-a-task");
    assert_eq!(story["epic_id"], "1");
    assert!(story["started_at"].as_i64() <= story["ended_at"].as_i64());
    let commands = story["commands"]
        .as_array()
        .unwrap_or_else(|| panic!("{story}"));
    assert_eq!(story["command_count"], commands.len());
    assert_eq!(commands[0]["command"], "sprint-code-review");
    assert_eq!(commands[0]["task_id"], "code-review-1");
    assert_eq!(commands[0]["status"], "completed");
    assert!(commands[0]["ended_at"].is_i64());
    let stats = &detail["stats"];
    assert_eq!(stats["cycles_completed"], 1);
    assert_eq!(stats["command_count"], commands.len());
}

#[test]
fn batches_are_read_in_pages() {
    let project = demo();
    let served = Served::start(&project);
    let total = |query: &str| {
        let found = served.get(&format!("/api/batches{query}")).expect(200);
        (
            found["total"].clone(),
            found["batches"].as_array().map(Vec::len),
        )
    };
    let all = (json!(1), Some(1));
    for query in [
        "",
        "?limit=0",
        "?limit=1000",
        "?limit=x&offset=-3",
        "?offset=y",
    ] {
        assert_eq!(total(query), all, "{query}");
    }
    assert_eq!(total("?offset=1"), (json!(1), Some(0)));
    assert_eq!(
        served.get("/api/batches/no-such").error(400),
        ("VALIDATION_ERROR".to_owned(), "Invalid batch ID".to_owned())
    );
    let (code, _) = served.get("/api/batches/00000000000000").error(404);
    assert_eq!(code, "NOT_FOUND");
    let batch = served.get("/api/batches").expect(200);
    let batch = word(&batch["batches"][0]["id"]);
    let detail = served.get(&format!("/api/batches/{batch}")).expect(200);
    let told: Vec<(&str, &str)> = detail["stories"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|story| Some((story["story_key"].as_str()?, story["status"].as_str()?)))
        .collect();
    assert_eq!(
        told,
        [
            ("1-1-add-a-task", "done"),
            ("1-2-list-open-tasks", "done"),
            ("1-3-finish-a-task", "done"),
            ("2-1-search-tasks", "done"),
            ("2-2-share-the-list", "blocked"),
        ]
    );
    let stats = &detail["stats"];
    assert_eq!(stats["stories_done"], 4);
    assert_eq!(stats["stories_failed"], 1);
    assert_eq!(stats["stories_in_progress"], 0);
    assert_eq!(stats["max_cycles"], Value::Null);
}

#[test]
fn a_batch_whose_process_is_gone_is_ended_by_a_stop() {
    let project = demo();
    let board = project.read(BOARD);
    project.file(
        BOARD,
        board.replace("1-1-add-a-task: done", "1-1-add-a-task: review"),
    );
    project.file("agent.toml", "[[steps]]\nhang = true\n");
    let mut sprint = project.command(&["sprint", "run", "1"]).spawn().unwrap();
    let served = Served::start(&project);
    served.until("/api/orchestrator/status", |found| {
        found["status"] == "running"
    });
    let busy = served.post("/api/orchestrator/start", &json!({}));
    assert_eq!(
        busy.error(409),
        (
            "CONFLICT".to_owned(),
            "a batch is running already".to_owned()
        )
    );
    sprint.kill().unwrap();
    sprint.wait().unwrap();
    let status = served.until("/api/orchestrator/status", |found| {
        found["status"] == "idle"
    });
    let batch = word(&status["batch_id"]);
    let row = |name: &str| served.get("/api/batches").expect(200)["batches"][0][name].clone();
    assert_eq!(
        (row("status"), row("state")),
        (json!("running"), json!("interrupted"))
    );
    let stop = || served.post("/api/orchestrator/stop", &json!({}));
    assert_eq!(
        stop().expect(200),
        json!({"status": "cleaned", "batch_id": batch})
    );
    assert_eq!(
        (row("status"), row("state")),
        (json!("stopped"), json!("stopped"))
    );
    assert_eq!(stop().error(409).1, "no batch is running");
}

#[test]
fn a_batch_is_stopped() {
    let project = demo();
    let board = project.read(BOARD);
    project.file(
        BOARD,
        board.replace("1-1-add-a-task: done", "1-1-add-a-task: review"),
    );
    project.file("agent.toml", "[[steps]]\nhang = true\n");
    let served = Served::start(&project);
    let started = served.post("/api/orchestrator/start", &json!({"batch_size": "all"}));
    assert_eq!(
        started.expect(200),
        json!({"status": "started", "batch_size": "all"})
    );
    let running = served.until("/api/orchestrator/status", |found| {
        found["current_stories"] == json!(["1-1-add-a-task"])
    });
    assert_eq!(running["status"], "running");
    assert_eq!(running["max_cycles"], Value::Null);
    let stopped = served.post("/api/orchestrator/stop", &json!({"cancel": true}));
    assert_eq!(stopped.expect(200), json!({"status": "stopping"}));
    let idle = served.until("/api/orchestrator/status", |found| {
        found["status"] == "idle"
    });
    let detail = served.get(&format!("/api/batches/{}", word(&idle["batch_id"])));
    assert_eq!(detail.expect(200)["batch"]["status"], "stopped");
}

#[test]
fn the_board_and_the_stories_are_told() {
    let project = demo();
    project.file(
        "_bmad-output/implementation-artifacts/orchestrator.md",
        "# Log\n\n one\n",
    );
    let served = Served::start(&project);
    let board = served.get("/api/sprint-status").expect(200);
    assert_eq!(board["development_status"]["2-2-share-the-list"], "blocked");
    assert_eq!(
        served.get("/api/orchestrator-status").expect(200),
        json!({"activities": ["one"], "raw": "# Log\n\n one\n"})
    );
    let file = served.get("/sprint-status.yaml");
    assert_eq!(file.text(), project.read(BOARD));
    assert_eq!(file.header("cache-control"), Some("no-cache"));
    assert_eq!(served.get("/orchestrator.md").text(), "# Log\n\n one\n");
    assert_eq!(served.get("/sprint-runner.csv").error(404).0, "NOT_FOUND");
    let descriptions = served.get("/story-descriptions.json").expect(200);
    assert!(
        descriptions["2-2-share-the-list"].is_string(),
        "{descriptions}"
    );
    let story = served.get("/api/stories/2-2").expect(200)["data"].clone();
    assert_eq!(story["key"], "2-2-share-the-list");
    assert_eq!(story["epic_id"], "2");
    assert_eq!(story["status"], "blocked");
    assert_eq!(story["description"], descriptions["2-2-share-the-list"]);
    assert_eq!(
        story["files"][0]["path"],
        "_bmad-output/implementation-artifacts/sprint-2-2-share-the-list.md"
    );
    assert_eq!(
        story["tech_specs"][0]["path"],
        "_bmad-output/implementation-artifacts/sprint-tech-spec-2-2-share-the-list.md"
    );
    let attempt = &story["attempts"][0];
    assert_eq!(attempt["status"], "blocked");
    let runs = story["runs"].as_array().map(Vec::len);
    assert_eq!(runs, attempt["commands"].as_array().map(Vec::len));
    let (code, message) = served.get("/api/stories/9-9").error(404);
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("NOT_FOUND", "no story `9-9`")
    );
}

#[test]
fn the_status_of_a_story_is_set() {
    let project = demo();
    let served = Served::start(&project);
    let before = project.read(BOARD);
    let set = |key: &str, body: Value| served.post(&format!("/api/stories/{key}/state"), &body);
    let (code, message) = set("2-1", json!({"state": "backlog"})).error(409);
    assert_eq!(code, "CONFLICT");
    assert!(message.contains("2-1-search-tasks"), "{message}");
    assert_eq!(project.read(BOARD), before);
    let (_, message) = set("2-1", json!({"state": "nonsense"})).error(400);
    assert_eq!(
        message,
        "`nonsense` is not a status; use `backlog`, `ready-for-dev`, `in-progress`, `review`, `done`, `blocked`"
    );
    assert_eq!(
        set("--force", json!({"state": "done"})).error(404).0,
        "NOT_FOUND"
    );
    let done = set("2-1", json!({"state": "backlog", "force": true})).expect(200);
    assert_eq!(
        done["data"],
        json!({"key": "2-1-search-tasks", "from": "done", "to": "backlog", "changed": true})
    );
    let expected = before.replace("2-1-search-tasks: done", "2-1-search-tasks: backlog");
    assert_eq!(project.read(BOARD), expected);
}
