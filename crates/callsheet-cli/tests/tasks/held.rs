//! A callsheet that is killed, or met by another one, where it matters most: agents, checks and set-ups that wait for a file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::bench::{Bench, changed, violations};
use crate::desk::{survivors, wait_for};

/// What waits, as a line of shell: it says that it is up in a file that git ignores, and goes on when it may.
const WAIT: &str =
    "echo up > up.log; while ! test -e ../../../../open; do sleep 0.01; done; rm up.log";

/// An agent that has done its work in no time.
const QUICK: &str = "echo work > src/work.rs";

fn check(line: &str) -> String {
    let line = toml::Value::from(line);
    format!("[[checks]]\nname = \"builds\"\ncommand = [\"sh\", \"-c\", {line}]\n")
}

/// A command that waits somewhere until it may go on.
struct Held {
    bench: Bench,
    task: String,
}

impl Held {
    fn new(agent: &str, settings: &str) -> Self {
        let bench = Bench::with(agent, settings);
        let add = ["task", "add", "--title", "Fix it", "--write", "src/**"];
        let task = bench.call(&add).text().trim().to_owned();
        Self { bench, task }
    }

    fn worktree(&self) -> PathBuf {
        let name = format!(".callsheet/worktrees/task-{}", self.task);
        self.bench.desk.project.path(&name)
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command: Command = self.bench.desk.project.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Starts a command and returns it when it waits.
    fn until_up(&self, args: &[&str]) -> Child {
        let up = self.worktree().join("up.log");
        // One that was killed has left it.
        let _ = std::fs::remove_file(&up);
        let child = self.start(args);
        wait_for("it is up", || up.exists());
        child
    }

    /// Kills a command while it waits, and lets the next one go on.
    fn kill(&self, args: &[&str]) {
        let mut child = self.until_up(args);
        child.kill().unwrap();
        child.wait().unwrap();
        self.open();
    }

    /// Lets everything go on.
    fn open(&self) {
        std::fs::write(self.bench.desk.project.outside().join("open"), "").unwrap();
    }

    fn close(&self) {
        std::fs::remove_file(self.bench.desk.project.outside().join("open")).unwrap();
    }

    /// Returns what a user sees of a command.
    fn shown(&self, args: &[&str]) -> String {
        self.bench.desk.project.callsheet(args)
    }
}

#[test]
fn a_second_run_of_a_task_is_refused_while_the_first_goes_on() {
    let held = Held::new(WAIT, "");
    let first = held.until_up(&["run", &held.task]);
    insta::assert_snapshot!(held.shown(&["run", &held.task]), @"
    exit: 3
    --- stderr
    error: task `[ID1]` has a run that is not over: `[ID2]`
    hint: `callsheet stop [ID2]` ends it
    ");
    insta::assert_snapshot!(held.shown(&["merge", &held.task]), @"
    exit: 3
    --- stderr
    error: another process works on task `[ID1]`
    ");
    held.open();
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));
    held.bench.desk.assert_clean();
}

#[test]
fn a_second_run_is_refused_while_the_first_makes_its_worktree_ready() {
    let setup = toml::Value::from(WAIT);
    let settings = format!("[workspace]\nsetup = [\"sh\", \"-c\", {setup}]\n");
    let held = Held::new(QUICK, &settings);
    let first = held.until_up(&["run", &held.task]);
    insta::assert_snapshot!(held.shown(&["run", &held.task]), @"
    exit: 3
    --- stderr
    error: another process works on task `[ID1]`
    ");
    held.open();
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));
    held.bench.desk.assert_clean();
}

