//! Agents that play phases of a sprint, what they log, and what they said.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use callsheet_run::account::Asker;
use callsheet_run::drive::{self, Job, Live, Most, PhaseJob, Watcher};
use callsheet_run::{Runner, Runners};
use callsheet_store::{Access, Location, Run, RunKind, Store, Wait};
use serde_json::{Value, json};

use crate::desk::{Desk, wait_for};

const PROGRAM: &str = env!("CARGO_BIN_EXE_callsheet");

/// Somebody who looks on and says nothing.
struct Quiet;

impl Watcher for Quiet {
    fn live(&mut self, _: &Live<'_>) {}

    fn stops(&mut self) -> usize {
        0
    }

    fn note(&mut self, _: &str) {}

    fn say(&mut self, _: &str) {}
}

/// A desk whose agent has run once, so that there is a prompt, and the store of it.
struct Stage {
    desk: Desk,
    store: Store,
}

impl Stage {
    fn new(script: &str) -> Self {
        let desk = Desk::with_script("[[steps]]\nsay = \"hello\"\n");
        desk.exec(&[]);
        desk.project.file("agent.toml", script);
        desk.commit("agent");
        let file = desk.project.path(".callsheet/callsheet.db");
        let store = Store::open(&Location::Sqlite(file), Access::Write).unwrap();
        Self { desk, store }
    }

    /// Runs the agent as a phase, or as nothing of the kind.
    fn play(&self, phase: Option<PhaseJob<'_>>) -> Run {
        self.drive(phase, &mut Quiet)
    }

    fn drive(&self, phase: Option<PhaseJob<'_>>, watcher: &mut dyn Watcher) -> Run {
        let root = self.desk.project.root();
        let project = self.store.project(".").wait().unwrap();
        let runner = Runner {
            adapter: Some("scripted".to_owned()),
            ..Runner::default()
        };
        let runners = Runners {
            runners: BTreeMap::from([("agent".to_owned(), runner)]),
            adapters: BTreeMap::new(),
        };
        let runner = runners.resolve("agent", root, false).unwrap();
        let environment = [("PATH".to_owned(), std::env::var("PATH").unwrap())].into();
        let sealed = self.desk.runs()[0]["prompt"].as_str().unwrap().parse();
        let job = Job {
            store: &self.store,
            project: &project,
            home: &self.desk.project.path(".callsheet"),
            cwd: root,
            kind: RunKind::First,
            parent: None,
            sealed: sealed.unwrap(),
            prompt: "Do it.",
            system: None,
            runner: &runner,
            environment: &environment,
            program: Path::new(PROGRAM),
            script: Some(&self.desk.project.path("agent.toml")),
            most: Most::default(),
            sandbox: None,
            asker: Asker::Person { probe: true },
            task: None,
            phase,
        };
        drive::run(&job, watcher).unwrap()
    }

    fn phase(&self, command: &str, stories: &[&str], attempt: u32) -> Run {
        let stories: Vec<String> = stories.iter().map(|key| (*key).to_owned()).collect();
        self.play(Some(PhaseJob {
            command,
            stories: &stories,
            attempt,
            batch: None,
            write_scope: &[],
            ground: None,
        }))
    }

    /// Returns a text without the directory of this one test.
    fn nameless(&self, text: &str) -> String {
        let root = self.desk.project.root().display().to_string();
        text.replace(&root, "[ROOT]")
    }

    fn spoken(&self, run: &Run) -> String {
        drive::spoken(&self.store, run).unwrap()
    }

    /// Returns the events of a run about commands: kind, task, message, and whether a record stands behind them.
    fn logged(&self, run: &Run) -> Vec<String> {
        let events = self.store.events_of_run(run.id, 0, 10_000).wait().unwrap();
        let events = events.iter().map(|stored| &stored.event);
        events
            .filter(|event| event.kind.starts_with("command:"))
            .map(|event| {
                let task = event.payload["task_id"].as_str().unwrap();
                let record = event.payload.contains_key("record");
                format!("{} {task} {} {record}", event.kind, event.message())
            })
            .collect()
    }
}

const SCENES: &str = r#"
[[scenes]]
phase = "code-review"
story = "1-2"
attempt = 2
steps = [{ say = "ZERO ISSUES" }]

[[scenes]]
phase = "sprint-code-review"
steps = [{ say = "{story} at {attempt} of {stories} {x}" }]

[[scenes]]
stories = ["1-1", "1-2"]
steps = [
    { write = { path = "src/{story}.txt", text = "{stories}\n" } },
    { run = { command = ["git", "add", "src/{story}.txt"] } },
    { run = { command = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "-m", "add"] } },
    { run = { command = ["git", "diff", "--exit-code", "HEAD^"], ok = [1] } },
    { run = { command = ["git", "rev-parse", "HEAD"], say = "[COMMIT-SUCCESS: {output}]" } },
]

[[scenes]]
phase = "dev-story"
steps = [{ run = { command = ["git", "rev-parse", "--verify", "nowhere"] } }]
"#;

