//! Settling: a run whose process is gone without a word is finished from the evidence that it left.
//!
//! Nothing is run again. A process of such a run that is still there is ended first; what it wrote and what its
//! supervisor put on record says how it ended.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callsheet_store::{Claim, Project, Run, RunState, Store, Stream, Wait};

use super::end::{self, Scene};
use super::folder::RunFolder;
use super::ingest::{Batch, Ingest};
use super::logged::Logged;
use super::start::PHASE;
use super::steps::{Steps, step_event};
use super::tail::Tail;
use super::watch::Ended;
use super::worker::Worker;
use super::{LEASE, Live, RunStore, Watcher};
use crate::document::Known;
use crate::launch::Step;
use crate::tasks::{self, Terms};
use crate::workspace::{Ground, Workspace};
use crate::{Limits, RunError, SomeLimits, adapter, merge, supervisor};

/// How long a supervisor may take to end its agent.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much of each stream is taken; what a run may write at most is not known any more.
const MOST_OUTPUT: u64 = 4 << 30;

/// Tells whether there is nothing to settle: every run has its process, no folder has lost its run, and no merge is half done.
pub fn is_settled(run_store: &RunStore<'_>) -> Result<bool, RunError> {
    let RunStore {
        store,
        project,
        home,
    } = *run_store;
    let folders = RunFolder::all(home);
    let lost = (folders.iter()).any(|name| over(store, project, name).is_some());
    Ok(!lost && !merge::is_moving(home)? && unsettled(store, project, None)?.is_empty())
}

/// Returns the run that a folder belongs to, if it has finished.
fn over(store: &Store, project: &Project, name: &str) -> Option<Run> {
    let run = store.run(project, name).wait().ok();
    run.filter(|run| run.state == RunState::Finished && run.id.as_str() == name)
}

/// Returns the runs that say they are running, while the process that ran them is gone or has let its lease run out.
///
/// Whoever has no workspace runs nothing: a run of this very process is one that it has given up.
fn unsettled(
    store: &Store,
    project: &Project,
    held: Option<&Workspace>,
) -> Result<Vec<Run>, RunError> {
    let here = Worker::here()?.to_string();
    let mut running = store.running(project).wait()?;
    running.retain(|run| {
        let worker = run.worker.as_deref().unwrap_or_default();
        held.is_none() && worker == here || Worker::has_lost(worker, run.lease_until)
    });
    Ok(running)
}