#[test]
fn tasks_that_write_the_same_files_do_not_run_at_once() {
    let held = Held::new(&format!("test -e second || {{ {WAIT}; }}"), "");
    let first = held.until_up(&["run", &held.task]);
    let add = |more: &[&str]| {
        let args = [&["task", "add", "--title", "Other", "--write"], more].concat();
        held.bench.call(&args).text().trim().to_owned()
    };
    let same = add(&["src/login.rs"]);
    insta::assert_snapshot!(held.shown(&["run", &same]), @"
    exit: 3
    --- stderr
    runner agent: any program, permissions full, sandboxed
    error: task `[ID1]` would write what task `[ID2]` is writing (conflict score 1.00, at most 0.50)
    ");
    let other = add(&["src/other.rs", "docs/**", "tests/**"]);
    held.bench.agent("true");
    insta::assert_snapshot!(held.shown(&["run", &other]), @"
    exit: 0
    --- stdout
    status     completed
    process    exit code 0
    runner     agent
    took       [TOOK]
    prompt     [ID3]
    delivered  981 bytes, all of it read
    head       [HEAD]
    branch     callsheet/task-[ID4]
    changed    nothing
    [ID5]
    --- stderr
    warning: task `[ID2]` is running and may write the same files (conflict score 0.33)
    runner agent: any program, permissions full, sandboxed
    ");
    // A worker leaves it in the queue.
    assert_eq!(held.bench.call(&["run", &same, "--queue"]).code(), Some(0));
    insta::assert_snapshot!(held.shown(&["worker", "--drain"]), @"
    exit: 0
    --- stderr
    waiting for runs of agent
    0 runs done
    note: 1 run stays queued: no runner or account here can take it now
    ");
    held.open();
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));
    insta::assert_snapshot!(held.shown(&["worker", "--drain"]), @"
    exit: 0
    --- stderr
    waiting for runs of agent
    run [ID6]
    runner agent: any program, permissions full, sandboxed
    run [ID6]: completed
    1 run done
    ");
    held.bench.desk.assert_clean();
}

#[test]
fn a_set_up_that_was_killed_is_ended_and_done_again() {
    let line = format!("echo x >> ../../../../setups; {WAIT}; echo x >> ../../../../setups");
    let setup = toml::Value::from(line);
    let settings = format!("[workspace]\nsetup = [\"sh\", \"-c\", {setup}]\n");
    let held = Held::new(QUICK, &settings);
    held.kill(&["run", &held.task]);
    assert_eq!(held.bench.desk.runs(), Vec::<serde_json::Value>::new());
    let (run, code) = held.bench.document(&["run", &held.task]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(changed(&run), ["src/work.rs"]);
    held.bench.desk.assert_clean();
}

#[test]
fn a_worker_that_is_killed_before_its_agent_is_there_charges_nobody() {
    let setup = toml::Value::from(WAIT);
    let settings = format!("[workspace]\nsetup = [\"sh\", \"-c\", {setup}]\n");
    let held = Held::new(QUICK, &settings);
    assert_eq!(
        held.bench.call(&["run", &held.task, "--queue"]).code(),
        Some(0)
    );
    held.kill(&["worker", "--drain"]);
    let run = &held.bench.desk.runs()[0];
    assert_eq!([&run["state"], &run["status"]], ["finished", "failed"]);
    assert_eq!(violations(run), [""; 0]);
    assert_eq!(run["result"], json!(null));
    assert_eq!(held.bench.status(&held.task), "failed: run_failed");
    let (again, code) = held.bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{again:#}");
    assert_eq!(changed(&again), ["src/work.rs"]);
    held.bench.desk.assert_clean();
}

#[test]
fn a_check_that_was_killed_with_its_run_is_pending_and_nothing_of_it_is_left() {
    let held = Held::new(QUICK, &check(WAIT));
    held.kill(&["run", &held.task]);
    let run = &held.bench.desk.runs()[0];
    let id = run["id"].as_str().unwrap();
    assert_eq!(
        [&run["status"], &run["settled"]],
        [&json!("completed"), &json!(true)]
    );
    assert_eq!(run["checks"][0]["status"], "pending");
    assert_eq!(
        run["checks"][0]["reason"],
        "callsheet ended before the checks did"
    );
    assert_eq!(survivors(id), Vec::<String>::new());
    assert_eq!(held.bench.call(&["checks", "rerun", id]).code(), Some(0));
    assert_eq!(held.bench.call(&["merge", &held.task]).code(), Some(0));
    assert_eq!(held.bench.status(&held.task), "done: ");
    held.bench.desk.assert_clean();
}

#[test]
fn what_a_check_had_changed_when_it_was_killed_is_nothing_that_the_agent_did() {
    let line = format!("echo check > README.md; echo check > made.txt; rm src/login.rs; {WAIT}");
    let held = Held::new(QUICK, &check(&line));
    let is_tidy = |of: &str| {
        let has = |name: &str| std::fs::read_to_string(held.worktree().join(name)).ok();
        assert_eq!(has("README.md").as_deref(), Some("read me\n"), "{of}");
        assert_eq!(has("src/work.rs").as_deref(), Some("work\n"), "{of}");
        assert!(
            has("made.txt").is_none() && has("src/login.rs").is_some(),
            "{of}"
        );
    };
    held.kill(&["run", &held.task]);
    let run = &held.bench.desk.runs()[0];
    let id = run["id"].as_str().unwrap();
    assert_eq!(run["status"], "completed", "{run:#}");
    assert_eq!(changed(run), ["src/work.rs"]);
    assert_eq!(violations(run), [""; 0]);
    assert_eq!(
        run["changed_by_checks"],
        json!(["README.md", "made.txt", "src/login.rs"])
    );
    is_tidy("run");
    held.close();
    held.kill(&["checks", "rerun", id]);
    assert!(held.worktree().join("made.txt").exists());
    let rerun = held.bench.call(&["checks", "rerun", id]);
    assert_eq!(
        rerun.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&rerun.stderr)
    );
    is_tidy("rerun");
    held.close();
    held.kill(&["merge", &held.task]);
    assert!(held.worktree().join("made.txt").exists());
    let (again, _) = held.bench.document(&["retry", id]);
    assert_eq!(changed(&again), [""; 0], "{again:#}");
    is_tidy("merge");
    held.bench.desk.assert_clean();
}

#[test]
fn a_merge_that_is_killed_while_its_checks_run_leaves_the_worktree_as_the_run_left_it() {
    let line = format!("test -e docs/new.md && echo x >> README.md; {WAIT}");
    let settings = format!(
        "[scope]\ndefault_exclude = [\"**/*.env\"]\n{}",
        check(&line)
    );
    let held = Held::new(QUICK, &settings);
    held.open();
    let (run, code) = held.bench.document(&["run", &held.task]);
    assert_eq!(code, Some(0), "{run:#}");
    held.close();
    let desk = &held.bench.desk;
    desk.project.file("docs/new.md", "new\n");
    desk.project.file("infra/prod.env", "KEY=2\n");
    desk.commit("meanwhile");
    let base = desk.git(&["rev-parse", "main"]);
    held.kill(&["merge", &held.task]);
    assert!(
        held.worktree().join("docs/new.md").exists(),
        "it shows the merge"
    );
    assert_eq!(desk.git(&["rev-parse", "main"]), base);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let rerun = held
        .bench
        .call(&["checks", "rerun", run["id"].as_str().unwrap()]);
    assert_eq!(
        rerun.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&rerun.stderr)
    );
    assert!(!held.worktree().join("docs").exists());
    assert!(!held.worktree().join("infra/prod.env").exists());
    assert_eq!(
        std::fs::read_to_string(held.worktree().join("README.md")).unwrap(),
        "read me\n"
    );
    assert_eq!(held.bench.call(&["merge", &held.task]).code(), Some(0));
    assert_eq!(held.bench.status(&held.task), "done: ");
    held.bench.desk.assert_clean();
}

#[test]
fn a_worktree_that_was_half_made_is_finished() {
    let held = Held::new(
        "test -f src/login.rs && test -f README.md && true > src/new.rs",
        "",
    );
    held.open();
    // As a kill leaves it between the registration of the worktree and the last of its files.
    let (run, code) = held.bench.document(&["run", &held.task]);
    assert_eq!(code, Some(0), "{run:#}");
    let desk = &held.bench.desk;
    let note = format!(".callsheet/worktrees/task-{}.making", held.task);
    desk.project.file(&note, "");
    std::fs::remove_file(held.worktree().join("README.md")).unwrap();
    std::fs::write(held.worktree().join("src/login.rs"), "fn lo").unwrap();
    let (again, code) = held.bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{again:#}");
    assert_eq!(changed(&again), [""; 0]);
    assert!(!desk.project.path(&note).exists());
    // git was killed right after it had noted the worktree.
    let admin = desk
        .project
        .path(&format!(".git/worktrees/task-{}", held.task));
    std::fs::write(admin.join("locked"), "initializing").unwrap();
    std::fs::remove_dir_all(held.worktree()).unwrap();
    std::fs::create_dir(held.worktree()).unwrap();
    std::fs::write(
        held.worktree().join(".git"),
        format!("gitdir: {}\n", admin.display()),
    )
    .unwrap();
    let (again, code) = held
        .bench
        .document(&["retry", again["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{again:#}");
    let list = desk.git(&["worktree", "list", "--porcelain"]);
    assert!(!list.contains("locked"), "{list}");
    let names = std::fs::read_dir(desk.project.path(".callsheet/worktrees")).unwrap();
    let aside = names
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().contains("aside"));
    assert!(aside.is_none(), "{aside:?}");
    desk.assert_clean();
}