#[test]
fn the_first_scene_that_fits_is_played() {
    let stage = Stage::new(SCENES);
    let said = |command: &str, stories: &[&str], attempt| {
        stage.spoken(&stage.phase(command, stories, attempt))
    };
    assert_eq!(said("sprint-code-review", &["1-2"], 2), "ZERO ISSUES");
    assert_eq!(
        said("sprint-code-review", &["1-2"], 1),
        "1-2 at 1 of 1-2 {x}"
    );
    assert_eq!(
        said("sprint-code-review", &["1-1", "1-3"], 2),
        "1-1 at 2 of 1-1,1-3 {x}"
    );

    let committed = said("sprint-commit", &["1-1", "1-2"], 1);
    let head = stage.desk.git(&["rev-parse", "HEAD"]);
    assert_eq!(committed, format!("[COMMIT-SUCCESS: {head}]"));
    assert_eq!(stage.desk.project.read("src/1-1.txt"), "1-1,1-2\n");
}

#[test]
fn a_scene_can_ask_for_a_text_of_the_prompt() {
    let stage = Stage::new(
        r#"
[[scenes]]
prompt = "Do something else."
steps = [{ say = "no" }]

[[scenes]]
prompt = "Do it."
steps = [{ read_prompt = true }, { say = "yes" }]
"#,
    );
    assert_eq!(stage.spoken(&stage.play(None)), "yes");
}

fn stderr(stage: &Stage, run: &Run) -> String {
    let records = (stage.store)
        .log_since(run.id, 0, 1000, Some(callsheet_store::Stream::Stderr))
        .wait();
    let text: Vec<u8> = records
        .unwrap()
        .into_iter()
        .flat_map(|record| record.data)
        .collect();
    stage.nameless(&String::from_utf8(text).unwrap())
}

#[test]
fn a_scene_that_is_missing_and_a_program_that_fails_end_the_agent() {
    let stage = Stage::new(SCENES);
    let missing = stage.phase("sprint-commit", &["1-1"], 1);
    assert_eq!(missing.outcome.as_ref().unwrap()["status"], "failed");
    insta::assert_snapshot!(stderr(&stage, &missing), @"error: [ROOT]/agent.toml: no scene fits phase `sprint-commit`, stories `1-1`, attempt 1");
    let failed = stage.phase("sprint-dev-story", &["1-1"], 1);
    let outcome = failed.outcome.as_ref().unwrap();
    assert_eq!(
        (&outcome["status"], &outcome["class"]),
        (&json!("failed"), &json!("unknown"))
    );
    let reason = outcome["reason"].as_str().unwrap_or_default().to_owned();
    insta::assert_snapshot!(stage.nameless(&reason), @"[ROOT]/agent.toml:24: `git rev-parse --verify nowhere` failed with exit code 128: fatal: Needed a single revision");
    let outside = stage.play(None);
    insta::assert_snapshot!(stderr(&stage, &outside), @"error: [ROOT]/agent.toml: no scene fits a run that is not a phase of a sprint");
}

