//! A project with a board and an agent of shell, and what a sprint leaves behind.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::desk::{Desk, survivors};
use crate::project::Run;

/// The directory of story files.
pub(crate) const IMPL: &str = "_bmad-output/implementation-artifacts";

/// The board.
pub(crate) const BOARD: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";

/// The context of the project.
pub(crate) const CONTEXT: &str = "_bmad-output/planning-artifacts/project-context.md";

const AGENT: &str = include_str!("agent.sh");

/// A project that sprints run in.
pub(crate) struct Sprint {
    pub(crate) desk: Desk,
}

impl Sprint {
    /// Makes a project with stories; `hook` is what its agent does first.
    pub(crate) fn new(stories: &[(&str, &str)], hook: &str) -> Self {
        Self::with(stories, hook, "")
    }

    /// Makes a project with stories, an agent and settings.
    pub(crate) fn with(stories: &[(&str, &str)], hook: &str, settings: &str) -> Self {
        let desk = Desk::new("");
        let sprint = Self { desk };
        let agent = sprint.out("agent.sh");
        let settings = format!(
            "{settings}\n[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", {}, \"{{system_file}}\"]\n",
            toml::Value::from(agent.to_str().unwrap())
        );
        std::fs::write(agent, AGENT).unwrap();
        std::fs::write(sprint.out("calls"), "").unwrap();
        std::fs::write(sprint.out("ends"), "").unwrap();
        sprint.hook(hook);
        let project = &sprint.desk.project;
        project
            .file("callsheet.toml", settings)
            .file(BOARD, board(stories))
            .file(CONTEXT, "# Context\n");
        sprint.desk.commit("board");
        sprint
    }

    /// Makes a project whose agent plays a script.
    pub(crate) fn scripted(stories: &[(&str, &str)], script: &str, settings: &str) -> Self {
        let sprint = Self::with(stories, "", "");
        let settings = format!(
            "{settings}\n[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n"
        );
        let out = sprint.out("").display().to_string();
        let script = script.replace("OUT/", &out);
        sprint.desk.project.file("callsheet.toml", settings);
        sprint.desk.project.file("agent.toml", script);
        sprint.desk.commit("script");
        sprint
    }

    /// Returns a path beside the project.
    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.desk.project.outside().join(name)
    }

    /// Sets what the agent does first.
    pub(crate) fn hook(&self, hook: &str) {
        std::fs::write(self.out("hook.sh"), hook).unwrap();
    }

    pub(crate) fn run(&self) -> Run {
        self.desk.project.run(&["sprint", "run", "all"])
    }

    /// Runs a sprint and fails unless it exits with that code.
    #[track_caller]
    pub(crate) fn ran(&self, code: i32) -> String {
        let run = self.run();
        let said = String::from_utf8_lossy(&run.stderr).into_owned() + &run.text();
        assert_eq!(run.code(), Some(code), "{said}\n{}", self.event_lines());
        said
    }

    /// Starts a sprint and does not wait for it.
    pub(crate) fn start(&self) -> Child {
        let mut command = self.desk.project.command(&["sprint", "run", "all"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    pub(crate) fn board(&self) -> String {
        self.desk.project.read(BOARD)
    }

    /// Returns what the board says of its stories.
    pub(crate) fn words(&self) -> String {
        let board = self.board();
        let stories = board.lines().filter(|line| line.starts_with("  "));
        stories.map(str::trim).collect::<Vec<_>>().join(", ")
    }

    /// Returns which agents were called, one line each; the two that run side by side in the order of their names.
    pub(crate) fn calls(&self) -> Vec<String> {
        in_order(&lines(&self.out("calls")))
    }

    /// Returns the events of all batches.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let listed = self.desk.project.run(&["events", "--json"]);
        let text = listed.text();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the payloads of the events of a kind.
    pub(crate) fn payloads(&self, kind: &str) -> Vec<Value> {
        let events = self.events().into_iter();
        events
            .filter(|event| event["type"] == kind)
            .map(|event| event["payload"].clone())
            .collect()
    }

    /// Returns a field of the events of a kind.
    pub(crate) fn field(&self, kind: &str, field: &str) -> Vec<String> {
        let payloads = self.payloads(kind).into_iter();
        payloads
            .map(|payload| payload[field].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Returns how its batches ended, the first one first.
    pub(crate) fn ends(&self) -> String {
        self.field("batch:end", "status").join(", ")
    }

    /// Returns everything that was stored about the sprint, for whoever has to find out what went wrong.
    pub(crate) fn event_lines(&self) -> String {
        let mut event_lines = String::new();
        for event in self.events() {
            let kind = event["type"].as_str().unwrap_or_default();
            if !kind.starts_with("agent:") {
                let _ = writeln!(event_lines, "{kind} {}", event["payload"]);
            }
        }
        event_lines
    }

    /// Returns subjects and paths of the commits since the start, the oldest first.
    pub(crate) fn commits(&self) -> String {
        let log = ["log", "--reverse", "--name-only", "--format=%n* %s"];
        let log = self.desk.git(&log);
        let own = log.split("\n\n* ").filter(|commit| {
            let first = commit.trim_start_matches("* ");
            !["start\n", "board\n", "script\n"]
                .iter()
                .any(|subject| first.starts_with(subject))
        });
        own.collect::<Vec<_>>().join("\n").replace("\n\n", "\n")
    }

    /// Fails if a batch has no end, or more than one, or something else is left.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let ids = |kind: &str| self.field(kind, "batch_id");
        assert_eq!(
            ids("batch:start"),
            ids("batch:end"),
            "{}",
            self.event_lines()
        );
        for run in self.desk.runs() {
            assert_eq!(survivors(run["id"].as_str().unwrap()), Vec::<String>::new());
            assert_eq!(run["state"], "finished", "{run}");
        }
        let verified = self.desk.project.run(&["verify"]);
        assert_eq!(verified.code(), Some(0), "{}", verified.text());
    }
}

/// Writes a board with these stories.
pub(crate) fn board(stories: &[(&str, &str)]) -> String {
    let mut text = "# The sprint\nproject: shop\n\ndevelopment_status:\n".to_owned();
    for (key, word) in stories {
        let _ = writeln!(text, "  {key}: {word}");
    }
    text
}

pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns lines with the two phases that run side by side in the order of their names.
pub(crate) fn in_order(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    for index in 1..lines.len() {
        let is = |at: usize, phase: &str| lines[at].starts_with(phase);
        if is(index - 1, "create-story-discovery ") && is(index, "create-story ") {
            lines.swap(index - 1, index);
        }
    }
    lines
}
