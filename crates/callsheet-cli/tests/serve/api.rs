//! The endpoints, from a task to its merge, with exact bodies.

#![expect(clippy::unwrap_used, reason = "what a test cannot read fails it")]

use serde_json::json;

use crate::database::Database;
use crate::desk::Desk;
use crate::server::{Answer, Server};

/// What the agent does: it changes what it may, and something that it may not.
const AGENT: &str = "cat > /dev/null; echo 'fn login() { true }' > src/login.rs; echo x > notes.md; echo one; echo two >&2";

const SETTINGS: &str = "
[[checks]]
name = \"builds\"
command = [\"test\", \"-f\", \"src/login.rs\"]

[sandbox]
mode = false
";

/// Makes a project whose agent runs a line of shell.
pub(crate) fn desk(line: &str, settings: &str) -> Desk {
    let line = toml::Value::from(line);
    let desk = Desk::new(&format!(
        "[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {line}]\n{settings}"
    ));
    desk.project.file(".gitignore", ".callsheet/\n");
    desk.commit("ignore");
    desk.git(&["config", "user.name", "n"]);
    desk.git(&["config", "user.email", "e@x"]);
    desk
}

/// What is asked and what is answered, as a snapshot has it.
struct Story<'s> {
    server: &'s Server,
    text: String,
}

impl Story<'_> {
    fn show(&mut self, what: &str, answer: &Answer) {
        let shown = self.server.shown(answer);
        self.text.push_str(&format!("{what}\n{shown}\n\n"));
    }

    fn get(&mut self, what: &str, target: &str) {
        let answer = self.server.get(target);
        self.show(what, &answer);
    }

    fn post(&mut self, what: &str, target: &str) -> Answer {
        let answer = self.server.ask("POST", target, None);
        self.show(what, &answer);
        answer
    }

    /// Adds tasks, of which one waits for the other, and runs that one; returns it and its run.
    fn begin(&mut self) -> (String, String) {
        self.get("projects", "/api/projects");
        let new = json!({
            "title": "Fix the login", "write_scope": ["src/**"], "description": "@it\nfails",
            "done_when": ["it works"],
        });
        let made = self.server.post("/api/projects/project/tasks", &new);
        self.show("add a task", &made);
        let task = made.data(201)["id"].as_str().unwrap().to_owned();
        let other = self.server.task("Another");
        let on = json!({"depends_on_task_id": task});
        for what in ["depend", "depend twice"] {
            let path = format!("/api/tasks/{other}/dependencies");
            let answer = self.server.post(&path, &on);
            self.show(what, &answer);
        }
        self.post("start what waits", &format!("/api/tasks/{other}/runs"));
        let started = self.post("start", &format!("/api/tasks/{task}/runs"));
        let run = started.data(201)["id"].as_str().unwrap().to_owned();
        self.server.over(&run);
        (task, run)
    }

    /// Looks at what a run is judged by, and decides about it.
    fn judge(&mut self, task: &str, run: &str) {
        self.get("run", &format!("/api/runs/{run}"));
        self.get("log", &format!("/api/runs/{run}/log?stream=stdout"));
        self.get("checks", &format!("/api/runs/{run}/checks"));
        let violations = format!("/api/runs/{run}/scope-violations");
        self.get("violations", &violations);
        self.post("merge too early", &format!("/api/tasks/{task}/merge"));
        let violation = self.server.get(&violations).json()["data"][0]["id"].clone();
        let path = format!("/api/scope-violations/{}", violation.as_str().unwrap());
        self.post("approve", &format!("{path}/approve"));
        self.post("approve twice", &format!("{path}/approve"));
        self.post("reject", &format!("{path}/reject"));
        let path = format!("/api/runs/{run}/checks/rerun");
        for (what, name) in [("run a check again", "builds"), ("no such check", "bulids")] {
            let answer = self.server.post(&path, &json!({"check_keys": [name]}));
            self.show(what, &answer);
        }
    }
}

