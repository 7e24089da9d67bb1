//! `[sandbox]` in callsheet.toml: who is put into the sandbox by `exec`, and what can be written there.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be used fails the test"
)]

use std::io::Write as _;

use callsheet_run::sandbox::{Support, support};
use serde_json::{Value, json};

use crate::desk::Desk;

/// Tells whether the kernel can do what these tests are about; they say so where it cannot, and fail in CI.
fn is_there() -> bool {
    let is_there = support() != Support::None;
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "skipped: no Landlock");
        let _ = writeln!(std::io::stderr(), "skipped: the kernel has no Landlock");
    }
    is_there
}

/// Makes a project whose agent runs a line of shell, with more settings of its runner and of the sandbox.
fn desk(line: &str, runner: &str, sandbox: &str) -> Desk {
    let line = toml::Value::from(line);
    Desk::new(&format!(
        "[sandbox]\n{sandbox}\n[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {line}]\n{runner}\n"
    ))
}

/// Returns what was put on record when an agent was put into the sandbox.
fn sandboxed(desk: &Desk, run: &Value) -> Option<Value> {
    let id = run["id"].as_str().unwrap();
    let events = desk.project.run(&["events", "--run", id, "--json"]).text();
    let mut events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .find(|event| event["payload"]["step"] == "sandboxed")
        .map(|event| event["payload"].clone())
}

#[test]
fn an_agent_is_in_the_sandbox_where_the_project_says_so() {
    if !is_there() {
        return;
    }
    let line = "echo x >here; echo x >../beside; echo x >\"$TMPDIR/file\" && echo x >/dev/stderr";
    let on = desk(line, "", "mode = true\nwrite = []");
    let (run, code) = on.document(&[]);
    assert_eq!((code, &run["sandbox"]), (Some(0), &json!(true)));
    assert_eq!(run["permissions"], "full");
    assert_eq!(run["changed_files"], json!(["here"]));
    assert!(!on.project.outside().join("beside").exists());
    let record = sandboxed(&on, &run).unwrap();
    let folder = on.project.path(".callsheet/runs");
    let folder = folder.join(run["id"].as_str().unwrap());
    let private = ["tmp", "state", "stdout", "stderr"].map(|name| folder.join(name));
    let mut write = private.to_vec();
    write.push(on.project.root().to_owned());
    assert_eq!(record["write"], json!(write));
    assert!(record["abi"].as_u64().unwrap() >= 1);
    on.assert_clean();
    let said = String::from_utf8(on.exec(&[]).stderr).unwrap();
    let line = "\nrunner agent: any program, permissions full, sandboxed\n";
    assert!(said.contains(line), "{said}");

    for mode in ["mode = \"auto\"", "mode = false", ""] {
        let off = desk("echo x >../beside", "", mode);
        let (run, code) = off.document(&[]);
        assert_eq!((code, &run["sandbox"]), (Some(0), &json!(false)));
        assert_eq!(run["permissions"], "edit");
        assert!(off.project.outside().join("beside").exists());
        assert_eq!(sandboxed(&off, &run), None);
    }
}

#[test]
fn what_the_project_names_can_be_written() {
    if !is_there() {
        return;
    }
    let line = "set -e; echo x >../shared/a; echo x >\"$HOME/.cache/a\"; echo x >\"$OTHER/a\"";
    let mut desk = desk(
        line,
        "env.OTHER = \"OTHER\"\npermissions = \"edit\"",
        "mode = true\nwrite = [\"../shared\", \"~/.cache\", \"${OTHER:-~/none}\", \"~/missing\"]",
    );
    let outside = desk.project.outside();
    for name in ["shared", "home/.cache", "other"] {
        std::fs::create_dir_all(outside.join(name)).unwrap();
    }
    let settings = desk.project.read("callsheet.toml");
    let other = outside.join("other").display().to_string();
    desk.project.file(
        "callsheet.toml",
        settings.replace("= \"OTHER\"", &format!("= \"{other}\"")),
    );
    let home = outside.join("home").display().to_string();
    desk.project.variable("HOME", &home);
    let (run, code) = desk.document(&[]);
    assert_eq!(code, Some(0), "{run}");
    assert_eq!(run["permissions"], "edit", "what is set counts");
    for name in ["shared/a", "home/.cache/a", "other/a"] {
        assert!(outside.join(name).is_file(), "{name}");
    }
}

#[test]
fn an_agent_that_may_only_read_writes_nothing() {
    if !is_there() {
        return;
    }
    let line = "echo x >here; echo x >>task.yaml; echo x >\"$TMPDIR/file\"";
    let desk = desk(
        line,
        "permissions = \"read\"",
        "mode = true\nwrite = [\".\"]",
    );
    let (run, code) = desk.document(&[]);
    assert_eq!(code, Some(0), "its own folder can be written: {run}");
    assert_eq!(run["changed_files"], json!([]));
}

/// Claude Code with the user's own state: made where it is missing, and written.
#[test]
fn the_state_of_a_cli_can_be_written_unless_it_has_its_own() {
    if !is_there() {
        return;
    }
    let script = "if [ \"$1\" = --version ]; then echo 2.1.325; exit; fi\n\
        echo \"$IS_SANDBOX\" >\"${CLAUDE_CONFIG_DIR:-$HOME/.claude}/told\" && echo x >\"$HOME/beside\"\n";
    for (isolate, is_set) in [(false, true), (true, false)] {
        let mut desk = Desk::new(&format!(
            "[sandbox]\nmode = true\n[runners.claude]\ncommand = [\"./agent\"]\nisolate = {isolate}\n"
        ));
        desk.program("agent", script);
        let home = desk.project.outside().join("home");
        std::fs::create_dir(&home).unwrap();
        desk.project.variable("HOME", &home.display().to_string());
        let (run, _) = desk.document(&[]);
        assert_eq!(run["sandbox"], true, "{run}");
        let text = std::fs::read_to_string(home.join(".claude/told"));
        assert_eq!(text.ok().as_deref(), is_set.then_some("1\n"), "{run}");
        assert!(!home.join("beside").exists());
        assert_eq!(home.join(".claude").exists(), is_set);
    }
}

#[test]
fn a_mode_that_is_none_is_refused() {
    let desk = desk("true", "", "mode = \"on\"");
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @r#"
    exit: 2
    --- stderr
    error: callsheet.toml:2: expected `"auto"`, `true` or `false`, found the text `on`
    hint: `callsheet schema settings` prints what is allowed
    "#);
}
