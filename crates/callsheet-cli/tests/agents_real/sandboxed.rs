//! Every agent works in the sandbox, with a state folder of its own and with that of its user, and writes nowhere else.

#![expect(
    clippy::unwrap_used,
    reason = "settings that cannot be written fail the test"
)]

use std::fs;

use callsheet_run::sandbox::{Support, support};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::desk::{Desk, Ran};
use crate::model::{ModelServer, Scenario};
use crate::runner::{settings, written};
use crate::users;

every_cli!(with_a_key, with_the_state_of_the_user);

/// Tells whether the kernel has a sandbox; without one, the test is skipped, which is a failure in CI.
pub(crate) fn is_possible() -> bool {
    let is_possible = support() != Support::None;
    let is_ci = std::env::var_os("CI").is_some();
    assert!(is_possible || !is_ci, "skipped: no Landlock");
    is_possible
}

/// Runs a CLI in the sandbox with everything that its user has; its model runs a command there that writes in the project, beside
/// it and in the home of the user, and commits.
fn run(cli: Cli, isolate: &Value, permissions: Option<&str>) -> Option<(Desk, Ran)> {
    let program = cli.program()?;
    if !is_possible() {
        return None;
    }
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let mut settings = settings(cli, &program, &model);
    settings["sandbox"] = json!({"mode": true});
    let runner = settings["runners"][cli.name()].as_object_mut().unwrap();
    runner.insert("isolate".to_owned(), isolate.clone());
    // In the sandbox an agent may run commands unless it is told otherwise.
    runner.remove("permissions");
    if let Some(permissions) = permissions {
        runner.insert("permissions".to_owned(), json!(permissions));
    }
    let desk = Desk::new(&written(&settings));
    for (name, text) in users::files(cli) {
        desk.file_of_user(name, &text);
    }
    let beside = desk.path("").parent().unwrap().join("outside");
    model.commands(&format!(
        "echo yes >inside; echo no >{}; echo no >\"$HOME/outside\"; \
         git add inside && git -c user.name=a -c user.email=a@b.c commit -q -m mine",
        beside.display()
    ));
    let ran = desk.exec();
    let shown = ran.shown();
    assert_eq!(ran.run["status"], "completed", "{shown}");
    assert_eq!(ran.run["sandbox"], true, "{shown}");
    assert_eq!(ran.run["unknown"], 0, "{shown}");
    assert!(ran.stderr.contains(", sandboxed"), "{shown}");
    assert!(!beside.exists(), "{shown}");
    assert!(!desk.home().join("outside").exists(), "{shown}");
    Some((desk, ran))
}

/// Checks that the command did what it may.
#[track_caller]
fn assert_done(desk: &Desk, ran: &Ran) {
    let shown = ran.shown();
    let inside = fs::read_to_string(desk.path("inside"));
    assert_eq!(inside.unwrap_or_default(), "yes\n", "{shown}");
    assert_eq!(ran.run["changed_files"], json!(["inside"]), "{shown}");
    assert_ne!(ran.run["head"], ran.run["start_head"], "{shown}");
}

fn with_a_key(cli: Cli) {
    let Some((desk, ran)) = run(cli, &json!("auto"), None) else {
        return;
    };
    assert_eq!(ran.run["isolated"], true, "{}", ran.shown());
    assert_eq!(ran.run["permissions"], "full", "{}", ran.shown());
    assert_done(&desk, &ran);
}

fn with_the_state_of_the_user(cli: Cli) {
    let Some((desk, ran)) = run(cli, &json!(false), None) else {
        return;
    };
    assert_eq!(ran.run["isolated"], false, "{}", ran.shown());
    assert_done(&desk, &ran);
    // Whatever it keeps of a session is among its state.
    let state = match cli {
        Cli::Claude => ".claude/projects",
        Cli::Codex => ".codex/sessions",
        Cli::Gemini => ".gemini/tmp",
        Cli::Opencode => ".local/share/opencode",
    };
    assert!(desk.home().join(state).is_dir(), "{}", ran.shown());
    // Written in place, without its lock, it could break a session of the user.
    if cli == Cli::Claude {
        let files = users::files(cli);
        let before = files.iter().find(|(name, _)| *name == ".claude.json");
        let after = fs::read_to_string(desk.home().join(".claude.json"));
        assert_eq!(after.unwrap(), before.unwrap().1);
    }
}

/// The sandbox of Codex does not work in ours, so that ours has to do.
#[test]
fn codex_edits_without_a_sandbox_of_its_own() {
    let Some((desk, ran)) = run(Cli::Codex, &json!("auto"), Some("edit")) else {
        return;
    };
    assert_done(&desk, &ran);
}

#[test]
fn codex_reads_without_a_sandbox_of_its_own() {
    let Some((desk, ran)) = run(Cli::Codex, &json!("auto"), Some("read")) else {
        return;
    };
    assert!(!desk.path("inside").exists(), "{}", ran.shown());
    let results = ran.said("tool_result");
    assert_eq!(results.len(), 1, "{}", ran.shown());
    assert_eq!(results[0]["ok"], false, "{}", ran.shown());
    assert_eq!(ran.run["changed_files"], json!([]), "{}", ran.shown());
}