#[test]
fn a_task_goes_from_its_start_to_its_merge() {
    let server = Server::start(desk(AGENT, SETTINGS));
    let mut story = Story {
        server: &server,
        text: String::new(),
    };
    let (task, run) = story.begin();
    story.judge(&task, &run);
    story.get("proof", &format!("/api/runs/{run}/proof"));
    story.get("task", &format!("/api/tasks/{task}"));
    story.post("merge", &format!("/api/tasks/{task}/merge"));
    story.post("merge twice", &format!("/api/tasks/{task}/merge"));
    story.post("start what is done", &format!("/api/tasks/{task}/runs"));
    story.post("stop what is over", &format!("/api/runs/{run}/stop"));
    story.get("tasks", "/api/projects/project/tasks?status=open");
    story.get("limits", "/api/limits");
    story.get("monitor", "/api/projects/project/monitor");
    insta::assert_snapshot!(story.text);
}

#[test]
fn a_run_is_repeated_and_continued() {
    let server = Server::start(desk("cat; echo >> src/login.rs", ""));
    let task = server.task("Fix the login");
    let first = server.run(&task);
    server.over(&first);
    let retry = server
        .ask("POST", &format!("/api/runs/{first}/retry"), None)
        .data(201);
    assert_eq!(
        (&retry["kind"], &retry["parent"]),
        (&json!("retry"), &json!(first))
    );
    let retry = server.over(retry["id"].as_str().unwrap())["id"].clone();
    let retry = retry.as_str().unwrap();
    let path = format!("/api/runs/{retry}/continue");
    assert_eq!(
        server
            .post(&path, &json!({"additional_input": " \n"}))
            .error(),
        "400 VALIDATION_ERROR: `additional_input` is empty"
    );
    assert_eq!(
        server.ask("POST", &path, None).error(),
        "400 VALIDATION_ERROR: the body has to be JSON, with `Content-Type: application/json`"
    );
    // What begins like a file or an option is a text all the same.
    let more = json!({"additional_input": "@agent.toml --runner x", "runner": "agent"});
    let next = server.post(&path, &more).data(201);
    let next = server.over(next["id"].as_str().unwrap());
    assert_eq!(
        (&next["kind"], &next["parent"]),
        (&json!("continue"), &json!(retry))
    );
    let id = next["id"].as_str().unwrap();
    let log = server
        .get(&format!("/api/runs/{id}/log?stream=meta&limit=1"))
        .data(200);
    let prompt = log["lines"][0]["data"].as_str().unwrap();
    assert!(prompt.contains("@agent.toml --runner x"), "{prompt}");
    pages(&server, (&task, &first, retry));
}

/// Looks at the lists of three runs of a task, and at the events of the first.
fn pages(server: &Server, (task, first, retry): (&str, &str, &str)) {
    let listed = server.get("/api/runs?kind=retry").json();
    assert_eq!(listed["pagination"], json!({"total": 1, "has_more": false}));
    assert_eq!(listed["data"][0]["id"], retry);
    let listed = server
        .get("/api/runs?limit=2&offset=0&runner=agent&state=finished")
        .json();
    assert_eq!(listed["pagination"], json!({"total": 3, "has_more": true}));
    let of_task = server
        .get(&format!("/api/tasks/{task}/runs?offset=2"))
        .json();
    assert_eq!(of_task["data"][0]["id"], first);
    assert_eq!(
        of_task["pagination"],
        json!({"total": 3, "has_more": false})
    );

    let path = format!("/api/runs/{first}/events");
    let events = server.get(&format!("{path}?limit=2")).json();
    assert_eq!(events["data"][0]["type"], "run:queued");
    assert_eq!(events["pagination"]["has_more"], true);
    let since = events["pagination"]["next_since"].as_i64().unwrap();
    let rest = server
        .get(&format!("{path}?since={since}&limit=1000"))
        .json();
    assert_eq!(rest["pagination"]["has_more"], false);
    assert!(
        rest["data"]
            .as_array()
            .unwrap()
            .iter()
            .all(|event| event["seq"].as_i64().unwrap() > since)
    );
}

