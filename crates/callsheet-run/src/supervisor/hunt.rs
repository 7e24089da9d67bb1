//! Finding and ending every process of a run: those below a supervisor, and those that carry the run's mark.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid};

use super::process::{self, Process};
use crate::launch::{Identity, MARKER};

/// How long a process has to end after TERM.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether one has.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// When a process that does not end after KILL is given up; the kernel holds on to it.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// How often new processes are looked for while the known ones are held.
const ROUNDS: usize = 64;

/// Ends every process whose environment names the run, with everything below it, and returns how many there were.
///
/// Neither this process nor what is above and below it is touched. TERM comes first, KILL a second later.
pub fn end_marked(run: &str) -> usize {
    let mut hunt = Hunt::marked(run);
    let found = hunt.find();
    if found.is_empty() {
        return 0;
    }
    send_all(&found, Signal::TERM);
    let start = Instant::now();
    while !hunt.find().is_empty() && start.elapsed() < PATIENCE {
        if start.elapsed() >= GRACE {
            hunt.kill();
        }
        sleep(TICK);
    }
    found.len()
}

/// Sends a signal to each, and returns how many were there to get it.
pub(super) fn send_all(to: &[Process], signal: Signal) -> usize {
    to.iter()
        .filter(|process| process::send(&process.identity, signal))
        .count()
}

/// The processes of one run, looked for again and again.
pub(super) struct Hunt {
    /// Whether they are below this process; else nothing below it is touched.
    below: bool,
    /// The entry of the environment that marks them.
    mark: Option<Vec<u8>>,
    /// No process that was started before this has the mark.
    since: u64,
    /// What was found before: one that loses its parent would not be found again.
    known: BTreeSet<Identity>,
    killed: BTreeSet<Identity>,
}

impl Hunt {
    /// Hunts for what is below this process, and for what has the mark of the run of an agent.
    pub(super) fn below(run: Option<&str>, agent: Identity) -> Self {
        Self {
            below: true,
            mark: run.map(mark),
            since: agent.started,
            known: BTreeSet::new(),
            killed: BTreeSet::new(),
        }
    }

    /// Hunts for what has the mark of a run, from whatever process.
    fn marked(run: &str) -> Self {
        Self {
            below: false,
            mark: Some(mark(run)),
            since: 0,
            known: BTreeSet::new(),
            killed: BTreeSet::new(),
        }
    }

    /// Returns the processes that are alive.
    pub(super) fn find(&mut self) -> Vec<Process> {
        let all = process::all();
        let own = getpid().as_raw_pid();
        let above = above(&all, own);
        let mut spared: BTreeSet<i32> = above.iter().copied().collect();
        spared.insert(own);
        let children = children(&all);
        let mine = descendants(&children, vec![own], &above);
        let mut seeds: Vec<i32> = all
            .iter()
            .filter(|it| self.known.contains(&it.identity) || self.has_mark(&it.identity))
            .map(|it| it.identity.pid)
            .collect();
        if self.below {
            seeds.push(own);
        } else {
            spared.extend(&mine);
        }
        let wanted = descendants(&children, seeds, &spared);
        let found: Vec<Process> = all
            .into_iter()
            .filter(|it| wanted.contains(&it.identity.pid) && !spared.contains(&it.identity.pid))
            .collect();
        self.known = found.iter().map(|it| it.identity).collect();
        found
    }

    fn has_mark(&self, process: &Identity) -> bool {
        self.mark.as_ref().is_some_and(|mark| {
            process.started >= self.since && process::has_variable(process.pid, mark)
        })
    }

    /// Kills all of them, and returns how many had not been killed before.
    ///
    /// They are held first: a process that is held cannot start another one behind our back.
    pub(super) fn kill(&mut self) -> usize {
        let mut held = BTreeSet::new();
        for _ in 0..ROUNDS {
            let found = self.find();
            let new: Vec<Identity> = found
                .iter()
                .map(|process| process.identity)
                .filter(|identity| !held.contains(identity))
                .collect();
            if new.is_empty() {
                break;
            }
            for identity in new {
                process::send(&identity, Signal::STOP);
                held.insert(identity);
            }
        }
        let mut count = 0;
        for identity in &held {
            if process::send(identity, Signal::KILL) && !self.killed.contains(identity) {
                count += 1;
            }
        }
        self.killed.extend(held);
        count
    }
}

fn mark(run: &str) -> Vec<u8> {
    format!("{MARKER}={run}").into_bytes()
}

fn children(all: &[Process]) -> BTreeMap<i32, Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in all {
        let pids = children.entry(process.parent).or_default();
        pids.push(process.identity.pid);
    }
    children
}

/// Returns the processes that a process descends from.
fn above(all: &[Process], pid: i32) -> BTreeSet<i32> {
    let parents: BTreeMap<i32, i32> = all
        .iter()
        .map(|process| (process.identity.pid, process.parent))
        .collect();
    let mut above = BTreeSet::new();
    let mut at = pid;
    while let Some(parent) = parents.get(&at).filter(|parent| above.insert(**parent)) {
        at = *parent;
    }
    above
}

/// Returns the seeds and what descends from them; nothing that is spared is looked below, unless it is a seed.
fn descendants(
    children: &BTreeMap<i32, Vec<i32>>,
    seeds: Vec<i32>,
    spared: &BTreeSet<i32>,
) -> BTreeSet<i32> {
    let mut found: BTreeSet<i32> = seeds.iter().copied().collect();
    let mut queue = seeds;
    while let Some(pid) = queue.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if !spared.contains(child) && found.insert(*child) {
                queue.push(*child);
            }
        }
    }
    found
}
