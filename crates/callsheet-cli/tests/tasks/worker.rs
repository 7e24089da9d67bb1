//! Workers on one machine: who takes what, what is left, and how one is stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::Bench;
use crate::desk::wait_for;

/// Settings without a sandbox, so that agents can tell of themselves outside of their worktrees.
const SETTINGS: &str = "[sandbox]\nmode = false\n";

/// Queues a task of its own directory, and returns the run.
#[track_caller]
fn queue(bench: &Bench, number: usize) -> String {
    let (title, write) = (format!("Make {number}"), format!("src/{number}/**"));
    let args = ["run", "--title", &title, "--write", &write, "--queue"];
    let args = [&args[..], &["--runner", "agent"]].concat();
    let run = bench.call(&args);
    assert_eq!(run.code(), Some(0), "{run:?}");
    run.text().trim().to_owned()
}

fn start(bench: &Bench, args: &[&str]) -> Child {
    let mut command: Command = bench.desk.project.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for a worker, which has to end well, and returns what it said.
#[track_caller]
fn ended(worker: Child) -> String {
    let done = worker.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    said
}

fn signal(worker: &Child, name: &str) {
    let pid = worker.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.unwrap().success());
}

fn statuses(bench: &Bench) -> Vec<(String, Value)> {
    let runs = bench.desk.runs().into_iter();
    runs.map(|run| {
        (
            run["id"].as_str().unwrap().to_owned(),
            run["status"].clone(),
        )
    })
    .collect()
}

#[test]
fn two_workers_execute_every_queued_run_once() {
    let bench = Bench::with(
        "echo $CALLSHEET_RUN >> ../../../../tally; mkdir -p src; sleep 0.05",
        SETTINGS,
    );
    let queued: Vec<String> = (0..20).map(|number| queue(&bench, number)).collect();
    let workers = [
        start(&bench, &["worker", "--drain"]),
        start(&bench, &["worker", "--drain"]),
    ];
    for worker in workers {
        ended(worker);
    }
    let tally = std::fs::read_to_string(bench.desk.project.outside().join("tally")).unwrap();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for run in tally.lines() {
        *times.entry(run).or_default() += 1;
    }
    let once: BTreeMap<&str, usize> = queued.iter().map(|run| (run.as_str(), 1)).collect();
    assert_eq!(times, once);
    for (run, status) in statuses(&bench) {
        assert_eq!(status, "completed", "{run}");
    }
    bench.desk.assert_clean();
}

#[test]
fn a_worker_that_is_stopped_stops_its_agent_and_ends_well() {
    for name in ["-INT", "-TERM"] {
        let bench = Bench::with("echo up > ../../../../up; sleep 600", SETTINGS);
        let run = queue(&bench, 1);
        let later = queue(&bench, 2);
        let worker = start(&bench, &["worker"]);
        let up = bench.desk.project.outside().join("up");
        wait_for("the agent is up", || up.exists());
        let since = Instant::now();
        signal(&worker, name);
        let said = ended(worker);
        assert!(since.elapsed() < Duration::from_secs(20), "{said}");
        let expected = format!("run {run}: cancelled");
        assert!(said.contains(&expected), "{said}");
        assert!(said.contains("1 run done\n"), "{said}");
        let statuses = statuses(&bench);
        assert!(
            statuses.contains(&(run, "cancelled".into())),
            "{statuses:?}"
        );
        assert!(
            statuses.contains(&(later.clone(), Value::Null)),
            "{statuses:?}"
        );
        assert_eq!(bench.call(&["stop", &later]).code(), Some(0));
        bench.desk.assert_clean();
    }
}

#[test]
fn a_worker_that_is_stopped_while_it_makes_a_worktree_ready_starts_no_agent() {
    let setup = "[workspace]\nsetup = [\"sh\", \"-c\", \"echo up > ../../../../up; sleep 1\"]\n";
    let bench = Bench::with("echo ran > ../../../../ran", &format!("{SETTINGS}{setup}"));
    let run = queue(&bench, 1);
    let worker = start(&bench, &["worker"]);
    let outside = bench.desk.project.outside();
    wait_for("the set-up is under way", || outside.join("up").exists());
    signal(&worker, "-INT");
    ended(worker);
    assert_eq!(statuses(&bench), [(run.clone(), "cancelled".into())]);
    assert!(!outside.join("ran").exists());
    let shown = bench.desk.project.run(&["show", &run, "--json"]).json();
    assert_eq!(
        shown["reason"],
        "it was stopped before the agent was started"
    );
    assert_eq!(bench.call(&["verify"]).code(), Some(0));
}

#[test]
fn a_run_for_a_runner_that_is_not_here_stays_queued() {
    let bench = Bench::with("true", SETTINGS);
    let run = queue(&bench, 1);
    let file = bench.desk.project.path("callsheet.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let renamed = text.replace("[runners.agent]", "[runners.other]");
    std::fs::write(&file, renamed).unwrap();
    insta::assert_snapshot!(bench.desk.project.callsheet(&["worker", "--drain"]), @"
    exit: 0
    --- stderr
    waiting for runs of other
    0 runs done
    note: 1 run stays queued: no runner or account here can take it now
    ");
    assert_eq!(statuses(&bench), [(run.clone(), Value::Null)]);
    // With the runner, it is taken.
    std::fs::write(&file, text).unwrap();
    let said = ended(start(&bench, &["worker", "--drain"]));
    assert!(said.contains(&format!("run {run}: completed")), "{said}");
    bench.desk.assert_clean();
}

#[test]
fn a_worker_passes_a_runner_by_that_is_paused() {
    let bench = Bench::with("true", SETTINGS);
    let broken = "[runners.broken]\nadapter = \"command\"\ncommand = [\"./broken\"]\n";
    let file = bench.desk.project.path("callsheet.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{broken}\n{text}")).unwrap();
    bench.desk.program("broken", "exit 0\n");
    bench.desk.commit("broken");
    let args = [
        "run", "--title", "Try", "--write", "src/**", "--runner", "broken", "--queue",
    ];
    let first = bench.call(&args).text().trim().to_owned();
    // A program that cannot be started says something about the machine, and the runner is paused.
    bench.desk.project.file("broken", "#!/nowhere\n");
    bench.desk.commit("more broken");
    ended(start(&bench, &["worker", "--drain"]));
    assert_eq!(statuses(&bench), [(first, "failed".into())]);
    let waits = bench.call(&args).text().trim().to_owned();
    let runs = queue(&bench, 1);
    let said = ended(start(&bench, &["worker", "--drain"]));
    assert!(said.contains(&format!("run {runs}: completed")), "{said}");
    assert!(!said.contains(&waits), "{said}");
    assert!(said.contains("note: 1 run stays queued"), "{said}");
    assert_eq!(bench.call(&["stop", &waits]).code(), Some(0));
    bench.desk.assert_clean();
}
