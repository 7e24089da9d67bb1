//! Agent profiles and runners: read, made, changed and deleted, and nothing outside of their directory.

#![expect(clippy::unwrap_used, reason = "what a test cannot read fails it")]

use serde_json::json;

use crate::api::desk;
use crate::desk::{has, wait_for};
use crate::server::Server;

const PROFILES: &str = "/api/projects/project/agent-profiles";

#[test]
fn profiles_are_made_changed_and_deleted() {
    let desk = desk(
        "cat > /dev/null; echo up > up; sleep 600",
        "\n[profiles.fixed]\nrunner = \"agent\"\n",
    );
    let server = Server::start(desk);
    let coder = json!({"name": "coder", "runner": "agent", "prompt_template": "You work on {{task.title}}.", "default_exclude": ["**/*.env"]});
    let made = server.post(PROFILES, &coder).data(201);
    assert_eq!(made["home"], "callsheet/profiles/coder.toml");
    assert_eq!(
        server.desk.project.read("callsheet/profiles/coder.toml"),
        "runner = \"agent\"\nprompt_template = \"You work on {{task.title}}.\"\ndefault_exclude = [\"**/*.env\"]\n"
    );
    let one = "/api/agent-profiles/coder";
    assert_eq!(server.get(one).data(200), made);
    assert_eq!(
        server.post(PROFILES, &coder).error(),
        "409 CONFLICT: there is a profile `coder` already"
    );
    let change = |body| server.ask("PATCH", one, Some(&body));
    let changed = change(json!({"model": "opus", "default_exclude": null})).data(200);
    assert_eq!(changed["profile"]["model"], "opus");
    assert_ne!(changed["fingerprint"], made["fingerprint"]);
    assert_eq!(
        change(json!({"prompt_template": "{{task.nothing}}"})).status,
        400
    );
    assert_eq!(change(json!({"runner": null})).status, 200);
    assert_eq!(
        server.desk.project.read("callsheet/profiles/coder.toml"),
        "runner = \"agent\"\nprompt_template = \"You work on {{task.title}}.\"\nmodel = \"opus\"\n"
    );
    let fixed = server.ask("DELETE", "/api/agent-profiles/fixed", None);
    assert_eq!(
        fixed.error(),
        "409 CONFLICT: profile `fixed` stands in `callsheet.toml`; change it there"
    );
    let listed = server.get(PROFILES).json();
    assert_eq!(listed["pagination"]["total"], 2);
    in_use(&server, one);
}

/// Deletes a profile, which is refused as long as a run has it.
fn in_use(server: &Server, one: &str) {
    let task = server.task("One");
    let order = json!({"agent_profile_id": "coder"});
    let run = server
        .post(&format!("/api/tasks/{task}/runs"), &order)
        .data(201);
    let run = run["id"].as_str().unwrap();
    assert_eq!(
        server.ask("DELETE", one, None).error(),
        format!("409 CONFLICT: profile `coder` is in use: run `{run}` is not over")
    );
    let up = server
        .desk
        .project
        .path(&format!(".callsheet/worktrees/task-{task}/up"));
    wait_for("the agent is up", || has(&up));
    server
        .ask("POST", &format!("/api/runs/{run}/stop"), None)
        .data(200);
    assert_eq!(server.ask("DELETE", one, None).status, 204);
    assert_eq!(
        server.get(one).error(),
        "404 NOT_FOUND: no agent profile `coder`"
    );
}

#[test]
fn no_profile_is_written_elsewhere() {
    let desk = desk("cat > /dev/null", "");
    let outside = desk.project.outside();
    let server = Server::start(desk);
    for name in ["../x", "a/b", "..", ".", "", "a.toml", "ä", "a\\b"] {
        let refused = server.post(PROFILES, &json!({"name": name, "runner": "agent"}));
        assert_eq!(refused.status, 400, "{name}: {}", refused.body);
    }
    // A directory that leads out takes nothing along.
    std::fs::create_dir_all(server.desk.project.path("callsheet")).unwrap();
    let out = outside.join("out");
    std::fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&out, server.desk.project.path("callsheet/profiles")).unwrap();
    let refused = server.post(PROFILES, &json!({"name": "x", "runner": "agent"}));
    assert!((400..500).contains(&refused.status), "{}", refused.body);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn runners_tell_what_they_can_do_and_nothing_secret() {
    let settings = "\n[runners.keyed]\nadapter = \"command\"\ncommand = [\"no-such-program\", \"secret-argument\"]\nenv = { KEY = \"secret-value\" }\naccount = \"me\"\n";
    let server = Server::start(desk("cat > /dev/null", settings));
    let listed = server.get("/api/runners?limit=100");
    assert!(!listed.body.contains("secret"), "{}", listed.body);
    let runners = listed.json()["data"].clone();
    let find = |name: &str| {
        let mut all = runners.as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(
        find("keyed"),
        json!({
            "name": "keyed", "adapter": "command", "title": find("agent")["title"], "configured": true,
            "installed": false, "model": null, "account": "me", "permissions": null,
            "capabilities": {
                "supports_model": false, "supports_non_interactive": true,
                "supports_prompt_file_inclusion": false, "available_models": [],
            },
            "paused": null,
        })
    );
    let claude = find("claude");
    assert_eq!(
        (
            &claude["configured"],
            &claude["capabilities"]["supports_model"]
        ),
        (&json!(false), &json!(true))
    );
    assert_eq!(find("agent")["installed"], true);
}
