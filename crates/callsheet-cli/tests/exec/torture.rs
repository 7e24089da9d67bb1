//! Agents that do what agents should not: each ends in the state that is true, and no process is left.

use serde_json::{Value, json};

use crate::desk::{Desk, survivors};
use crate::project::finish;

/// Returns the fields of a document that say how a run ended.
fn end(document: &Value) -> Value {
    json!([
        document["status"],
        document["class"],
        document["termination"],
        document["exit_code"],
        document["signal"],
    ])
}

#[track_caller]
#[expect(clippy::unwrap_used, reason = "a run without an id fails the test")]
fn ends(desk: &Desk, expected: &Value) -> Value {
    let (document, code) = desk.document(&[]);
    assert_eq!(end(&document), *expected, "{document:#}");
    assert_eq!(code == Some(0), document["status"] == "completed");
    assert_eq!(
        survivors(document["id"].as_str().unwrap()),
        Vec::<String>::new()
    );
    desk.assert_clean();
    document
}

#[test]
fn a_hang_at_the_start() {
    let desk = Desk::with_shell("sleep 600", "start_s = 1");
    let document = ends(&desk, &json!(["failed", "incomplete", "timeout", null, 15]));
    assert_eq!(document["reason"], "no output within 1 s");
}

#[test]
fn a_hang_in_the_middle() {
    let desk = Desk::with_shell("echo one; sleep 600", "idle_s = 1");
    let document = ends(&desk, &json!(["failed", "incomplete", "timeout", null, 15]));
    assert_eq!(document["reason"], "no output for 1 s");
}

#[test]
fn an_agent_that_never_ends() {
    let line = "while :; do echo x; sleep 0.05; done";
    let desk = Desk::with_shell(line, "total_s = 1");
    let document = ends(&desk, &json!(["failed", "incomplete", "timeout", null, 15]));
    assert_eq!(document["reason"], "not done within 1 s");
}

#[test]
fn a_hang_after_the_final_event_leaves_the_result_as_it_is() {
    let script = "[[steps]]\nraw = '{\"kind\": \"finished\", \"ok\": true, \"reason\": null, \"text\": null}'\n[[steps]]\nhang = true\n";
    let desk = Desk::with_script(script);
    desk.project.file(
        "callsheet.toml",
        "[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\nlimits = { exit_s = 1 }\n",
    );
    let document = ends(&desk, &json!(["completed", null, "timeout", null, 15]));
    assert_eq!(document["reason"], "still there 1 s after its final event");
}

#[test]
fn a_flood_on_both_streams() {
    let line = "yes out & yes err >&2 & wait";
    let desk = Desk::with_shell(line, "output_mb = 20");
    let document = ends(&desk, &json!(["failed", "incomplete", "timeout", null, 15]));
    assert_eq!(
        document["reason"],
        "wrote more than 20 MB; what is beyond is not kept"
    );
}

#[test]
fn fifty_megabytes_on_one_line() {
    let line = "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo after";
    let desk = Desk::with_shell(line, "");
    let document = ends(&desk, &json!(["completed", null, "exit", 0, null]));
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--stream", "stdout"]);
    assert_eq!(log.stdout.len(), 50_000_000 + 1 + 6);
    assert!(log.stdout.ends_with(b"x\nafter\n"));
    let tail = desk
        .project
        .run(&["log", id, "--stream", "stdout", "--tail", "1"]);
    assert_eq!(tail.text(), "after\n");
}

#[test]
fn bytes_that_are_no_text() {
    let line = "printf 'a\\377\\376b\\n\\000\\n'; printf '\\351' >&2";
    let desk = Desk::with_shell(line, "");
    let document = ends(&desk, &json!(["completed", null, "exit", 0, null]));
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--stream", "stdout"]);
    assert_eq!(log.stdout, b"a\xff\xfeb\n\0\n");
    let log = desk.project.run(&["log", id, "--stream", "stderr"]);
    assert_eq!(log.stdout, b"\xe9");
}

#[test]
fn half_a_line_at_the_end() {
    let half = "[[steps]]\nraw = '{\"kind\": \"tex'\n[[steps]]\nexit = 0\n";
    let desk = Desk::with_script(half);
    let document = ends(&desk, &json!(["failed", "incomplete", "exit", 0, null]));
    assert_eq!(document["unknown"], 1);
    let desk = Desk::with_shell("printf 'no newline'", "");
    let document = ends(&desk, &json!(["completed", null, "exit", 0, null]));
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--stream", "stdout"]);
    assert_eq!(log.text(), "no newline");
}

#[test]
fn an_agent_that_ignores_every_polite_word() {
    let line = "trap '' TERM INT HUP; echo up; while :; do sleep 1; done";
    let desk = Desk::with_shell(line, "total_s = 1");
    ends(&desk, &json!(["failed", "incomplete", "timeout", null, 9]));
}

#[test]
fn what_an_agent_leaves_behind_is_ended() {
    let line = "(setsid sh -c 'trap \"\" TERM HUP; exec sleep 600' >/dev/null 2>&1 &); sleep 0.2; echo done";
    let desk = Desk::with_shell(line, "");
    let document = ends(&desk, &json!(["completed", null, "exit", 0, null]));
    assert_eq!(document["leftovers"], json!(["sleep"]));
}

