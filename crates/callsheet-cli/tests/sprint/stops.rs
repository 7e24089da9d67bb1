//! A sprint that is stopped in any phase, and goes on where it was.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Child;

use callsheet_store::{Access, Location, Store, Wait};
use rustix::process::{Pid, Signal, kill_process};

use crate::desk::wait_for;
use crate::play::{CONTEXT, Sprint, lines};

/// Who stops a sprint, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    /// `sprint stop`, which lets agents end.
    Drain,
    /// `sprint stop --cancel`.
    Cancel,
    /// Ctrl-C once.
    Interrupt,
    /// Ctrl-C twice.
    InterruptTwice,
}

impl Stop {
    fn cancels(self) -> bool {
        matches!(self, Self::Cancel | Self::InterruptTwice)
    }

    fn ask(self, sprint: &Sprint, child: &Child) {
        let interrupt = || {
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            kill_process(pid, Signal::INT).unwrap();
        };
        let stop = |how: &str| {
            let run = sprint.desk.project.run(&["sprint", "stop", how]);
            assert!(run.text().starts_with("stopping batch "), "{}", run.text());
        };
        match self {
            Self::Drain => stop("--drain"),
            Self::Cancel => stop("--cancel"),
            Self::Interrupt => interrupt(),
            Self::InterruptTwice => {
                interrupt();
                // Two signals that come at once are one.
                wait_for("the first is noticed", || !sprint.stops().is_empty());
                interrupt();
            }
        }
    }
}

impl Sprint {
    /// Returns what the journal of the newest batch has of stops.
    fn stops(&self) -> Vec<String> {
        let file = self.desk.project.path(".callsheet/callsheet.db");
        let location = Location::Sqlite(file);
        let store = Store::open(&location, Access::Read);
        let store = store.unwrap();
        let project = store.project(".").wait().unwrap();
        let open = store.open_batch(&project).wait().unwrap();
        let Some(open) = open else { return Vec::new() };
        let journal = store.journal(&project, open.id, 0).wait().unwrap();
        let entries = journal.iter().map(|entry| entry.entry.to_string());
        entries
            .filter(|entry| entry.contains("\"stopped\""))
            .collect()
    }
}

/// The story needs a tech spec; the phase in question waits for the test, the first time.
fn hook(phase: &str) -> String {
    format!(
        "if [ $phase = {phase} ] && [ $nth = 1 ]; then hold; fi
        if [ $phase = create-story ]; then
            echo '# Story' > $impl/sprint-1-1.md
            echo '[TECH-SPEC-DECISION: REQUIRED]'
            ended
        fi"
    )
}

/// Stops a sprint in a phase, continues it, and compares what became of it with one that nobody stopped.
fn stop_in(phase: &str, stop: Stop) {
    let sprint = Sprint::new(&[("1-1", "backlog")], &hook(phase));
    std::fs::remove_file(sprint.desk.project.path(CONTEXT)).unwrap();
    let mut child = sprint.start();
    wait_for("the phase has begun", || sprint.out("there").exists());
    stop.ask(&sprint, &child);
    if !stop.cancels() {
        if stop == Stop::Interrupt {
            wait_for("it is noticed", || !sprint.stops().is_empty());
        }
        std::fs::write(sprint.out("go"), "").unwrap();
    }
    child.wait().unwrap();
    assert_eq!(sprint.ends(), "stopped", "{phase} {stop:?}");
    let before = sprint.calls();
    assert!(before.last().unwrap().starts_with(phase) || phase.starts_with("create-story"));
    sprint.ran(0);
    assert_eq!(sprint.ends(), "stopped, all_done", "{phase} {stop:?}");
    assert_eq!(sprint.words(), "1-1: done");
    let ends = lines(&sprint.out("ends"));
    let mut ends: Vec<&str> = ends
        .iter()
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    // Two of them run side by side.
    if let Some(at) = ends
        .iter()
        .position(|end| end.starts_with("create-story-discovery"))
    {
        let discovery = ends.remove(at);
        ends.insert(2, discovery);
    }
    assert_eq!(
        ends,
        [
            "generate-project-context  1",
            "create-story 1-1 1",
            "create-story-discovery 1-1 1",
            "story-review 1-1 1",
            "create-tech-spec 1-1 1",
            "tech-spec-review 1-1 1",
            "dev-story 1-1 1",
            "code-review 1-1 1",
            "commit 1-1 1",
        ],
        "{phase} {stop:?}"
    );
    let calls = sprint.calls();
    let held = calls
        .iter()
        .filter(|call| call.split(' ').next() == Some(phase));
    let expected = if stop.cancels() { 2 } else { 1 };
    assert_eq!(held.count(), expected, "{phase} {stop:?}: {calls:?}");
    assert_eq!(sprint.commits().lines().next(), Some("feat: implement 1-1"));
    sprint.assert_clean();
}

macro_rules! stopped_in {
    ($($name:ident: $phase:literal, $drain:ident, $cancel:ident;)*) => {$(
        #[test]
        fn $name() {
            stop_in($phase, Stop::$drain);
            stop_in($phase, Stop::$cancel);
        }
    )*};
}

stopped_in! {
    stopped_while_the_context_is_made: "generate-project-context", Drain, InterruptTwice;
    stopped_while_stories_are_created: "create-story", Interrupt, Cancel;
    stopped_while_the_code_is_explored: "create-story-discovery", Drain, InterruptTwice;
    stopped_while_stories_are_reviewed: "story-review", Interrupt, Cancel;
    stopped_while_a_tech_spec_is_written: "create-tech-spec", Drain, InterruptTwice;
    stopped_while_a_tech_spec_is_reviewed: "tech-spec-review", Interrupt, Cancel;
    stopped_while_a_story_is_developed: "dev-story", Drain, InterruptTwice;
    stopped_while_code_is_reviewed: "code-review", Interrupt, Cancel;
    stopped_while_stories_are_committed: "commit", Drain, InterruptTwice;
}
