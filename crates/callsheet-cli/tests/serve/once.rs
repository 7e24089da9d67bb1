//! A start under a key happens once, whoever asks how often.

use rustix::process::Signal;
use serde_json::json;

use crate::api::desk;
use crate::desk::{has, wait_for};
use crate::server::Server;

const REUSED: &str = "409 CONFLICT: this `Idempotency-Key` was used for another request";

#[test]
fn a_key_starts_one_run_also_after_a_restart() {
    let server = Server::start(desk("cat > /dev/null", ""));
    let (task, other) = (server.task("One"), server.task("Two"));
    let start = |server: &Server, task: &str, key: &str| {
        server.keyed(
            "POST",
            &format!("/api/tasks/{task}/runs"),
            (None, Some(key)),
        )
    };
    let first = start(&server, &task, "a key");
    let run = first.data(201)["id"].as_str().unwrap().to_owned();
    assert_eq!(first.header("idempotency-replayed"), None);
    server.over(&run);
    let second = start(&server, &task, "a key");
    assert_eq!((second.status, &second.body), (201, &first.body));
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
    assert_eq!(start(&server, &other, "a key").error(), REUSED);

    let (desk, status) = server.stop(Signal::TERM);
    assert_eq!(status.code(), Some(0));
    let server = Server::start(desk);
    let third = start(&server, &task, "a key");
    assert_eq!((third.status, &third.body), (201, &first.body));

    // Retries and continuations, too; another body is another request.
    let path = format!("/api/runs/{run}/continue");
    let body = json!({"additional_input": "more"});
    let more = server.keyed("POST", &path, (Some(&body), Some("b")));
    let next = more.data(201)["id"].as_str().unwrap().to_owned();
    let again = server.keyed("POST", &path, (Some(&body), Some("b")));
    assert_eq!((again.status, &again.body), (201, &more.body));
    let body = json!({"additional_input": "else"});
    assert_eq!(
        server
            .keyed("POST", &path, (Some(&body), Some("b")))
            .error(),
        REUSED
    );
    server.over(&next);
    let path = format!("/api/runs/{next}/retry");
    let retry = server.keyed("POST", &path, (None, Some("c")));
    let again = server.keyed("POST", &path, (None, Some("c")));
    assert_eq!((again.status, &again.body), (201, &retry.body));
    assert_eq!(server.get("/api/runs").json()["pagination"]["total"], 3);

    let long = "k".repeat(256);
    for wrong in ["", &long] {
        assert_eq!(
            start(&server, &task, wrong).error(),
            "400 VALIDATION_ERROR: `Idempotency-Key` has to have 1 to 255 visible characters"
        );
    }
}

#[test]
fn a_key_that_was_refused_is_free() {
    let server = Server::start(desk("cat > /dev/null", ""));
    let task = server.task("One");
    let path = format!("/api/tasks/{task}/runs");
    let wrong = json!({"runner": "nobody"});
    let refused = server.keyed("POST", &path, (Some(&wrong), Some("k")));
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert_eq!(server.keyed("POST", &path, (None, Some("k"))).status, 201);
}

#[test]
fn requests_at_once_under_one_key_start_one_run() {
    let server = Server::start(desk("cat > /dev/null", ""));
    let task = server.task("One");
    let path = format!("/api/tasks/{task}/runs");
    let bodies: Vec<String> = std::thread::scope(|scope| {
        let ask = || server.keyed("POST", &path, (None, Some("k"))).body;
        let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(bodies[0].contains("\"queued\""), "{}", bodies[0]);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    assert_eq!(server.get("/api/runs").json()["pagination"]["total"], 1);
}

#[test]
fn a_start_that_was_cut_off_is_found_again() {
    let server = Server::with(desk("cat > /dev/null", ""), &["--port", "0", "--no-worker"]);
    let task = server.task("One");
    let path = format!("/api/tasks/{task}/runs");
    let started = server.keyed("POST", &path, (None, Some("k")));
    let run = started.data(201)["id"].clone();
    let (desk, _) = server.stop(Signal::KILL);
    // As if it had been killed between the start and the record of the answer.
    let store = rusqlite::Connection::open(desk.project.path(".callsheet/callsheet.db")).unwrap();
    let changed = store.execute(
        "update setting set value = json_set(value, '$.answer', null) where name like 'requests.%'",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(store);
    let server = Server::with(desk, &["--port", "0", "--no-worker"]);
    let again = server.keyed("POST", &path, (None, Some("k")));
    assert_eq!(again.data(201)["id"], run);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(server.get("/api/runs").json()["pagination"]["total"], 1);
}

#[test]
fn a_stop_ends_a_run_wherever_it_stands() {
    let server = Server::start(desk("cat > /dev/null; echo up > up; sleep 600", ""));
    let task = server.task("One");
    let run = server.run(&task);
    let up = server
        .desk
        .project
        .path(&format!(".callsheet/worktrees/task-{task}/up"));
    wait_for("the agent is up", || has(&up));
    let busy = server.ask("POST", &format!("/api/runs/{run}/retry"), None);
    assert_eq!(
        busy.error(),
        format!("409 CONFLICT: run `{run}` is not over")
    );
    let stopped = server
        .ask("POST", &format!("/api/runs/{run}/stop"), None)
        .data(200);
    assert_eq!(
        (&stopped["state"], &stopped["status"]),
        (&json!("finished"), &json!("cancelled"))
    );
    assert_eq!(
        server
            .ask("POST", &format!("/api/runs/{run}/stop"), None)
            .error(),
        format!("409 CONFLICT: run `{run}` is over already")
    );
}