#[test]
fn an_agent_that_reads_nothing() {
    let desk = Desk::with_shell("exec <&-; echo no", "");
    let document = ends(&desk, &json!(["completed", null, "exit", 0, null]));
    let delivered = &document["delivered"]["prompt"];
    assert_eq!(delivered["read"], 0);
    assert!(delivered["bytes"].as_u64().unwrap() > 100);
}

#[test]
fn an_agent_that_closes_its_output() {
    let desk = Desk::with_shell("echo early; exec >&- 2>&-; cat >/dev/null; exit 3", "");
    let document = ends(&desk, &json!(["failed", "unknown", "exit", 3, null]));
    let delivered = &document["delivered"]["prompt"];
    assert_eq!(delivered["read"], delivered["bytes"]);
}

#[test]
fn a_crash() {
    let desk = Desk::with_script("[[steps]]\nsay = \"a\"\n[[steps]]\ncrash = \"SEGV\"\n");
    ends(&desk, &json!(["failed", "incomplete", "signal", null, 11]));
}

#[test]
fn a_lie() {
    let script =
        "[[steps]]\nerror = { class = \"overload\", text = \"busy\" }\n[[steps]]\nexit = 0\n";
    let desk = Desk::with_script(script);
    let document = ends(&desk, &json!(["failed", "overload", "exit", 0, null]));
    assert_eq!(document["reason"], "busy");
}

#[test]
fn a_program_that_is_not_there() {
    let desk = Desk::new("[runners.agent]\nadapter = \"command\"\ncommand = [\"no-such-agent\"]\n");
    let (document, code) = desk.document(&[]);
    assert_eq!(
        end(&document),
        json!(["failed", "environment", null, null, null])
    );
    assert_eq!(code, Some(3));
    desk.assert_clean();
    desk.project.file(
        "callsheet.toml",
        "[runners.codex]\ncommand = [\"no-such-agent\"]\n",
    );
    let said = String::from_utf8(desk.exec(&[]).stderr).unwrap();
    assert!(
        said.ends_with("note: `npm install -g @openai/codex` installs Codex CLI\n"),
        "{said}"
    );
}

#[test]
fn a_reader_that_does_not_read_stops_no_run() {
    let call = "[[steps]]\ncall = { tool = \"a-tool-with-a-name-of-some-length\" }\n";
    let desk = Desk::with_script(&call.repeat(3000));
    let mut command = desk.command(&["--json"]);
    command.stdout(std::process::Stdio::null());
    // More than a pipe holds, and nobody takes any of it.
    let mut child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut status = None;
    crate::desk::wait_for("the program ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
    assert_eq!(desk.runs()[0]["status"], "completed");
    desk.assert_clean();
}

#[test]
fn a_run_that_cannot_have_its_folder() {
    let desk = Desk::with_shell("echo up", "");
    assert_eq!(desk.exec(&[]).code(), Some(0));
    let runs = desk.project.path(".callsheet/runs");
    std::fs::remove_dir(&runs).unwrap();
    std::fs::write(&runs, "in the way").unwrap();
    let refused = desk.exec(&[]);
    assert_eq!(refused.code(), Some(3));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("error: cannot make the folder of the run: "),
        "{said}"
    );
    let run = &desk.runs()[0];
    assert_eq!(run["state"], "finished");
    assert_eq!(run["class"], "environment");
}

/// A disk of a few megabytes, on which the whole project lies, is filled by the agent.
#[test]
fn a_full_disk() {
    let desk = Desk::with_shell("echo up; cat /dev/zero > fill 2>err || exit 1", "");
    let root = desk.project.root().display().to_string();
    let program = env!("CARGO_BIN_EXE_callsheet");
    let script = format!(
        "set -e; mkdir /tmp/callsheet-full-$$; cp -a {root}/. /tmp/callsheet-full-$$; \
         mount -t tmpfs -o size=12m none {root}; cp -a /tmp/callsheet-full-$$/. {root}; rm -r /tmp/callsheet-full-$$; \
         cd {root}; set +e; {program} exec run --input task.yaml --json > /dev/null; echo exec $?; \
         {program} runs --json > /dev/null; rm -f fill; {program} runs --json; {program} verify >&2; echo verify $? >&2"
    );
    let mut command = desk.project.tool("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
    let run = finish(&mut command);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    if said.contains("unshare") {
        crate::project::skip("`unshare` cannot make a disk of its own here");
        return;
    }
    let text = run.text();
    let (exec, listed) = text.split_once('\n').unwrap();
    assert!(matches!(exec, "exec 1" | "exec 3"), "{exec}: {said}");
    let listed: Value = serde_json::from_str(listed).unwrap();
    let document = &listed["runs"][0];
    assert_eq!(document["state"], "finished", "{said}");
    assert_eq!(document["class"], "environment", "{document:#}\n{said}");
    assert!(said.contains("verify 0"), "{said}");
    assert_eq!(
        survivors(document["id"].as_str().unwrap()),
        Vec::<String>::new()
    );
}
