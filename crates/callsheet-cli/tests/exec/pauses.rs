//! Runners that wait because the machine was at fault: who is kept from starting a run by them, and what opens them.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its project has nothing to test"
)]

use std::path::Path;

use callsheet_run::account::{Asker, RUNNERS, Standings};
use callsheet_run::drive::{self, Job, Live, Most, Watcher};
use callsheet_run::{RunError, Runner, Runners};
use callsheet_store::{Access, Location, Project, Run, RunKind, Store, Wait};
use serde_json::{Value, json};

use crate::desk::{Desk, has, wait_for};

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

fn open(desk: &Desk) -> (Store, Project) {
    let file = desk.project.path(".callsheet/callsheet.db");
    let store = Store::open(&Location::Sqlite(file), Access::Write).unwrap();
    let project = store.project(".").wait().unwrap();
    (store, project)
}

/// Lets the time of a standing pass.
pub(crate) fn pass_time(desk: &Desk, setting: &str) {
    let (store, project) = open(desk);
    let change = |value: Option<Value>| {
        let mut standings: Standings = serde_json::from_value(value.unwrap()).unwrap();
        for standing in standings.values_mut() {
            standing.until = Some(1);
        }
        Some(json!(standings))
    };
    store
        .change_setting(&project, setting, change)
        .wait()
        .unwrap();
}

/// Starts the agent of a project on its last prompt, as a worker would.
fn work(desk: &Desk) -> Result<Run, RunError> {
    let (store, project) = open(desk);
    let root = desk.project.root();
    let settings: Value = toml::from_str(&desk.project.read("callsheet.toml")).unwrap();
    let runner: Runner = serde_json::from_value(settings["runners"]["agent"].clone()).unwrap();
    let runners = Runners {
        runners: [("agent".to_owned(), runner)].into(),
        adapters: [].into(),
    };
    let runner = runners.resolve("agent", root, false).unwrap();
    let environment = [("PATH".to_owned(), std::env::var("PATH").unwrap())].into();
    let sealed = desk.runs()[0]["prompt"].as_str().unwrap().parse().unwrap();
    let job = Job {
        store: &store,
        project: &project,
        home: &desk.project.path(".callsheet"),
        cwd: root,
        kind: RunKind::First,
        parent: None,
        sealed,
        prompt: "Do it.",
        system: None,
        runner: &runner,
        environment: &environment,
        program: Path::new(env!("CARGO_BIN_EXE_callsheet")),
        script: None,
        most: Most::default(),
        sandbox: None,
        asker: Asker::Worker,
        task: None,
        phase: None,
    };
    drive::run(&job, &mut Quiet)
}

/// Returns what `doctor` says of paused runners.
fn doctor(desk: &Desk) -> Option<String> {
    let text = desk.project.run(&["doctor"]).text();
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains("paused"))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An agent that is missing, until somebody installs it.
fn desk() -> Desk {
    Desk::new("[runners.agent]\nadapter = \"command\"\ncommand = [\"./agent\"]\n")
}

/// Installs the agent: it says that it is up, and waits for whoever lets it go.
fn install(desk: &Desk) {
    desk.program(
        "agent",
        "echo up >>up\nuntil [ -e go ]; do sleep 0.01; done\n",
    );
}

#[test]
fn a_missing_program_pauses_the_runner_until_a_run_of_a_person_succeeds() {
    let desk = desk();
    let (run, code) = desk.document(&[]);
    assert_eq!((code, &run["class"]), (Some(3), &json!("environment")));
    assert_eq!(run["charged"], false);
    let found = doctor(&desk).unwrap();
    let why = format!(
        "(environment: no program `{}`)",
        desk.project.path("./agent").display()
    );
    assert!(found.starts_with("- runner agent paused until "), "{found}");
    assert!(found.ends_with(&why), "{found}");

    // A person sees how it ends, so nobody keeps them from it.
    let again = desk.exec(&[]);
    assert_eq!(again.code(), Some(3));
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(
        said.contains("note: runner `agent` is paused for another "),
        "{said}"
    );
    let end = format!("{why}; this run tries it, and a success opens it again\n");
    assert!(said.contains(&end), "{said}");
    assert_eq!(desk.runs().len(), 2);

    install(&desk);
    desk.project.file("go", "");
    let (run, code) = desk.document(&[]);
    assert_eq!((code, &run["status"]), (Some(0), &json!("completed")));
    assert_eq!(doctor(&desk), None);
    let said = String::from_utf8(desk.exec(&[]).stderr).unwrap();
    assert!(!said.contains("paused"), "{said}");
}

#[test]
fn nothing_that_starts_by_itself_takes_a_run_for_a_paused_runner() {
    let desk = desk();
    desk.document(&[]);
    let refused = work(&desk).unwrap_err().to_string();
    let wait = refused.strip_prefix("runner `agent` is paused for another ");
    let wait = wait.and_then(|rest| rest.strip_suffix(" s (environment)"));
    assert!(
        wait.is_some_and(|wait| (1..=30).contains(&wait.parse::<u32>().unwrap())),
        "{refused}"
    );
    assert_eq!(desk.runs().len(), 1, "what is refused is not a run");

    // When the time is over, one run tries it, whoever started that.
    install(&desk);
    pass_time(&desk, RUNNERS);
    let mut first = desk.start(&[]);
    let up = desk.project.path("up");
    wait_for("the agent is up", || has(&up));
    assert_eq!(
        work(&desk).unwrap_err().to_string(),
        "runner `agent` was paused (environment), and another run is trying it"
    );
    desk.project.file("go", "");
    assert!(first.wait().unwrap().success());
    let run = work(&desk).unwrap();
    assert_eq!(run.outcome.unwrap()["status"], "completed");
    desk.assert_clean();
}

#[test]
fn a_worker_tries_a_paused_runner_when_its_time_is_over_and_waits_longer_if_that_fails() {
    let desk = desk();
    desk.document(&[]);
    pass_time(&desk, RUNNERS);
    let run = work(&desk).unwrap();
    assert_eq!(run.outcome.unwrap()["class"], "environment");
    let refused = work(&desk).unwrap_err().to_string();
    assert!(refused.starts_with("runner `agent` is paused for another "));
    let (store, project) = open(&desk);
    let standings = store.setting(&project, RUNNERS).wait().unwrap().unwrap();
    let standing = &standings["agent"];
    let wait = standing["until"].as_i64().unwrap() - standing["since"].as_i64().unwrap();
    assert_eq!((wait, &standing["times"]), (60_000, &json!(2)));
}

#[test]
fn a_network_fault_pauses_and_an_answer_of_the_provider_opens() {
    let failure = |class: &str| {
        format!("[[steps]]\nerror = {{ class = \"{class}\", text = \"x\" }}\n[[steps]]\nexit = 1\n")
    };
    let desk = Desk::with_script(&failure("network"));
    let (run, _) = desk.document(&[]);
    assert_eq!(
        (&run["class"], &run["charged"]),
        (&json!("network"), &json!(false))
    );
    let found = doctor(&desk).unwrap();
    assert!(found.ends_with("(network: x)"), "{found}");
    desk.project.file("agent.toml", failure("turns"));
    let (run, code) = desk.document(&[]);
    assert_eq!((code, &run["class"]), (Some(1), &json!("turns")));
    assert_eq!(doctor(&desk), None);
}
