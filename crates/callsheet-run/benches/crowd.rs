//! Drives many scripted agents from the threads of one process; `bench/README.md` says why, and `bench/runs.py` checks
//! what they leave in the store.
//!
//! `cargo bench -p callsheet-run --bench crowd -- PROGRAM FOLDER COUNT`: the file of `callsheet`, a project whose
//! `agent.toml` is the script, and how many agents there are.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be made stops, and its figures are read by a program"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, Seal, compose};
use callsheet_run::account::Asker;
use callsheet_run::drive::{self, Job, Live, Most, Watcher};
use callsheet_run::{Runner, Runners};
use callsheet_store::{Access, Id, Location, Project, RunKind, Store, Wait};
use serde_json::json;

const PROMPT: &str = "Count the open items.";

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

fn main() {
    let mut args = std::env::args().skip(1);
    // Whoever runs or lists all tests starts this too, without the word that cargo says when it measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let mut next = || args.find(|arg| arg != "--bench").unwrap();
    let (program, folder) = (PathBuf::from(next()), PathBuf::from(next()));
    let count: usize = next().parse().unwrap();

    let home = folder.join(".callsheet");
    let store = Store::open(&Location::Sqlite(home.join("callsheet.db")), Access::Write).unwrap();
    let project = store.project(".").wait().unwrap();
    let sealed = seal(&store, &project);
    let runner = Runner {
        adapter: Some("scripted".to_owned()),
        ..Runner::default()
    };
    let runners = Runners {
        runners: BTreeMap::from([("agent".to_owned(), runner)]),
        adapters: BTreeMap::new(),
    };
    let resolved = runners.resolve("agent", &folder, false).unwrap();
    let script = folder.join("agent.toml");
    let environment = std::env::vars().collect();
    let job = Job {
        store: &store,
        project: &project,
        home: &home,
        cwd: &folder,
        kind: RunKind::First,
        parent: None,
        sealed,
        prompt: PROMPT,
        system: None,
        runner: &resolved,
        environment: &environment,
        program: &program,
        script: Some(&script),
        most: Most::default(),
        sandbox: None,
        asker: Asker::Person { probe: false },
        task: None,
        phase: None,
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| drive::run(&job, &mut Quiet).unwrap());
        }
    });
    let figures = json!({"seconds": began.elapsed().as_secs_f64(), "peak_kb": peak(Path::new("/proc/self/status"))});
    println!("{figures}");
}

fn seal(store: &Store, project: &Project) -> Id {
    let toml = "[[layers]]\nname = \"task\"\nvalue = \"task\"\n".to_owned();
    let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
    let recipe = Recipe::parse("small", "recipes/small", folder).unwrap();
    let (input, inputs) = (json!({"task": PROMPT}), Inputs::nowhere());
    let options = Options::default();
    let composition = compose(&recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, &recipe, &input, &inputs, &options).unwrap();
    store.seal(project, seal).wait().unwrap().0.id
}

/// Returns the most memory that a process has used, in kilobytes; 0 where the system does not tell.
fn peak(status: &Path) -> u64 {
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
