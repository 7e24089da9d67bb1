//! A project with a task for an agent, and what can be said of its main checkout.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::desk::Desk;
use crate::project::Run;

/// What every project here has.
const SETTINGS: &str = "[scope]\ndefault_exclude = [\"**/*.env\"]\n\n[[checks]]\nname = \"builds\"\ncommand = [\"test\", \"-f\", \"src/login.rs\"]\n";

/// A project with one agent, and a task for it.
pub(crate) struct Bench {
    pub(crate) desk: Desk,
}

impl Bench {
    /// Makes a project whose agent runs a line of shell.
    pub(crate) fn new(line: &str) -> Self {
        Self::with(line, SETTINGS)
    }

    /// Makes a project whose agent is not in a sandbox.
    pub(crate) fn unboxed(line: &str) -> Self {
        Self::with(line, &format!("{SETTINGS}\n[sandbox]\nmode = false\n"))
    }

    pub(crate) fn with(line: &str, settings: &str) -> Self {
        let desk = Desk::new(&format!("{}\n{settings}", runner(line)));
        desk.project
            .file("infra/prod.env", "KEY=1\n")
            .file("README.md", "read me\n")
            .file("run.sh", "#!/bin/sh\n")
            .file(".gitignore", "*.log\n.env\n.callsheet/\n");
        desk.commit("more");
        // An agent commits as whoever the repository says.
        desk.git(&["config", "user.name", "n"]);
        desk.git(&["config", "user.email", "e@x"]);
        Self { desk }
    }

    /// Gives the agent another line of shell; the change is committed.
    pub(crate) fn agent(&self, line: &str) {
        let file = self.desk.project.path("callsheet.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let (_, rest) = text.split_once("\n\n").unwrap();
        std::fs::write(&file, format!("{}\n\n{rest}", runner(line).trim_end())).unwrap();
        self.desk.commit("agent");
    }

    /// Runs a new task to its end, and returns the document of the run and the exit code.
    #[track_caller]
    pub(crate) fn run(&self) -> (Value, Option<i32>) {
        let args = ["run", "--title", "Fix the login", "--write", "src/**"];
        self.document(&args)
    }

    /// Runs a command that ends with the document of a run.
    #[track_caller]
    pub(crate) fn document(&self, args: &[&str]) -> (Value, Option<i32>) {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let run = self.desk.project.run(&args);
        assert!(!run.stdout.is_empty(), "{}", run.text());
        (run.json(), run.code())
    }

    pub(crate) fn call(&self, args: &[&str]) -> Run {
        self.desk.project.run(args)
    }

    /// Returns the status of a task and its reasons.
    #[track_caller]
    pub(crate) fn status(&self, task: &str) -> String {
        let shown = self.call(&["task", "show", task, "--json"]).json();
        let reasons = shown["reasons"].as_array().unwrap().iter();
        let reasons: Vec<&str> = reasons.map(|reason| reason.as_str().unwrap()).collect();
        format!(
            "{}: {}",
            shown["status"].as_str().unwrap(),
            reasons.join(", ")
        )
    }

    /// Returns the worktree of a run.
    pub(crate) fn worktree(&self, run: &Value) -> PathBuf {
        let task = run["task"].as_str().unwrap();
        let name = format!(".callsheet/worktrees/task-{task}");
        self.desk.project.path(&name)
    }

    /// Returns everything about the main checkout: files, index, refs, settings.
    pub(crate) fn main(&self) -> BTreeMap<String, String> {
        let root = self.desk.project.path("");
        let mut found = BTreeMap::new();
        read(&root, &root, &mut found);
        found.insert("refs".to_owned(), self.refs());
        found.insert(
            "status".to_owned(),
            self.desk.git(&["status", "--porcelain"]),
        );
        found
    }

    fn refs(&self) -> String {
        let refs = self
            .desk
            .git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let own = refs.lines().filter(|line| !line.contains("callsheet/"));
        own.collect::<Vec<_>>().join("\n")
    }
}

fn runner(line: &str) -> String {
    let line = toml::Value::from(format!("cat > /dev/null; {line}"));
    format!("[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {line}]\n")
}

/// Reads all files that belong to the checkout; what git writes whenever it is asked is left out.
fn read(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let skipped = [
            ".callsheet",
            ".git/objects",
            ".git/worktrees",
            ".git/index",
            ".git/refs",
            ".git/logs",
        ];
        if skipped.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            read(root, &path, found);
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

/// Returns the violations of a run, each as `reason path`.
pub(crate) fn violations(run: &Value) -> Vec<String> {
    let list = run["violations"].as_array().unwrap();
    let row = |one: &Value| {
        let word = |field: &str| one[field].as_str().unwrap();
        format!("{} {}", word("reason"), word("path"))
    };
    list.iter().map(row).collect()
}

/// Returns the changed files of a run.
pub(crate) fn changed(run: &Value) -> Vec<String> {
    let list = run["changed_files"].as_array().unwrap();
    list.iter()
        .map(|file| file.as_str().unwrap().to_owned())
        .collect()
}