#[test]
fn what_never_changes_says_so() {
    let server = Server::start(desk(AGENT, ""));
    let (task, other) = (server.task("One"), server.task("Two"));
    let path = format!("/api/tasks/{task}");
    let change = |body: serde_json::Value| server.ask("PATCH", &path, Some(&body));
    assert_eq!(
        change(json!({"title": "Other"})).error(),
        "409 CONFLICT: the `title` of a task never changes; add another task, and cancel this one"
    );
    assert_eq!(
        change(json!({"title": "One", "write_scope": ["src/**"]})).status,
        200
    );
    assert_eq!(
        change(json!({"depends": [other]})).data(200)["depends"],
        json!([other])
    );
    let gone = format!("{path}/dependencies/{other}");
    let removed = server.ask("DELETE", &gone, None);
    assert_eq!((removed.status, removed.body.as_str()), (204, ""));
    assert_eq!(
        server.ask("DELETE", &gone, None).error(),
        format!("404 NOT_FOUND: no dependency `{other}`")
    );
    let cycle = json!({"depends_on_task_id": task});
    assert_eq!(
        server.post(&format!("{path}/dependencies"), &cycle).error(),
        format!("409 CONFLICT: task `{task}` cannot depend on itself")
    );
    assert_eq!(
        change(json!({"cancelled": true})).data(200)["status"],
        "cancelled"
    );
    assert_eq!(
        change(json!({"cancelled": false})).error(),
        "409 CONFLICT: a task stays cancelled; add another one"
    );
    assert_eq!(
        server.ask("POST", &format!("{path}/cancel"), None).status,
        200
    );
    assert_eq!(
        server.ask("POST", &format!("{path}/runs"), None).error(),
        format!("409 CONFLICT: task `{task}` is cancelled")
    );
}

#[test]
fn a_project_stays_what_it_is() {
    let server = Server::start(desk(AGENT, ""));
    let project = |method: &str, body: Option<serde_json::Value>| {
        let answer = server.ask(method, "/api/projects/project", body.as_ref());
        answer.error()
    };
    assert_eq!(
        project("PATCH", Some(json!({"name": "x"}))),
        "409 CONFLICT: a project is never renamed"
    );
    assert_eq!(
        project("PATCH", Some(json!({"base_branch": "mian"}))),
        "400 VALIDATION_ERROR: no branch `mian`"
    );
    assert_eq!(
        project("DELETE", None),
        "409 CONFLICT: project `project` stays: a store never forgets a project; `callsheet gc` deletes prompts that you don't keep"
    );
    assert_eq!(
        server
            .post("/api/projects", &json!({"name": "other"}))
            .error(),
        "412 PRECONDITION_FAILED: this server serves project `project` only; run `callsheet init` and `callsheet serve` in the directory of another one"
    );
}

#[test]
fn what_is_wrong_with_a_request_is_told() {
    let server = Server::start(desk(AGENT, ""));
    let task = server.task("One");
    let add = |body| server.post("/api/projects/project/tasks", &body).error();
    let mut shown = vec![
        add(json!({})),
        add(json!({"title": "", "write_scope": ["a"]})),
        add(json!({"title": "x", "write_scope": []})),
        add(json!({"title": "x", "write_scope": ["/etc"]})),
        add(json!({"title": "x", "write_scope": ["a"], "color": 1})),
        add(json!({"title": "x\0", "write_scope": ["a"]})),
        add(json!({"title": "x", "write_scope": ["a"], "base": "--help"})),
        add(json!({"title": "x", "write_scope": ["a"], "depends": ["--help"]})),
        add(json!({"title": "a".repeat(70_000), "write_scope": ["a"]})),
    ];
    for target in [
        "/api/runs?limit=0",
        "/api/runs?limit=101",
        "/api/runs?limit=99999999999999999999999",
        "/api/runs?limit=-1",
        "/api/runs?offset=x",
        "/api/runs?state=gone",
        "/api/runs?runner=%00",
        "/api/runs/none",
        "/api/runs/%ff",
        "/api/runs/00000000000000/log",
        "/api/projects/none",
        "/api/projects/project/tasks?status=lost",
        "/api/projects/project/files?path=../..",
        "/api/projects/project/files?path=/etc",
        "/api/projects/project/files?path=.git",
        "/api/projects/project/files?path=none",
        "/api/projects/project/files?depth=9",
        "/api/nothing",
    ] {
        shown.push(format!("{target}\n  {}", server.get(target).error()));
    }
    let start = |body| {
        server
            .post(&format!("/api/tasks/{task}/runs"), &body)
            .error()
    };
    shown.push(start(json!({"runner": "nobody"})));
    shown.push(start(json!({"agent_profile_id": "nobody"})));
    shown.push(start(json!({"agent_profile_id": "a", "runner": "b"})));
    shown.push(start(json!({"runner": 1})));
    let shown = shown.join("\n").replace(&task, "[TASK]");
    insta::assert_snapshot!(shown);
}