#[test]
fn bad_scenes_are_refused_with_their_line() {
    let desk = Desk::with_script("");
    let refused = |script: &str| {
        desk.project.file("agent.toml", script);
        desk.project.callsheet(&["play", "--script", "agent.toml"])
    };
    insta::assert_snapshot!(refused("[[scenes]]\n\nphase = \"dev\"\n"), @"
    exit: 2
    --- stderr
    error: agent.toml:3: unknown phase `dev`, expected one of `project-context`, `create-story`, `discovery`, `story-review`, `tech-spec`, `tech-spec-review`, `dev-story`, `code-review`, `commit`, `resolve-conflict`
    ");
    insta::assert_snapshot!(refused("[[scenes]]\nsteps = [{ run = { command = [] } }]\n"), @"
    exit: 2
    --- stderr
    error: agent.toml:2: `command` is empty
    ");
    insta::assert_snapshot!(refused("[[scenes]]\nsteps = [\n{ exit = 1 },\n{ say = \"x\" }]\n"), @"
    exit: 2
    --- stderr
    error: agent.toml:4: nothing can follow `exit`
    ");
    insta::assert_snapshot!(refused("[[scenes]]\nstep = []\n"), @"
    exit: 2
    --- stderr
    error: agent.toml:2: unknown field `step`, expected one of `phase`, `story`, `stories`, `attempt`, `prompt`, `steps`
    ");
}

/// Returns the time, in seconds since 1970.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Returns a step that logs through the program.
fn program_call(task: &str, status: &str) -> String {
    let event = format!(
        r#"{{"epic_id":"1","story_id":"1-1,1-2","command":"c","task_id":"{task}","status":"{status}","message":"m"}}"#
    );
    let command = toml::Value::from(vec![PROGRAM, "log-event", &event]);
    format!("[[steps]]\nrun = {{ command = {command} }}\n")
}

/// Returns a step in which a tool prints lines.
fn log_call(lines: &str) -> String {
    let output = toml::Value::from(lines);
    format!("[[steps]]\ncall = {{ tool = \"Bash\", output = {output} }}\n")
}

/// Returns a script whose agent logs two lines through the program and two that only a tool of it has seen.
fn logging() -> String {
    let (now, long) = (now(), "x".repeat(5000));
    let lines = format!(
        "{long}\n{now},1,1-1,c,setup,start,\"by hand\"\n12,1,1-1,c,old,start,m\n{now},1,1-1,c,setup,progress,m\r\n"
    );
    let said = toml::Value::from(lines.as_str());
    format!(
        "{}{}{}[[steps]]\nsay = {said}\n",
        program_call("tests", "start"),
        program_call("tests", "failed"),
        log_call(&lines),
    )
}

#[test]
fn every_log_line_is_stored_once() {
    let stage = Stage::new(&logging());
    let run = stage.phase("sprint-dev-story", &["1-1"], 1);
    assert_eq!(
        stage.logged(&run),
        [
            "command:start tests m false",
            "command:end tests m false",
            "command:start setup by hand true",
            "command:progress setup m true",
        ]
    );
    let other = stage.play(None);
    assert_eq!(
        stage.logged(&other).len(),
        2,
        "only what the program stored"
    );
}

/// Somebody who is gone as soon as the agent has logged something and written all the rest, which nobody reads.
struct Gone<'a>(&'a Path);

impl Watcher for Gone<'_> {
    fn live(&mut self, live: &Live<'_>) {
        let mut news = live.news.iter();
        if news.any(|event| event.kind.starts_with("command:")) {
            wait_for("the agent has ended", || self.0.exists());
            panic!("this is how the process ends");
        }
    }

    fn stops(&mut self) -> usize {
        0
    }

    fn note(&mut self, _: &str) {}

    fn say(&mut self, _: &str) {}
}

#[test]
fn every_log_line_is_stored_once_when_the_run_is_settled() {
    let line = |task: &str| log_call(&format!("{},1,1-1,c,{task},start,m", now()));
    let script = format!(
        "{}[[steps]]\nwait_ms = 300\n{}{}[[steps]]\nwrite = {{ path = \"done\", text = \"\" }}\n",
        line("setup"),
        program_call("tests", "start"),
        line("validate")
    );
    let stage = Stage::new(&script);
    let stories = ["1-1".to_owned()];
    let phase = PhaseJob {
        command: "sprint-dev-story",
        stories: &stories,
        attempt: 1,
        batch: None,
        write_scope: &[],
        ground: None,
    };
    let run =
        AssertUnwindSafe(|| stage.drive(Some(phase), &mut Gone(&stage.desk.project.path("done"))));
    assert!(catch_unwind(run).is_err());
    let project = stage.store.project(".").wait().unwrap();
    let run_store = drive::RunStore {
        store: &stage.store,
        project: &project,
        home: &stage.desk.project.path(".callsheet"),
    };
    let settled = drive::settle(&run_store, None).unwrap();
    let mut logged = stage.logged(&settled[0]);
    logged.sort();
    assert_eq!(
        logged,
        [
            "command:start setup m true",
            "command:start tests m false",
            "command:start validate m true",
        ]
    );
}

#[test]
fn what_the_agent_said_is_read_whole() {
    let long = "word ".repeat(2000);
    let stage = Stage::new(&format!(
        "[[steps]]\nthink = \"no\"\n[[steps]]\nsay = \"{long}\"\n[[steps]]\ncall = {{ tool = \"t\", output = \"no\" }}\n[[steps]]\nsay = \"end\"\n"
    ));
    assert_eq!(stage.spoken(&stage.play(None)), format!("{long}\nend"));
}

#[test]
fn recorded_streams_tell_what_the_agent_said_itself() {
    let streams = Path::new(env!("CARGO_MANIFEST_DIR")).join("../callsheet-run/tests/streams");
    let said = |adapter: &str, stream: &str| {
        let desk = Desk::new(&format!(
            "[runners.agent]\nadapter = \"{adapter}\"\ncommand = [\"./agent\"]\n"
        ));
        desk.program("agent", "cat >/dev/null\ncat stream\n");
        let text = std::fs::read(streams.join(format!("{adapter}-{stream}.ndjson")));
        desk.project.file("stream", text.unwrap());
        desk.exec(&[]);
        let file = desk.project.path(".callsheet/callsheet.db");
        let store = Store::open(&Location::Sqlite(file), Access::Read).unwrap();
        let project = store.project(".").wait().unwrap();
        let id: Value = desk.runs()[0]["id"].clone();
        let run = store.run(&project, id.as_str().unwrap()).wait().unwrap();
        drive::spoken(&store, &run).unwrap()
    };
    insta::assert_snapshot!(said("claude", "subagent"), @"Done.");
    insta::assert_snapshot!(said("claude", "tool-bash-exit3"), @"
    I will use a tool.
    Hello from the mock model.
    ");
    insta::assert_snapshot!(said("codex", "tool-shell-exit3"), @"
    I will use a tool.
    Hello from the mock model.
    ");
    insta::assert_snapshot!(said("codex", "two-turns"), @"More.");
    insta::assert_snapshot!(said("gemini", "text"), @"Hello from the mock model.");
    insta::assert_snapshot!(said("opencode", "text"), @"Hello from the mock model.");
}
