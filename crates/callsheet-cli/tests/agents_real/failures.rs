//! Why a run failed, for every CLI and every way in which a model can let it down; and when to come back.

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::cli::Cli;
use crate::desk::{Desk, Ran};
use crate::model::{ModelServer, Refusal, Scenario};
use crate::runner::runner;

every_cli!(
    a_refused_key,
    too_many_requests,
    a_used_up_quota,
    an_overload,
    a_fault_of_the_server,
    a_broken_stream,
);

/// Hands a short prompt over; nothing where the CLIs are not installed.
#[track_caller]
fn run(cli: Cli, scenario: Scenario) -> Option<Ran> {
    let program = cli.program()?;
    let server = ModelServer::start();
    let model = server.model(scenario);
    let ran = Desk::new(&runner(cli, &program, &model)).exec();
    assert!(!model.requests().is_empty(), "{}", ran.shown());
    Some(ran)
}

/// Checks that a run failed by itself, for a reason that is told, and that its attempt is charged or not.
#[track_caller]
fn failed(ran: &Ran, class: &str, charged: bool) {
    let shown = ran.shown();
    assert_eq!(ran.code, Some(1), "{shown}");
    assert_eq!(ran.run["status"], "failed", "{shown}");
    assert_eq!(ran.run["class"], class, "{shown}");
    assert_eq!(ran.run["charged"], charged, "{shown}");
    assert_eq!(ran.run["termination"], "exit", "{shown}");
    assert!(ran.run["reason"].is_string(), "{shown}");
    assert_eq!(ran.run["unknown"], 0, "{shown}");
}

#[track_caller]
fn refused(cli: Cli, refusal: Refusal, class: &str) -> Option<Ran> {
    let ran = run(cli, Scenario::Refused(refusal))?;
    failed(&ran, class, false);
    Some(ran)
}

fn a_refused_key(cli: Cli) {
    let Some(ran) = refused(cli, Refusal::Key, "auth") else {
        return;
    };
    let code = if cli == Cli::Gemini { 145 } else { 1 };
    assert_eq!(ran.run["exit_code"], code, "{}", ran.shown());
}

fn too_many_requests(cli: Cli) {
    refused(cli, Refusal::Rate, "overload");
}

fn an_overload(cli: Cli) {
    refused(cli, Refusal::Overload, "overload");
}

fn a_fault_of_the_server(cli: Cli) {
    refused(cli, Refusal::Fault, "overload");
}

fn a_used_up_quota(cli: Cli) {
    // Far enough away for no CLI to wait for it, and near enough for all to believe it.
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let until = now + 3600;
    let Some(ran) = refused(cli, Refusal::Quota { until }, "quota") else {
        return;
    };
    let resets_at = &ran.run["resets_at"];
    match cli {
        Cli::Claude => assert_eq!(*resets_at, json!(until)),
        // The time of day, in words, is all that it tells.
        Cli::Codex => assert_eq!(*resets_at, Value::Null),
        // They tell how long to wait, from a moment that is a little later.
        Cli::Gemini | Cli::Opencode => {
            let late = resets_at.as_u64().unwrap_or_default().wrapping_sub(until);
            assert!(late < 60, "{}", ran.shown());
        }
    }
}

fn a_broken_stream(cli: Cli) {
    let Some(ran) = run(cli, Scenario::Broken { times: 1 }) else {
        return;
    };
    match cli {
        // They ask again, Claude Code without a stream.
        Cli::Claude | Cli::Opencode => {
            assert_eq!(ran.run["status"], "completed", "{}", ran.shown());
        }
        Cli::Codex => failed(&ran, "network", false),
        // Its exit code says that all is well.
        Cli::Gemini => {
            failed(&ran, "network", false);
            assert_eq!(ran.run["exit_code"], 0, "{}", ran.shown());
        }
    }
}
