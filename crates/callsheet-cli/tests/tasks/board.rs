//! A project in a git repository, with tasks and runs of them.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::time::Duration;

use callsheet_store::{Access, Claim, Id, Location, NewRun, Project as Kept, RunKind, Store, Wait};
use serde_json::{Value, json};

use crate::project::Project;

/// A project in a git repository.
pub(crate) struct Board {
    pub(crate) project: Project,
}

impl Board {
    /// Makes a project with one commit on `main`.
    pub(crate) fn new() -> Self {
        let mut project = Project::new();
        let path = std::env::var("PATH").unwrap();
        project.variable("PATH", &path);
        std::fs::remove_dir(project.path(".git")).unwrap();
        project.file("src/login.rs", "fn login() {}\n");
        let board = Self { project };
        board.git(&["init", "--quiet", "--initial-branch=main"]);
        board.git(&["add", "--all"]);
        board.git(&["commit", "--quiet", "--message=start"]);
        board
    }

    pub(crate) fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
        let mut git = self.project.tool("git");
        let done = git.args(identity).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
    }

    /// Runs a command of `task` and returns all that a user sees.
    #[must_use = "snapshot it"]
    pub(crate) fn task(&self, args: &[&str]) -> String {
        let shown = self.project.callsheet(&[&["task"], args].concat());
        without_moments(&shown)
    }

    /// Adds a task and returns its id.
    #[track_caller]
    pub(crate) fn add(&self, title: &str, more: &[&str]) -> String {
        let args = ["task", "add", "--title", title, "--write", "src/**"];
        let run = self.project.run(&[&args[..], more].concat());
        assert_eq!(run.code(), Some(0), "{run:?}");
        let id = run.text();
        assert!(
            id.ends_with('\n') && id.trim_end().parse::<Id>().is_ok(),
            "{id}"
        );
        id.trim_end().to_owned()
    }

    /// Returns the status of a task and its reasons.
    #[track_caller]
    pub(crate) fn status(&self, id: &str) -> String {
        let document = self.project.run(&["task", "show", id, "--json"]).json();
        let reasons = document["reasons"].as_array().unwrap().iter();
        let words = [&document["status"]].into_iter().chain(reasons);
        words
            .map(|word| word.as_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Opens the store, as a worker would.
    pub(crate) fn store(&self) -> (Store, Kept) {
        let file = self.project.path(".callsheet/callsheet.db");
        let store = Store::open(&Location::Sqlite(file), Access::Write).unwrap();
        let project = store.project(".").wait().unwrap();
        (store, project)
    }

    /// Queues a run of a task.
    pub(crate) fn queue(&self, task: &str) -> Id {
        let sealed =
            self.project
                .run(&["compose", "layers", "-D", "rules=short", "--seal", "--json"]);
        let (store, project) = self.store();
        let new = NewRun {
            prompt: sealed.json()["id"].as_str().unwrap().parse().unwrap(),
            kind: RunKind::First,
            parent: None,
            request: json!({"task": task, "checks": [{"name": "test", "command": ["./test"], "required": true}]}),
            task: Some(task.parse().unwrap()),
            batch: None,
        };
        store.queue_run(&project, new).wait().unwrap()
    }

    /// Claims the run that waits.
    pub(crate) fn claim(&self) -> Claim {
        let (store, project) = self.store();
        let hour = Duration::from_hours(1);
        let claim = store.claim_queued(&project, "a worker", hour, |_, _| true);
        claim.wait().unwrap().unwrap()
    }

    /// Runs a task to its end, with this outcome.
    pub(crate) fn finish(&self, task: &str, outcome: &Value) -> Id {
        let run = self.queue(task);
        let claim = self.claim();
        let (store, _) = self.store();
        assert!(store.finish_run(&claim, outcome).wait().unwrap());
        run
    }

    /// Adds an annotation to a run.
    pub(crate) fn annotate(&self, run: Id, kind: &str, name: &str, value: Value) {
        let (store, project) = self.store();
        let adding = store.annotate(&project, run, kind, name, value, |_, _| Ok(()));
        adding.wait().unwrap().unwrap();
    }
}

/// Puts `[TIME]` in the place of the times of a task document.
fn without_moments(shown: &str) -> String {
    let lines = shown.lines().map(|line| {
        let moment = ["created_at", "cancelled_at"].into_iter().find(|key| {
            let begin = format!("\"{key}\": ");
            line.trim_start().starts_with(&begin) && !line.contains("null")
        });
        match moment {
            Some(key) => {
                let comma = if line.ends_with(',') { "," } else { "" };
                let (indent, _) = line.split_once('"').unwrap();
                format!("{indent}\"{key}\": [TIME]{comma}")
            }
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
