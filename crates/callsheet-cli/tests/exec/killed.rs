//! A callsheet that is killed at any moment: every run is settled, no process is left, and nothing is lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{Desk, survivors, wait_for};

/// How often the program is killed; `./test --long` does it more often.
fn rounds() -> u32 {
    match std::env::var_os("CALLSHEET_TEST_LONG") {
        Some(_) => 400,
        None => 100,
    }
}

/// An agent that leaves a trace of all that it did, and something behind.
const SCRIPT: &str = "[[steps]]\nread_prompt = true\n[[steps]]\nsay = \"one\"\n[[steps]]\nwait_ms = 30\n\
    [[steps]]\nwrite = { path = \"src/a.rs\", text = \"a\" }\n[[steps]]\nwait_ms = 30\n[[steps]]\nsay = \"two\"\n\
    [[steps]]\nwait_ms = 30\n[[steps]]\nusage = { input_tokens = 5, output_tokens = 1 }\n";

#[test]
fn whenever_it_is_killed_every_run_ends_in_a_true_state() {
    let desk = Desk::with_script(SCRIPT);
    // How long a whole run takes here and now; kills are spread over it, and a little beyond.
    let since = Instant::now();
    assert_eq!(desk.exec(&[]).code(), Some(0));
    let whole = since.elapsed();
    let rounds = rounds();
    for round in 0..rounds {
        let mut command = desk.command(&[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // A plain sequence that jumps about: the same moments every time, in no order.
        let share = (round * 37 + 11) % rounds;
        std::thread::sleep(whole * 11 * share / (10 * rounds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let runs = desk.runs();
    for run in &runs {
        check(&desk, run);
    }
    // What a run is told of its end has to be what its log shows.
    assert!(runs.iter().any(|run| run["settled"] == true));
    desk.assert_clean();
}

fn check(desk: &Desk, run: &Value) {
    let id = run["id"].as_str().unwrap();
    assert_eq!(run["state"], "finished");
    let log = desk.project.run(&["log", id, "--stream", "stdout"]).text();
    let finished = log.contains("\"kind\":\"finished\"");
    let completed = run["status"] == "completed";
    assert!(!completed || finished, "{run:#}\n{log}");
    assert_eq!(survivors(id), Vec::<String>::new());
    if completed {
        assert_eq!(run["usage"]["input_tokens"], 5, "{run:#}");
        assert_eq!(run["exit_code"], 0);
    } else {
        assert_eq!(run["class"], "incomplete", "{run:#}");
    }
    // Numbers of events follow each other, and each means what its record says.
    let events = desk.project.run(&["events", "--run", id, "--json"]).text();
    let said = events.matches("\"agent:text\"").count();
    assert_eq!(
        said,
        log.matches("\"kind\":\"text\"").count(),
        "{events}\n{log}"
    );
}

#[test]
fn a_folder_that_outlived_its_run_is_removed() {
    let desk = Desk::with_script(SCRIPT);
    let (document, _) = desk.document(&[]);
    let id = document["id"].as_str().unwrap();
    // As a kill between the end of the run and that of its folder leaves it.
    desk.project
        .file(&format!(".callsheet/runs/{id}/prompt"), "secret");
    desk.assert_clean();
}

#[test]
fn a_killed_supervisor_takes_nothing_with_it() {
    let desk = Desk::with_shell("trap '' TERM; echo up; sleep 600", "");
    let mut command = desk.command(&["--json"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let supervisor = || {
        let entries = std::fs::read_dir(desk.project.path(".callsheet/runs")).ok()?;
        let folder = entries.flatten().next()?.path();
        let journal = std::fs::read_to_string(folder.join("journal")).ok()?;
        if !journal.contains("spawned") {
            return None;
        }
        let entry: Value = serde_json::from_str(journal.lines().next()?).ok()?;
        entry["process"]["pid"].as_i64()
    };
    wait_for("the agent is up", || supervisor().is_some());
    let pid = supervisor().unwrap().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid])
        .status();
    assert!(killed.unwrap().success());
    let done = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["status"], "failed");
    assert_eq!(document["class"], "incomplete");
    desk.assert_clean();
}

#[test]
fn the_next_command_ends_what_two_kills_left_running() {
    let desk = Desk::with_shell("trap '' TERM HUP; echo up; sleep 600", "");
    let mut command = desk.command(&[]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = || {
        let entries = std::fs::read_dir(desk.project.path(".callsheet/runs")).ok()?;
        Some(entries.flatten().next()?.path())
    };
    let journal = || {
        let text = std::fs::read_to_string(folder()?.join("journal")).ok()?;
        text.contains("spawned").then_some(text)
    };
    wait_for("the agent is up", || journal().is_some());
    let first: Value = serde_json::from_str(journal().unwrap().lines().next().unwrap()).unwrap();
    let id = folder()
        .unwrap()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    // Both at once, so that neither can end the agent.
    let pids = [first["process"]["pid"].to_string(), child.id().to_string()];
    let killed = std::process::Command::new("kill")
        .arg("-KILL")
        .args(&pids)
        .status();
    assert!(killed.unwrap().success());
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_ne!(survivors(&id), Vec::<String>::new(), "the agent is alive");
    let listed = desk.runs();
    assert_eq!(listed[0]["status"], "failed");
    assert_eq!(listed[0]["settled"], true);
    assert_eq!(survivors(&id), Vec::<String>::new());
    desk.assert_clean();
}
