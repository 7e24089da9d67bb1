//! A run that is stopped while its model speaks: it is on record as cancelled, and no process of it is left.

#![expect(
    clippy::unwrap_used,
    reason = "a program that cannot be started fails the test"
)]

use std::process::Command;

use serde_json::{Value, json};

use crate::cli::Cli;
use crate::desk::{Desk, Ran, processes};
use crate::model::{ModelServer, Scenario};
use crate::runner::runner;

every_cli!(a_stop);

#[track_caller]
fn cancelled(ran: &Ran) {
    let shown = ran.shown();
    assert_eq!(ran.code, Some(1), "{shown}");
    for (field, value) in [
        ("status", json!("cancelled")),
        ("class", json!("cancelled")),
        ("termination", json!("cancelled")),
        ("charged", json!(false)),
        ("resets_at", Value::Null),
    ] {
        assert_eq!(ran.run[field], value, "{field}: {shown}");
    }
    let ok = ran.said("finished").iter().any(|event| event["ok"] == true);
    assert!(!ok, "{shown}");
}

fn a_stop(cli: Cli) {
    let Some(program) = cli.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Slow);
    let desk = Desk::new(&runner(cli, &program, &model));
    let child = desk.start("task", &json!({"prompt": "Say hello.\n"}));
    let id = desk.run_that_asks(&model);
    // No launcher stands between us and the agent: a signal would not get past it.
    let program = program.to_str().unwrap();
    let agents = processes(&id).into_iter();
    let agents: Vec<String> = agents.filter(|line| line.contains(program)).collect();
    assert_eq!(agents.len(), 1, "{agents:?}");
    desk.callsheet(&["stop", &id]);
    cancelled(&desk.finish(child));
}

#[test]
fn an_interrupt() {
    let Some(program) = Cli::Claude.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Slow);
    let desk = Desk::new(&runner(Cli::Claude, &program, &model));
    let child = desk.start("task", &json!({"prompt": "Say hello.\n"}));
    desk.run_that_asks(&model);
    let pid = child.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status().unwrap();
    cancelled(&desk.finish(child));
}
