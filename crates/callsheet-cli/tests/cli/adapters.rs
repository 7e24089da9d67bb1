//! `adapter`: sheets, what a project changes of them, and what the output of an agent means.

use std::fs::File;

use crate::project::{Project, finish};

fn with_settings(text: &str, args: &[&str]) -> String {
    let project = Project::new();
    project.file("callsheet.toml", text);
    project.callsheet(args)
}

fn parse(text: &str, args: &[&str]) -> String {
    Project::new().callsheet_with_stdin(text, &[&["adapter", "parse"], args].concat())
}

const CODEX: &str = r#"{"type":"thread.started","thread_id":"t1"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"no\n","exit_code":3,"status":"failed"}}
{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":150,"cached_input_tokens":30,"output_tokens":7}}
"#;

#[test]
fn list() {
    insta::assert_snapshot!(Project::new().callsheet(&["adapter", "list"]), @r"
    exit: 0
    --- stdout
    NAME      RUNS                      COMMAND   KNOWN VERSIONS
    claude    Claude Code               claude    2.1.325, 2.1.197
    codex     Codex CLI                 codex     0.166.0
    gemini    Gemini CLI                gemini    0.61.0
    opencode  opencode                  opencode  1.18.33
    command   any program
    scripted  a script of this project
    replay    a recorded run
    ");
}

#[test]
fn a_project_changes_what_is_listed_and_shown() {
    let text = "[adapters.scripted]\ntitle = \"our plays\"\nversions = [\"1\"]\n";
    insta::assert_snapshot!(with_settings(text, &["adapter", "show", "scripted"]), @r#"
    exit: 0
    --- stdout
    name = "scripted"
    title = "our plays"
    versions = ["1"]
    "#);
    insta::assert_snapshot!(with_settings(text, &["adapter", "show", "scripted", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.adapter/1",
      "name": "scripted",
      "title": "our plays",
      "install": "",
      "command": [],
      "version": [],
      "versions": [
        "1"
      ],
      "arguments": [],
      "model": [],
      "models": [],
      "system": [],
      "allow": [],
      "deny": [],
      "permissions": {},
      "sandbox_permissions": {},
      "last": [],
      "env": {},
      "isolated_env": {},
      "sandbox_env": {},
      "state": [],
      "keys": [],
      "logins": [],
      "pass_env": [],
      "stop": "terminate",
      "most_prompt_bytes": null,
      "limits": {},
      "settings": {},
      "ambient": {
        "instructions": [],
        "hooks": {},
        "mcp_servers": {},
        "main": []
      },
      "profiles": {}
    }
    "#);
}

#[test]
fn a_sheet_is_shown_as_it_is_written() {
    let shown = Project::new().run(&["adapter", "show", "claude"]).text();
    let sheet = callsheet_run::adapter::sheet("claude").unwrap();
    assert_eq!(shown, sheet);
}

#[test]
fn an_unknown_adapter() {
    insta::assert_snapshot!(Project::new().callsheet(&["adapter", "show", "claud"]), @r"
    exit: 2
    --- stderr
    error: no adapter named `claud`
    hint: did you mean `claude`?
    ");
    insta::assert_snapshot!(parse("", &["gemni"]), @r"
    exit: 2
    --- stderr
    error: no adapter named `gemni`
    hint: did you mean `gemini`?
    ");
    insta::assert_snapshot!(with_settings("[adapters.codx]\n", &["adapter", "list"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml: no adapter named `codx`
    hint: did you mean `codex`?
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn settings_of_adapters_and_runners_that_are_wrong() {
    insta::assert_snapshot!(with_settings("[adapters.codex]\n\nargument = []\n", &["adapter", "list"]), @"
    exit: 2
    --- stderr
    error: callsheet.toml:3: unknown field `argument`, expected one of `name`, `title`, `install`, `command`, `version`, `versions`, `arguments`, `model`, `models`, `system`, `allow`, `deny`, `permissions`, `sandbox_permissions`, `last`, `env`, `isolated_env`, `sandbox_env`, `state`, `keys`, `logins`, `pass_env`, `stop`, `most_prompt_bytes`, `limits`, `settings`, `ambient`, `profiles`
    hint: did you mean `arguments`?
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[adapters.codex]\nstop = \"please\"\n", &["adapter", "list"]), @"
    exit: 2
    --- stderr
    error: callsheet.toml:2: unknown value `please`, expected `interrupt` or `terminate`
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[runners.fast]\nmodle = \"x\"\n", &["adapter", "list"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml:2: unknown field `modle`, expected one of `adapter`, `command`, `model`, `pass_env`, `env`, `account`, `isolate`, `permissions`, `allow`, `deny`, `profile`, `script`, `recording`, `prompt`, `limits`
    hint: did you mean `model`?
    hint: `callsheet schema settings` prints what is allowed
    ");
    insta::assert_snapshot!(with_settings("[runners.fast]\nisolate = \"maybe\"\n", &["adapter", "list"]), @r#"
    exit: 2
    --- stderr
    error: callsheet.toml:2: expected `"auto"`, `true` or `false`, found the text `maybe`
    hint: `callsheet schema settings` prints what is allowed
    "#);
    insta::assert_snapshot!(with_settings("[runners.fast.limits]\nstart = 1\n", &["adapter", "list"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml:2: unknown field `start`, expected one of `start_s`, `idle_s`, `exit_s`, `total_s`, `output_mb`, `runs`
    hint: did you mean `start_s`?
    hint: `callsheet schema settings` prints what is allowed
    ");
}

#[test]
fn an_output_becomes_events_and_a_verdict() {
    insta::assert_snapshot!(parse(CODEX, &["codex"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.adapter-parse/1",
      "events": [
        {"kind":"session_started","session":"t1","model":null,"version":null},
        {"kind":"tool_call","id":"i1","name":"command_execution","input":{"command":"ls"}},
        {"kind":"tool_result","id":"i1","ok":false,"exit_code":3,"output":"no\n"},
        {"kind":"text","text":"Done."},
        {"kind":"usage","input_tokens":150,"output_tokens":7,"cached_tokens":30,"cost_usd":null},
        {"kind":"finished","ok":true,"reason":"turn.completed","text":null}
      ],
      "verdict": {"outcome":"succeeded","class":null,"resets_at":null},
      "unknown": 0
    }
    "#);
}

#[test]
fn the_end_of_the_process_counts() {
    let verdict = |args: &[&str]| {
        let shown = parse(CODEX, args);
        let line = shown.lines().find(|line| line.contains("\"verdict\""));
        line.unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(verdict(&["codex", "--exit", "0"]), @r#"  "verdict": {"outcome":"succeeded","class":null,"resets_at":null},"#);
    insta::assert_snapshot!(verdict(&["codex", "--exit", "1"]), @r#"  "verdict": {"outcome":"failed","class":"unknown","resets_at":null},"#);
    insta::assert_snapshot!(verdict(&["codex", "--signal", "9"]), @r#"  "verdict": {"outcome":"failed","class":"unknown","resets_at":null},"#);
    insta::assert_snapshot!(verdict(&["codex", "--exit", "-9"]), @r#"  "verdict": {"outcome":"failed","class":"unknown","resets_at":null},"#);
    insta::assert_snapshot!(parse("", &["gemini", "--exit", "41"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.adapter-parse/1",
      "events": [],
      "verdict": {"outcome":"failed","class":"auth","resets_at":null},
      "unknown": 0
    }
    "#);
    insta::assert_snapshot!(parse("", &["codex", "--exit", "1", "--signal", "9"]), @r"
    exit: 2
    --- stderr
    error: the argument '--exit <CODE>' cannot be used with '--signal <N>'

    Usage: callsheet adapter parse --exit <CODE> <NAME> [FILE]

    For more information, try '--help'.
    ");
}

#[test]
fn lines_that_nobody_knows_are_kept_and_counted() {
    let text = "plain\n\n[1]\n{\"type\":\"new\"}\n{\"type\":\"turn.sta";
    insta::assert_snapshot!(parse(text, &["codex", "-"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.adapter-parse/1",
      "events": [
        {"kind":"unknown","raw":"plain"},
        {"kind":"unknown","raw":"[1]"},
        {"kind":"unknown","raw":"{\"type\":\"new\"}"},
        {"kind":"unknown","raw":"{\"type\":\"turn.sta"}
      ],
      "verdict": {"outcome":"failed","class":"incomplete","resets_at":null},
      "unknown": 4
    }
    "#);
}

#[test]
fn a_file_is_read_by_its_bytes() {
    let project = Project::new();
    project.file("out.ndjson", b"\xff\xfe\n{\"type\":\"turn.started\"}\r\n");
    insta::assert_snapshot!(project.callsheet(&["adapter", "parse", "codex", "out.ndjson"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.adapter-parse/1",
      "events": [
        {"kind":"unknown","raw":"��"}
      ],
      "verdict": {"outcome":"failed","class":"incomplete","resets_at":null},
      "unknown": 1
    }
    "#);
    insta::assert_snapshot!(project.callsheet(&["adapter", "parse", "codex", "nope.ndjson"]), @r"
    exit: 2
    --- stderr
    error: nope.ndjson: no such file or directory
    ");
    insta::assert_snapshot!(project.callsheet(&["adapter", "parse", "codex", "."]), @r"
    exit: 2
    --- stderr
    error: .: is a directory
    ");
}

#[test]
fn a_line_that_is_too_long_is_cut_and_the_next_one_is_read() {
    let project = Project::new();
    let mut text = vec![b'x'; (64 << 20) + 5];
    text.extend_from_slice(b"\n{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n");
    project.file("long", text);
    let mut command = project.command(&["adapter", "parse", "codex"]);
    command.stdin(File::open(project.path("long")).unwrap());
    let document = finish(&mut command).json();
    let kinds: Vec<&str> = (0..3)
        .filter_map(|at| document["events"][at]["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["unknown", "session_started"]);
    assert_eq!(
        document["events"][0]["raw"].as_str().map(str::len),
        Some(64 << 20)
    );
}
