//! A project with runners, the runs that they make, and a look at what is left of their processes.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::project::{Project, Run};

/// The task that all agents here get.
const TASK: &str = "task:\n  id: '1'\n  title: Fix the login\n  description: It fails.\n  write_scope: ['src/**']\n";

/// A project in a git repository, with runners.
pub(crate) struct Desk {
    pub(crate) project: Project,
}

impl Desk {
    /// Makes a project whose `callsheet.toml` has these runners.
    pub(crate) fn new(runners: &str) -> Self {
        let mut project = Project::new();
        let path = std::env::var("PATH").unwrap();
        project.variable("PATH", &path);
        std::fs::remove_dir(project.path(".git")).unwrap();
        project
            .file("callsheet.toml", runners)
            .file("task.yaml", TASK)
            .file("src/login.rs", "fn login() {}\n");
        let desk = Self { project };
        desk.git(&["init", "--quiet", "--initial-branch=main"]);
        desk.commit("start");
        desk
    }

    /// Makes a project with one runner, `agent`, that runs a line of shell.
    pub(crate) fn with_shell(line: &str, limits: &str) -> Self {
        let line = toml::Value::from(line);
        Self::new(&format!(
            "[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {line}]\nlimits = {{ {limits} }}\n"
        ))
    }

    /// Makes a project with one runner, `agent`, that plays a script.
    pub(crate) fn with_script(script: &str) -> Self {
        let desk = Self::new("[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n");
        desk.project.file("agent.toml", script);
        desk.commit("script");
        desk
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
        let mut git = self.project.tool("git");
        let done = git.args(identity).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Returns the command that hands the task to the agent.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let args = ["exec", "run", "--input", "task.yaml"];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        self.project.command(&args)
    }

    /// Hands the task to the agent and returns what the program said.
    pub(crate) fn exec(&self, more: &[&str]) -> Run {
        crate::project::finish(&mut self.command(more))
    }

    /// Starts handing the task to the agent, and does not wait for it.
    pub(crate) fn start(&self, more: &[&str]) -> Child {
        let mut command = self.command(more);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Writes a shell script that can be run.
    pub(crate) fn program(&self, name: &str, script: &str) {
        self.project.file(name, format!("#!/bin/sh\n{script}"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.project.path(name), mode).unwrap();
    }

    /// Hands the task to the agent and returns the run document and the exit code.
    #[track_caller]
    pub(crate) fn document(&self, more: &[&str]) -> (Value, Option<i32>) {
        let args: Vec<&str> = more.iter().chain(&["--json"]).copied().collect();
        let run = self.exec(&args);
        assert!(
            !run.stdout.is_empty(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        (run.json(), run.code())
    }

    /// Returns the documents of all runs, the newest first.
    #[track_caller]
    pub(crate) fn runs(&self) -> Vec<Value> {
        let listed = self.project.run(&["runs", "--json", "-n", "1000"]);
        listed.json()["runs"].as_array().unwrap().clone()
    }

    /// Fails if a process of a run is alive, or if the store is not what it has to be.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        for run in self.runs() {
            assert_eq!(survivors(run["id"].as_str().unwrap()), Vec::<String>::new());
            assert_eq!(run["state"], "finished", "{run}");
        }
        let verified = self.project.run(&["verify"]);
        assert_eq!(verified.code(), Some(0), "{}", verified.text());
        let left = std::fs::read_dir(self.project.path(".callsheet/runs")).unwrap();
        assert_eq!(left.count(), 0, "a folder of a run is left");
    }
}

/// Returns the processes that have the mark of a run.
pub(crate) fn survivors(run: &str) -> Vec<String> {
    let mark = format!("CALLSHEET_RUN={run}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        })
        // One that has ended and was not taken off the list yet is not a process any more.
        .filter(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            !stat.contains(") Z ") && !stat.is_empty()
        })
        .map(|entry| std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default())
        .collect()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_mins(1), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether a file is there with something in it.
pub(crate) fn has(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
}
