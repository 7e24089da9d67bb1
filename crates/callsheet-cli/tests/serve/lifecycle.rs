//! Starting and stopping: one server for each store, and nothing left behind.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::json;

use crate::api::desk;
use crate::database::Database;
use crate::desk::{Desk, has, survivors, wait_for};
use crate::server::Server;

/// An agent that runs until it is ended, or until it finds a file.
const LONG: &str = "cat > /dev/null; echo up > up; while ! test -e go; do sleep 0.05; done";

/// Starts a run, and waits until its agent is at work; returns the run and the directory that it works in.
fn at_work(server: &Server) -> (String, std::path::PathBuf) {
    let task = server.task("Wait");
    let run = server.run(&task);
    let place = format!(".callsheet/worktrees/task-{task}");
    let place = server.desk.project.path(&place);
    wait_for("the agent is up", || has(&place.join("up")));
    (run, place)
}

fn stops(desk: Desk, signal: Signal) {
    let server = Server::start(desk);
    let (run, _) = at_work(&server);
    assert!(!survivors(&run).is_empty());
    let (desk, status) = server.stop(signal);
    assert_eq!(status.code(), Some(0), "{signal:?}");
    // Without any command that would settle it: the server has left everything in its true state.
    assert_eq!(survivors(&run), Vec::<String>::new());
    let runs = desk.runs();
    assert_eq!(
        (&runs[0]["state"], &runs[0]["status"], &runs[0]["settled"]),
        (&json!("finished"), &json!("cancelled"), &json!(false))
    );
    desk.assert_clean();
    assert!(!desk.project.path(".callsheet/serve.json").exists());
}

#[test]
fn a_signal_ends_the_agents_and_then_the_server() {
    for signal in [Signal::TERM, Signal::INT] {
        stops(desk(LONG, ""), signal);
    }
}

#[test]
fn a_signal_does_so_with_a_store_on_a_server() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut desk = desk(LONG, "");
    desk.project.variable("CALLSHEET_STORE", &database.url());
    stops(desk, Signal::TERM);
}

#[test]
fn what_is_handed_over_comes_to_its_end() {
    let server = Server::with(desk(LONG, ""), &["--port", "0", "--hand-over"]);
    let (run, place) = at_work(&server);
    let (desk, status) = server.stop(Signal::TERM);
    assert_eq!(status.code(), Some(0));
    assert!(!survivors(&run).is_empty());
    assert_eq!(desk.runs()[0]["state"], "running");
    std::fs::write(place.join("go"), "").unwrap();
    wait_for("the run is over", || desk.runs()[0]["state"] == "finished");
    assert_eq!(desk.runs()[0]["status"], "completed");
    wait_for("its processes are gone", || survivors(&run).is_empty());
    wait_for("its folder is gone", || {
        let left = std::fs::read_dir(desk.project.path(".callsheet/runs")).unwrap();
        left.count() == 0
    });
    desk.assert_clean();
}

#[test]
fn a_server_that_is_killed_leaves_a_run_that_comes_to_its_end() {
    let server = Server::start(desk(LONG, ""));
    let (run, place) = at_work(&server);
    let (desk, _) = server.stop(Signal::KILL);
    std::fs::write(place.join("go"), "").unwrap();
    wait_for("the run is over", || desk.runs()[0]["state"] == "finished");
    wait_for("its processes are gone", || survivors(&run).is_empty());
    // The lock went with its process.
    let server = Server::start(desk);
    assert_eq!(
        server.get(&format!("/api/runs/{run}")).data(200)["status"],
        "completed"
    );
}

#[test]
fn a_second_start_says_where_the_first_one_is() {
    let server = Server::start(desk("cat > /dev/null", ""));
    let second = server.desk.project.run(&["serve"]);
    assert_eq!(second.code(), Some(0));
    assert_eq!(second.text(), format!("{}\n", server.url));
    assert_eq!(
        String::from_utf8_lossy(&second.stderr),
        "note: this project is served already\n"
    );
    let json = server
        .desk
        .project
        .run(&["serve", "--json", "--port", "1"])
        .json();
    assert_eq!(
        (&json["url"], &json["read_token"]),
        (&json!(server.url), &json!(server.read_token))
    );
    let kept = std::fs::metadata(server.desk.project.path(".callsheet/serve.json")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_next_free_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = Server::with(desk("cat > /dev/null", ""), &["--port", &port.to_string()]);
    let (host, found) = server.host.split_once(':').unwrap();
    assert_eq!(host, "127.0.0.1");
    let found: u16 = found.parse().unwrap();
    assert!(found > port && found <= port + 100, "{found} after {port}");
    assert_eq!(server.get("/api/limits").status, 200);
}

#[test]
fn other_machines_are_let_in_by_a_proxy_only() {
    let desk = desk("cat > /dev/null", "");
    let refused = desk
        .project
        .run(&["serve", "--bind", "0.0.0.0", "--port", "0"]);
    assert_eq!(refused.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.starts_with("error: `0.0.0.0` is not this machine alone"),
        "{said}"
    );
    for proxy in [
        "example.com",
        "ftp://example.com",
        "https://example.com/path",
    ] {
        let refused = desk
            .project
            .run(&["serve", "--bind", "0.0.0.0", "--proxy", proxy]);
        assert_eq!(refused.code(), Some(2), "{proxy}");
    }
}