/// Settles every run that has to be, removes folders that no run needs, and returns what was settled.
///
/// `held` is the workspace that this process has. A run in the workspace of somebody else is theirs to settle: they look at
/// it before they change anything there. A run that cannot be settled does not keep others from it.
pub fn settle(run_store: &RunStore<'_>, held: Option<&Workspace>) -> Result<Vec<Run>, RunError> {
    let RunStore {
        store,
        project,
        home,
    } = *run_store;
    // The next merge says what is wrong, if that cannot be done.
    let _ = merge::heal_left(root(home), home);
    let (mut settled, mut failed) = (Vec::new(), None);
    for run in unsettled(store, project, held)? {
        let taken = match take(&run, home, held) {
            Err(RunError::NotNow(_)) => continue,
            taken => taken.unwrap_or_default(),
        };
        let ground = taken.as_ref().or(held.filter(|held| is_in(&run, held)));
        let worker = Worker::here()?.to_string();
        // Somebody else may have been faster.
        if let Some(claim) = store.take_over(&run, &worker, LEASE).wait()? {
            match settle_one(run_store, claim, ground.map(Workspace::ground)) {
                Ok(run) => settled.push(run),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }
    for name in RunFolder::all(home) {
        let folder = RunFolder::of(home, &name);
        match over(store, project, &name) {
            // Whoever comes next tries again.
            Some(run) if keep_work(&run, &folder, home, held).is_ok() => drop(folder.remove()),
            _ => {}
        }
    }
    match failed {
        Some(error) if settled.is_empty() => Err(error),
        // What was settled has to be told; the other one is tried again by whoever comes next.
        _ => Ok(settled),
    }
}

/// Keeps what an agent did here in a run that another machine took for lost, which knows nothing of it.
fn keep_work(
    run: &Run,
    folder: &RunFolder,
    home: &Path,
    held: Option<&Workspace>,
) -> Result<(), RunError> {
    let terms = Terms::of(run).filter(|terms| !terms.in_place);
    let Some(terms) = terms.filter(|_| folder.before().exists()) else {
        return Ok(());
    };
    await_supervisor(folder);
    supervisor::end_marked(run.id.as_str());
    let taken = take(run, home, held)?;
    match taken.as_ref().or(held) {
        Some(workspace) => tasks::park(workspace.ground(), &terms, run.id.as_str()),
        None => Ok(()),
    }
}

/// Returns the main checkout of the project whose directory this is.
fn root(home: &Path) -> &Path {
    home.parent().unwrap_or(home)
}

/// Takes the workspace of a run, unless it has none or this process has it already.
fn take(run: &Run, home: &Path, held: Option<&Workspace>) -> Result<Option<Workspace>, RunError> {
    let (Some(task), Some(terms)) = (run.task, Terms::of(run)) else {
        return Ok(None);
    };
    if held.is_some_and(|held| is_in(run, held)) {
        Ok(None)
    } else if terms.in_place {
        Workspace::hold_in_place(root(home), home).map(Some)
    } else {
        Workspace::hold(root(home), home, task.as_str()).map(Some)
    }
}

/// Tells whether a run took place in a workspace.
fn is_in(run: &Run, workspace: &Workspace) -> bool {
    let is_in_place = Terms::of(run).is_some_and(|terms| terms.in_place);
    run.task
        .is_some_and(|task| workspace.is_of(task.as_str(), is_in_place))
}

fn settle_one(
    run_store: &RunStore<'_>,
    claim: Claim,
    ground: Option<&Ground>,
) -> Result<Run, RunError> {
    let RunStore {
        store,
        project,
        home,
    } = *run_store;
    let folder = RunFolder::of(home, claim.run.id.as_str());
    let known = known(&folder);
    await_supervisor(&folder);
    supervisor::end_marked(claim.run.id.as_str());
    let request = claim.run.request.clone().unwrap_or_default();
    let word = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
    // A run of an adapter that this program does not know has no output that it could read.
    let adapter = adapter::of_run(&claim.run).unwrap_or_else(|| Box::new(adapter::CommandAdapter));
    let is_phase = known.env.iter().any(|name| name == PHASE);
    let mut ingest = Ingest::new(adapter.reader(), is_phase);
    take_output(store, &claim, &folder, &mut ingest)?;
    let mut steps = Steps::default();
    let entries = supervisor::read_journal(&folder.journal());
    for entry in &entries {
        steps.note(entry);
    }
    let events = entries
        .iter()
        .map(|entry| (None, step_event(&claim, entry)));
    if store.log_bytes(claim.run.id, Stream::Meta).wait()? > 0 {
        store
            .append_output(&claim, Vec::new(), events.collect())
            .wait()?;
    }
    let cwd = known
        .worktree
        .clone()
        .map_or_else(PathBuf::new, PathBuf::from);
    let (account, runner) = (word("account"), word("runner"));
    let scene = Scene {
        store,
        project,
        home,
        cwd: &cwd,
        account: &account,
        runner: &runner,
        bench: None,
        ground,
    };
    let none = SomeLimits::default();
    end::end(
        &scene,
        Ended {
            claim,
            folder,
            known,
            ingest,
            steps,
            stopped: None,
            no_room: false,
            limits: Limits::of(&none, &none),
            settled: true,
        },
        &mut Silent,
    )
}

/// Watches a run that is over.
struct Silent;

impl Watcher for Silent {
    fn live(&mut self, _: &Live<'_>) {}

    fn stops(&mut self) -> usize {
        0
    }

    fn note(&mut self, _: &str) {}

    fn say(&mut self, _: &str) {}
}

/// Returns what was known before the start; nothing where it never came that far.
fn known(folder: &RunFolder) -> Known {
    let text = std::fs::read_to_string(folder.facts()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Waits for a supervisor that is still ending its agent.
fn await_supervisor(folder: &RunFolder) {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let entries = supervisor::read_journal(&folder.journal());
        let alive = entries.iter().find_map(|entry| match &entry.step {
            Step::Supervising { process } => Some(supervisor::is_alive(process)),
            _ => None,
        });
        if alive != Some(true) {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
}

/// Stores the output that was not stored yet, and reads all of it for what it means.
fn take_output(
    store: &Store,
    claim: &Claim,
    folder: &RunFolder,
    ingest: &mut Ingest,
) -> Result<(), RunError> {
    let refused = |cause: io::Error| RunError::refused("cannot read the output", cause);
    let mut logged = Logged::default();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let path = match stream {
            Stream::Stdout => folder.stdout(),
            _ => folder.stderr(),
        };
        // Whoever made the folder may have been killed before both were there.
        if !path.exists() {
            continue;
        }
        let mut stored = store.log_bytes(claim.run.id, stream).wait()?;
        let mut tail = Tail::open(&path, 0).map_err(refused)?;
        let mut taken = 0;
        while taken <= MOST_OUTPUT {
            let piece = match tail.next().map_err(refused)? {
                Some(piece) => Some(piece),
                None => tail.rest(),
            };
            let Some(mut bytes) = piece else { break };
            taken += bytes.len() as u64;
            // Pieces are cut as chance had it; what is stored ends where a line did.
            let before = usize::try_from(stored)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            let rest = bytes.split_off(before);
            stored -= bytes.len() as u64;
            let mut batch = Batch::default();
            for (bytes, new) in [(bytes, false), (rest, true)] {
                if bytes.is_empty() {
                    continue;
                }
                let mut part = Batch::default();
                match stream {
                    Stream::Stdout => ingest.stdout(bytes, &mut part),
                    _ => ingest.stderr_bytes(bytes, &mut part),
                }
                // What is stored was told apart before; it counts again, so that the rest is told apart the same way.
                logged.once(store, claim.run.id, &mut part)?;
                if new {
                    batch = part;
                }
            }
            if !batch.is_empty() {
                store
                    .append_output(claim, batch.records, batch.events)
                    .wait()?;
            }
        }
    }
    Ok(())
}