#[test]
fn files_are_listed_below_the_root_only() {
    let desk = desk(AGENT, "");
    desk.project.file("src/deep/er/x.rs", "");
    std::os::unix::fs::symlink("/etc", desk.project.path("src/out")).unwrap();
    let server = Server::start(desk);
    let files = |query: &str| {
        let found = server
            .get(&format!("/api/projects/project/files{query}"))
            .data(200);
        let entries = found["entries"].as_array().unwrap().iter();
        let entries = entries.map(|one| one["path"].as_str().unwrap().to_owned());
        entries.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(files("?depth=1"), ".gitignore callsheet.toml src task.yaml");
    assert_eq!(
        files("?path=src&depth=2"),
        "src/deep src/deep/er src/login.rs src/out"
    );
    let out = server
        .get("/api/projects/project/files?path=src/out")
        .error();
    assert!(
        out.starts_with("400 VALIDATION_ERROR: `src/out` leads out of the root"),
        "{out}"
    );
}

#[test]
fn a_store_on_a_server_is_served_as_a_file_is() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut desk = desk(AGENT, SETTINGS);
    desk.project.variable("CALLSHEET_STORE", &database.url());
    let strange = another(&desk);
    let server = Server::start(desk);
    let task = server.task("Fix the login");
    let path = format!("/api/tasks/{task}/runs");
    let started = server.keyed("POST", &path, (None, Some("k")));
    let again = server.keyed("POST", &path, (None, Some("k")));
    assert_eq!((again.status, &again.body), (201, &started.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let run = started.data(201)["id"].as_str().unwrap().to_owned();
    let document = server.over(&run);
    assert_eq!(document["status"], "completed", "{document}");
    let log = server
        .get(&format!("/api/runs/{run}/log?stream=stdout"))
        .data(200);
    assert_eq!(log["lines"][0]["data"], "one\n");
    let found = server
        .get("/api/runs?runner=agent&kind=first&state=finished")
        .json();
    assert_eq!(found["pagination"]["total"], 1);
    // Another project of the same store can be read, and nothing in it can be changed.
    let projects = server.get("/api/projects").json();
    assert_eq!(projects["pagination"]["total"], 2);
    assert_eq!(
        projects["data"][1],
        json!({"id": "other", "name": "other", "served": false, "repo_path": null, "base_branch": null})
    );
    let listed = server.get("/api/projects/other/tasks").json();
    assert_eq!(listed["data"][0]["id"], strange);
    assert_eq!(
        server.get(&format!("/api/tasks/{strange}")).data(200)["title"],
        "Elsewhere"
    );
    let refused = "409 CONFLICT: project `other` is not served here, so nothing in it can be changed; run `callsheet serve` in its directory";
    for path in [
        format!("/api/tasks/{strange}/runs"),
        format!("/api/tasks/{strange}/cancel"),
        format!("/api/tasks/{strange}/merge"),
    ] {
        assert_eq!(server.ask("POST", &path, None).error(), refused);
    }
    assert_eq!(server.get("/api/projects/other/files").error(), refused);
}

/// Adds a task to another project of the same store, and returns its id.
fn another(desk: &Desk) -> String {
    desk.project
        .file("other/callsheet.toml", "project = \"other\"\n");
    desk.git(&["init", "--quiet", "--initial-branch=main", "other"]);
    let add = [
        "--root",
        "other",
        "task",
        "add",
        "--title",
        "Elsewhere",
        "--write",
        "src/**",
    ];
    desk.project.run(&add).text().trim().to_owned()
}
