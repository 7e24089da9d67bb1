//! Settings over HTTP: those of sprints and of the server, and the file itself.

use serde_json::{Value, json};

use crate::client::send;
use crate::project::Project;
use crate::served::Served;

const FILE: &str = "# Ours.\nrunner = \"fast\" # the usual one\n\n[runners.fast]\nadapter = \"command\"\ncommand = [\"./agent\"]\n\
    env = { KEY = \"secret\" }\n\n[sprint]\ndefault_max_cycles = 3 # enough\n";

fn project() -> Project {
    let project = Project::new();
    project.file("callsheet.toml", FILE);
    project
}

#[test]
fn settings_of_sprints_are_read_and_changed_in_the_file() {
    let project = project();
    let served = Served::start(&project);
    let all = json!({
        "project_context_max_age_hours": 24,
        "injection_warning_kb": 100,
        "injection_error_kb": 150,
        "default_max_cycles": 3,
        "max_code_review_attempts": 10,
        "haiku_after_review": 2,
        "server_port": 6419,
        "websocket_heartbeat_seconds": 30,
        "default_batch_list_limit": 20,
    });
    assert_eq!(served.get("/api/settings").expect(200), all);
    let put = |body: Value| served.json("PUT", "/api/settings", &body);
    assert_eq!(put(json!({})).expect(200), all);
    let changed = put(json!({"default_max_cycles": 5, "server_port": 7000})).expect(200);
    assert_eq!(changed["default_max_cycles"], 5);
    assert_eq!(changed["server_port"], 7000);
    let expected = FILE.replace("cycles = 3", "cycles = 5") + "\n[serve]\nport = 7000\n";
    assert_eq!(project.read("callsheet.toml"), expected);
    let wrong = [
        (json!({"x": 1}), "`x` is not a setting"),
        (
            json!({"default_max_cycles": 1, "server_port": true}),
            "`server_port` is true; it has to be a whole number",
        ),
        (
            json!({"injection_warning_kb": 0}),
            "`injection_warning_kb` is 0; it has to be from 1 to 4294967295",
        ),
        (
            json!({"injection_warning_kb": 200}),
            "callsheet.toml: `sprint.injection_warning_kb` is 200, more than `sprint.injection_error_kb`, which is 150\n  \
             `callsheet schema settings` prints what is allowed",
        ),
        (json!([]), "Invalid JSON body"),
    ];
    for (body, why) in wrong {
        assert_eq!(put(body).error(400).1, why);
    }
    // Nothing changes by halves.
    assert_eq!(project.read("callsheet.toml"), expected);
}

#[test]
fn the_file_is_changed_only_as_somebody_has_seen_it() {
    let project = project();
    let served = Served::start(&project);
    let path = "/api/projects/project/settings";
    let seen = served.get(path).expect(200)["data"].clone();
    assert_eq!(seen["text"], FILE);
    assert_eq!(seen["exists"], true);
    assert_eq!(
        seen["values"]["runners"]["fast"]["env"],
        json!({"KEY": "…"})
    );
    let patch = |body: Value| served.json("PATCH", path, &body);
    let set =
        json!({"sprint.stop": "cancel", "sprint.default_max_cycles": null, "runner": "other"});
    let now = patch(json!({"hash": seen["hash"], "set": set})).expect(200)["data"].clone();
    let expected = FILE
        .replace("\"fast\" #", "\"other\" #")
        .replace("default_max_cycles = 3 # enough\n", "stop = \"cancel\"\n");
    assert_eq!(now["text"], expected);
    assert_eq!(project.read("callsheet.toml"), expected);
    let (code, why) = patch(json!({"hash": seen["hash"], "text": ""})).error(412);
    assert_eq!(code, "PRECONDITION_FAILED");
    assert_eq!(why, "`callsheet.toml` has changed since you have seen it");
    let hash = &now["hash"];
    let (_, why) = patch(json!({"hash": hash, "set": {"sprint.stop": "now"}})).error(400);
    assert!(why.starts_with("callsheet.toml:"), "{why}");
    let (code, why) =
        patch(json!({"hash": hash, "set": {"runners.fast.command": ["rm"]}})).error(403);
    assert_eq!(code, "FORBIDDEN");
    assert_eq!(
        why,
        "`runners.fast.command` decides what runs; change it in `callsheet.toml` itself"
    );
    let text = format!("{expected}\n[[checks]]\nname = \"x\"\ncommand = [\"rm\"]\n");
    assert_eq!(
        patch(json!({"hash": hash, "text": text})).error(403).0,
        "FORBIDDEN"
    );
    assert_eq!(
        patch(json!({"hash": hash})).error(400).1,
        "give either `set` or `text`"
    );
    assert_eq!(project.read("callsheet.toml"), expected);
    assert_eq!(
        served.get("/api/projects/other/settings").error(404).0,
        "NOT_FOUND"
    );
}

#[test]
fn who_may_only_read_sees_no_secrets_and_changes_nothing() {
    let project = project();
    let served = Served::start(&project);
    let bearer = format!("Bearer {}", served.read_token);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let ask = |method: &str, path: &str, body: &str| {
        send(&served.address, method, path, &headers, body.as_bytes())
    };
    let path = "/api/projects/project/settings";
    let seen = ask("GET", path, "");
    assert!(!seen.text().contains("secret"), "{}", seen.text());
    assert_eq!(seen.expect(200)["data"]["text"], Value::Null);
    let writes = [
        ("PATCH", path),
        ("PUT", "/api/settings"),
        ("POST", "/api/orchestrator/start"),
        ("POST", "/api/orchestrator/stop"),
        ("POST", "/api/stories/1-1/state"),
    ];
    for (method, path) in writes {
        let (code, why) = ask(method, path, "{}").error(403);
        assert_eq!(
            (code.as_str(), why.as_str()),
            ("FORBIDDEN", "this token may only read")
        );
    }
    assert_eq!(project.read("callsheet.toml"), FILE);
}
