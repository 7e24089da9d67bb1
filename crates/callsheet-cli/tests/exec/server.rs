//! Runs whose store is a PostgreSQL server: driven, stopped from elsewhere, and settled after a kill.

use std::process::Stdio;

use crate::database::Database;
use crate::desk::{Desk, has, wait_for};

#[test]
fn a_server_keeps_runs_as_a_file_does() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut desk = Desk::with_shell(
        "cat > got; echo up > up; echo done; test ! -e wait || sleep 600",
        "",
    );
    desk.project.variable("CALLSHEET_STORE", &database.url());
    let (document, code) = desk.document(&[]);
    assert_eq!((code, &document["status"]), (Some(0), &"completed".into()));
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--stream", "stdout"]);
    assert_eq!(log.text(), "done\n");
    let sealed = desk.project.run(&["show", id, "--part", "prompt"]);
    assert_eq!(desk.project.read("got"), sealed.text());

    // Stopped by another process, which finds the run on the server.
    desk.project.file("wait", "");
    let up = desk.project.path("up");
    let start = || {
        std::fs::remove_file(&up).unwrap();
        let mut command = desk.command(&[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        wait_for("the agent is up", || has(&up));
        child
    };
    let mut child = start();
    let id = desk.runs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.project.run(&["stop", &id]).code(), Some(0));
    child.wait().unwrap();
    assert_eq!(desk.runs()[0]["status"], "cancelled");

    let mut child = start();
    child.kill().unwrap();
    child.wait().unwrap();
    let settled = &desk.runs()[0];
    assert_eq!(settled["status"], "failed");
    assert_eq!(settled["class"], "incomplete");
    assert_eq!(settled["settled"], true);
    desk.assert_clean();
}
