//! How every CLI tells that its model failed: the exit codes and words that adapters go by.

use std::os::unix::process::ExitStatusExt as _;

use crate::cli::Cli;
use crate::desk::{Desk, Ended};
use crate::model::{ModelServer, Refusal, Scenario};

/// Starts the CLI on a short prompt; nothing where the CLIs are not installed.
fn run(cli: Cli, scenario: Scenario) -> Option<Ended> {
    let program = cli.program()?;
    let server = ModelServer::start();
    let desk = Desk::new("Say hello.\n", "Be brief.\n");
    let model = server.model(scenario);
    Some(if model.is_endless() {
        desk.terminate(cli, &program, &model)
    } else {
        desk.run(cli, &program, &model)
    })
}

/// Runs the CLI and checks how it exits, and what its last words have in them.
#[track_caller]
fn fails(cli: Cli, scenario: Scenario, code: i32, words: &str) {
    let name = scenario.name();
    let Some(ended) = run(cli, scenario) else {
        return;
    };
    let last = ended.stdout.lines().last().unwrap_or_default();
    let shown = format!("{name}: {}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{shown}");
    assert!(last.contains(words), "{shown}");
}

/// A time that is far enough away for no CLI to wait for it, and near enough for all to believe it.
fn soon() -> u64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    now.as_secs() + 3600
}

fn refused(refusal: Refusal) -> Scenario {
    Scenario::Refused(refusal)
}

#[test]
fn claude_fails() {
    let words = |status| format!(r#""api_error_status":{status}"#);
    for refusal in [
        Refusal::Key,
        Refusal::Rate,
        Refusal::Overload,
        Refusal::Fault,
    ] {
        let words = words(refusal.status());
        fails(Cli::Claude, refused(refusal), 1, &words);
    }
    // It asks again, without a stream.
    let broken = Scenario::Broken { times: 1 };
    fails(Cli::Claude, broken, 0, r#""subtype":"success""#);
}

#[test]
fn claude_tells_when_the_quota_comes_back() {
    let until = soon();
    let Some(ended) = run(Cli::Claude, refused(Refusal::Quota { until })) else {
        return;
    };
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stdout);
    let words = format!(r#""status":"rejected","resetsAt":{until}"#);
    assert!(ended.stdout.contains(&words), "{}", ended.stdout);
}

#[test]
fn codex_fails() {
    let fails = |scenario, words| fails(Cli::Codex, scenario, 1, words);
    fails(refused(Refusal::Key), "unexpected status 401");
    fails(refused(Refusal::Rate), "last status: 429");
    let quota = Refusal::Quota { until: soon() };
    fails(refused(quota), "hit your usage limit");
    fails(refused(Refusal::Overload), "unexpected status 529");
    fails(refused(Refusal::Fault), "experiencing high demand");
    let broken = Scenario::Broken { times: 1 };
    fails(broken, "stream disconnected before completion");
}

#[test]
fn gemini_fails() {
    let fails = |scenario, code, words| fails(Cli::Gemini, scenario, code, words);
    fails(refused(Refusal::Key), 145, r#"\"code\":401"#);
    fails(refused(Refusal::Rate), 173, "too many requests");
    let quota = Refusal::Quota { until: soon() };
    fails(refused(quota), 173, "Suggested retry after 3");
    fails(refused(Refusal::Overload), 17, r#"\"code\":529"#);
    fails(refused(Refusal::Fault), 244, r#"\"code\":500"#);
    // Its exit code says that all is well.
    let broken = Scenario::Broken { times: 1 };
    fails(broken, 0, r#""status":"error""#);
}

#[test]
fn opencode_fails() {
    let fails = |scenario, code, words| fails(Cli::Opencode, scenario, code, words);
    fails(refused(Refusal::Key), 1, r#""statusCode":401"#);
    let quota = Refusal::Quota { until: soon() };
    fails(refused(quota), 1, r#""retry-after":"3"#);
    // It asks again.
    let broken = Scenario::Broken { times: 1 };
    fails(broken, 0, r#""reason":"stop""#);
}

/// Asks the CLI to stop while its model speaks: no word of an end may come.
fn stops(cli: Cli, code: Option<i32>, signal: Option<i32>) {
    let Some(ended) = run(cli, Scenario::Slow) else {
        return;
    };
    let shown = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status.code(), code, "{shown}");
    assert_eq!(ended.status.signal(), signal, "{shown}");
    for word in [r#""type":"result""#, "turn.completed", "step_finish"] {
        assert!(!ended.stdout.contains(word), "{shown}");
    }
}

#[test]
fn claude_stops() {
    stops(Cli::Claude, Some(143), None);
}

#[test]
fn codex_stops() {
    stops(Cli::Codex, None, Some(15));
}

#[test]
fn gemini_stops() {
    stops(Cli::Gemini, Some(0), None);
}

#[test]
fn opencode_stops() {
    stops(Cli::Opencode, None, Some(15));
}
