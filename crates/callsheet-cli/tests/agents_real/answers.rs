//! Every agent hands its model the sealed bytes, does what the model says, and is on record with what it did and used.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be used fails the test"
)]

use std::fs;

use serde_json::{Value, json};

use crate::cli::Cli;
use crate::desk::{Desk, Ran};
use crate::model::{BEFORE_TOOL, Edit, ModelServer, Scenario, USAGE, WORDS};
use crate::runner::runner;

every_cli!(texts_arrive, files_are_edited);

/// Returns a text of at least so many bytes, in which every line differs and the usual traps are.
fn long_text(about: &str, bytes: usize) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() > bytes {
            break;
        }
        text.push_str(&format!(
            "{number}: {about}\t\"quoted\" \\n 'single' ${{HOME}} $(id) {{{{x}}}} <tag attr=\"1\"> & größer 世界 🚀\r\n"
        ));
    }
    text.push_str("\n  the end, with spaces and newlines after it  \n\n");
    text
}

/// Checks that a run completed, by its document, its events and its exit code, after so many requests.
#[track_caller]
fn completed(ran: &Ran, cli: Cli, requests: u64) {
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    worked(ran, cli, requests);
}

/// Checks that an agent did its work, by the document and the events of its run, after so many requests.
#[track_caller]
pub(crate) fn worked(ran: &Ran, cli: Cli, requests: u64) {
    let shown = ran.shown();
    for (field, value) in [
        ("status", json!("completed")),
        ("class", Value::Null),
        ("termination", json!("exit")),
        ("exit_code", json!(0)),
        ("adapter", json!(cli.name())),
        ("isolated", json!(true)),
        ("unknown", json!(0)),
        ("leftovers", json!([])),
    ] {
        assert_eq!(ran.run[field], value, "{field}: {shown}");
    }
    let used = &ran.run["usage"];
    assert_eq!(used["input_tokens"], requests * cli.input(), "{shown}");
    assert_eq!(used["cached_tokens"], requests * USAGE.cached, "{shown}");
    assert_eq!(used["output_tokens"], requests * USAGE.output, "{shown}");
    for once in ["session_started", "finished"] {
        assert_eq!(ran.said(once).len(), 1, "{once}: {shown}");
    }
    let total = |field: &str| -> u64 {
        let used = ran.said("usage");
        used.iter().filter_map(|used| used[field].as_u64()).sum()
    };
    assert_eq!(total("input_tokens"), requests * cli.input(), "{shown}");
    assert_eq!(total("output_tokens"), requests * USAGE.output, "{shown}");
    assert_eq!(text(ran), WORDS.concat(), "{shown}");
}

/// Returns what the model said at last.
fn text(ran: &Ran) -> String {
    let said = ran.said("text").into_iter();
    let said: String = said.map(|event| event["text"].as_str().unwrap()).collect();
    said.trim_start_matches(BEFORE_TOOL).to_owned()
}

fn texts_arrive(cli: Cli) {
    let Some(program) = cli.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let prompt = long_text("a line of the prompt", 150_000);
    let system = long_text("a line of the system text", 140_000);
    let desk = Desk::new(&runner(cli, &program, &model));
    let input = json!({"prompt": prompt, "system": system});
    let ran = desk.finish(desk.start("brief", &input));
    completed(&ran, cli, 1);
    assert_eq!(model.requests().len(), 1);
    let texts = model.texts();
    assert!(texts.contains(&prompt), "the prompt is not what it was");
    // Gemini CLI trims what it adds to its system prompt, and the run says so.
    let (arrives, trimmed) = match cli {
        Cli::Gemini => (system.trim(), json!(true)),
        _ => (system.as_str(), Value::Null),
    };
    let whole = texts.iter().any(|text| text.contains(arrives));
    assert!(whole, "the system text is not what it was");
    let delivered = &ran.run["delivered"];
    assert_eq!(delivered["prompt"]["bytes"], prompt.len());
    // Claude Code leaves the position in the file where it was.
    let read = (cli != Cli::Claude).then_some(prompt.len());
    assert_eq!(delivered["prompt"]["read"], json!(read));
    assert_eq!(delivered["system"]["bytes"], system.len());
    assert_eq!(delivered["system"]["trimmed"], trimmed);
    assert_eq!(ran.run["changed_files"], json!([]));
    let is_warned = ran.stderr.contains("the system text arrives without");
    assert_eq!(is_warned, cli == Cli::Gemini, "{}", ran.stderr);
    assert_eq!(desk.files_of_user(), [].into(), "the home is not empty");
    let argv = ran.run["argv"].to_string();
    assert!(!argv.contains("a line of"), "{argv}");
}

fn files_are_edited(cli: Cli) {
    let Some(program) = cli.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let desk = Desk::new(&runner(cli, &program, &model));
    let file = desk.path("notes.txt");
    model.edits(Edit {
        file: file.clone(),
        old: "one\ntwo\n".to_owned(),
        new: "one\nthree\n".to_owned(),
    });
    let prompt = long_text("a line of the prompt", 150_000);
    let ran = desk.finish(desk.start("task", &json!({"prompt": prompt})));
    completed(&ran, cli, 2);
    let sealed = desk.callsheet(&["show", ran.run["prompt"].as_str().unwrap()]);
    assert_eq!(sealed, prompt);
    assert!(model.texts().contains(&sealed), "it is not what was sealed");
    assert_eq!(model.requests().len(), 2);
    let shown = ran.shown();
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "one\nthree\n",
        "{shown}"
    );
    assert_eq!(ran.run["changed_files"], json!(["notes.txt"]), "{shown}");
    assert_eq!(ran.run["dirty"], true);
    let ids = |kind| -> Vec<&Value> { ran.said(kind).iter().map(|event| &event["id"]).collect() };
    assert_eq!(ids("tool_call").len(), 1, "{shown}");
    assert_eq!(ids("tool_call"), ids("tool_result"), "{shown}");
    assert_eq!(ran.said("tool_result")[0]["ok"], true, "{shown}");
    let changes = json!(ran.said("file_change"));
    assert_eq!(changes[0]["path"], json!(file), "{shown}");
    assert_eq!(changes[0]["change"], "update", "{shown}");
}

/// The launcher that npm installs for Codex would stay as its parent.
#[test]
fn the_launcher_of_codex_is_left_out() {
    let Some(program) = Cli::Codex.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let native = program.canonicalize().unwrap();
    let launcher = program.with_file_name("../node_modules/@openai/codex/bin/codex.js");
    assert!(launcher.is_file());
    let ran = Desk::new(&runner(Cli::Codex, &launcher, &model)).exec();
    completed(&ran, Cli::Codex, 1);
    assert_eq!(ran.run["argv"][0], json!(native));
}

/// A version that nobody has looked at is told, and tried.
#[test]
fn an_unknown_version_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(program) = Cli::Claude.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let folder = tempfile::tempdir().unwrap();
    let newer = folder.path().join("claude");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '99.0.1 (Claude Code)'; exit; fi\nexec '{}' \"$@\"\n",
        program.display()
    );
    fs::write(&newer, script).unwrap();
    fs::set_permissions(&newer, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Desk::new(&runner(Cli::Claude, &newer, &model)).exec();
    completed(&ran, Cli::Claude, 1);
    assert_eq!(ran.run["version"], "99.0.1");
    let warning = "Claude Code 99.0.1 is not a version that callsheet knows";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
}
