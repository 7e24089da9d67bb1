//! Watching a run: its output is stored as it comes, its clocks are kept, and it is stopped when it has to be.

use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use callsheet::Event;
use callsheet_store::{Claim, Output, StoreError, Wait};

use super::clocks::{Clocks, Expired};
use super::folder::RunFolder;
use super::ingest::{Batch, Ingest, Seen};
use super::logged::Logged;
use super::start::Started;
use super::steps::{Steps, step_event};
use super::tail::Tail;
use super::{Job, LEASE, Live, Watcher};
use crate::document::Known;
use crate::launch::{Step, Word};
use crate::supervisor::{self, Supervised};
use crate::{Limits, RunError};

/// How much is stored at once.
const BATCH: usize = 4 << 20;

/// How long to wait between two looks at first, and later.
const LOOK: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(25));

/// How long a run counts as new.
const NEW: Duration = Duration::from_secs(2);

/// How often the store is asked whether somebody wants the run to stop.
const ASK: Duration = Duration::from_millis(250);

/// How often a watcher is called at least.
const SHOW: Duration = Duration::from_millis(100);

/// How long a store on a disk without room is tried again before the agent is stopped, and once more before giving up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a store that cannot be reached is tried again after the agent was stopped.
const LAST: Duration = Duration::from_secs(10);

/// Why a run was stopped by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Somebody asked for it.
    Asked,
    /// A limit was reached.
    Expired(Expired),
}

/// A run whose process is gone.
pub(super) struct Ended {
    pub(super) claim: Claim,
    pub(super) folder: RunFolder,
    pub(super) known: Known,
    pub(super) ingest: Ingest,
    pub(super) steps: Steps,
    pub(super) stopped: Option<Stopped>,
    /// Whether the disk was full when the agent ended, or the store could not be written.
    pub(super) no_room: bool,
    pub(super) limits: Limits,
    pub(super) settled: bool,
}

/// Starts the agent and stays with it until nothing of it is left.
pub(super) fn watch(
    job: &Job<'_>,
    started: Started,
    watcher: &mut dyn Watcher,
) -> Result<Ended, RunError> {
    let mut watch = Watch::start(job, started)?;
    let result = watch.until_done(watcher);
    if result.is_err() {
        watch.abandon();
    }
    result?;
    if !watch.steps.done {
        // The supervisor was ended, and nobody else ends what it left.
        supervisor::end_marked(watch.claim.run.id.as_str());
    }
    Ok(Ended {
        claim: watch.claim,
        folder: watch.folder,
        known: watch.known,
        ingest: watch.ingest,
        steps: watch.steps,
        stopped: watch.stopped,
        no_room: watch.no_room,
        limits: job.runner.limits,
        settled: false,
    })
}

type Answer = Pin<Box<dyn Future<Output = Result<Vec<i64>, StoreError>>>>;

/// What the store was asked to keep.
struct Pending {
    output: Output,
    answer: Answer,
    /// What is shown once it is stored.
    news: Vec<Event>,
    seen: Seen,
}

struct Watch<'a> {
    job: &'a Job<'a>,
    claim: Claim,
    folder: RunFolder,
    known: Known,
    supervised: Supervised,
    stdout: Tail,
    stderr: Tail,
    ingest: Ingest,
    logged: Logged,
    pending: Option<Pending>,
    /// What the stored events add up to; `ingest` has read further.
    seen: Seen,
    steps: Steps,
    clocks: Clocks,
    /// How many bytes were read.
    kept: u64,
    began: Instant,
    beat: Instant,
    /// When the store answered last.
    heard: Instant,
    asked: Instant,
    shown: Option<Instant>,
    stops: usize,
    stopped: Option<Stopped>,
    no_room: bool,
}

impl<'a> Watch<'a> {
    fn start(job: &'a Job<'a>, started: Started) -> Result<Self, RunError> {
        let folder = started.folder;
        let open = |path: &Path| {
            Tail::open(path, 0).map_err(|cause| RunError::refused("cannot read the output", cause))
        };
        let (stdout, stderr) = (open(&folder.stdout())?, open(&folder.stderr())?);
        let now = Instant::now();
        let supervised = match job.ground() {
            Some(ground) => {
                let held = ground.hold().share()?;
                Supervised::start_with(job.program, &started.launch, held)?
            }
            None => Supervised::start(job.program, &started.launch)?,
        };
        Ok(Self {
            supervised,
            ingest: Ingest::new(job.runner.adapter.reader(), job.phase.is_some()),
            claim: started.claim,
            known: started.known,
            job,
            folder,
            stdout,
            stderr,
            logged: Logged::default(),
            pending: None,
            seen: Seen::default(),
            steps: Steps::default(),
            clocks: Clocks::default(),
            kept: 0,
            began: now,
            beat: now,
            heard: now,
            asked: now,
            shown: None,
            stops: 0,
            stopped: None,
            no_room: false,
        })
    }

    fn until_done(&mut self, watcher: &mut dyn Watcher) -> Result<(), RunError> {
        loop {
            // In this order: what was written before the end was seen is read after it.
            let over = self.steps.done || self.supervised.is_gone();
            let mut batch = self.read(over)?;
            self.logged
                .once(self.job.store, self.claim.run.id, &mut batch)?;
            self.journal(&mut batch);
            let quiet = batch.is_empty();
            let output = Output::new(&batch.records, &batch.events)?;
            // Until here, the batch before this one was on its way to the disk.
            let news = self.stored()?;
            if !quiet {
                self.pending = Some(Pending {
                    answer: self.send(&output),
                    output,
                    news: batch.events.into_iter().map(|(_, event)| event).collect(),
                    seen: self.ingest.seen().clone(),
                });
            }
            self.show(watcher, &news);
            if over && quiet {
                return Ok(());
            }
            self.keep_claim()?;
            self.stop_if_needed(watcher)?;
            if quiet {
                let (short, long) = LOOK;
                let new = self.began.elapsed() < NEW;
                std::thread::sleep(if new { short } else { long });
            }
        }
    }

    /// Reads what is new; `over` says that nothing more will be written.
    fn read(&mut self, over: bool) -> Result<Batch, RunError> {
        let refused = |cause| RunError::refused("cannot read the output", cause);
        let mut batch = Batch::default();
        let now = self.began.elapsed();
        self.clocks.has_written(self.folder.output_bytes());
        if self.kept > self.job.runner.limits.output_bytes() {
            // A flood is over when it is stopped, not when all of it was read.
            return Ok(batch);
        }
        while batch.bytes() < BATCH {
            let mut piece = self.stdout.next().map_err(refused)?;
            if piece.is_none() && over {
                piece = self.stdout.rest();
            }
            let Some(bytes) = piece else { break };
            self.clocks.wrote(now);
            self.ingest.stdout(bytes, &mut batch);
        }
        while batch.bytes() < 2 * BATCH {
            let mut piece = self.stderr.next().map_err(refused)?;
            if piece.is_none() && over {
                piece = self.stderr.rest();
            }
            let Some(bytes) = piece else { break };
            self.clocks.wrote(now);
            self.ingest.stderr_bytes(bytes, &mut batch);
        }
        self.kept += batch.bytes() as u64;
        if self.ingest.seen().finished {
            self.clocks.finished(now);
        }
        Ok(batch)
    }

    fn journal(&mut self, batch: &mut Batch) {
        for entry in self.supervised.entries() {
            self.steps.note(&entry);
            if matches!(entry.step, Step::Exited { .. }) {
                self.no_room |= self.folder.has_no_room();
            }
            batch.events.push((None, step_event(&self.claim, &entry)));
        }
    }

    fn send(&self, output: &Output) -> Answer {
        Box::pin(self.job.store.append_ready(&self.claim, output))
    }

    /// Waits until what is pending is stored, and returns what it means.
    ///
    /// A store that refuses for a while costs the agent its life, not the record: as soon as the disk is full, or as long as
    /// nobody else takes the run for lost.
    fn stored(&mut self) -> Result<Vec<Event>, RunError> {
        let Some(pending) = self.pending.take() else {
            return Ok(Vec::new());
        };
        let since = Instant::now();
        let mut answer = pending.answer;
        loop {
            match answer.wait() {
                Ok(_) => break,
                Err(error @ StoreError::Unavailable { .. }) => {
                    self.no_room |= self.folder.has_no_room();
                    let (waited, patience, last) = if self.no_room {
                        (since.elapsed(), PATIENCE, PATIENCE)
                    } else {
                        (self.heard.elapsed(), LEASE, LAST)
                    };
                    if waited >= patience + last {
                        return Err(error.into());
                    }
                    if waited >= patience {
                        self.supervised.say(Word::Kill);
                        self.folder.make_room();
                    }
                }
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(ASK);
            answer = self.send(&pending.output);
        }
        self.heard = Instant::now();
        self.seen = pending.seen;
        Ok(pending.news)
    }

    fn keep_claim(&mut self) -> Result<(), RunError> {
        if self.beat.elapsed() < LEASE / 3 {
            return Ok(());
        }
        self.beat = Instant::now();
        match self.job.store.heartbeat(&self.claim, LEASE).wait() {
            Ok(true) => {
                self.heard = Instant::now();
                Ok(())
            }
            // The lease outlives a few of these; when it is over, another host may take the run for lost.
            Err(StoreError::Unavailable { .. }) if self.heard.elapsed() < LEASE => Ok(()),
            Ok(false) => Err(RunError::NotNow(format!(
                "run `{}` was taken over by another process",
                self.claim.run.id
            ))),
            Err(error) => Err(error.into()),
        }
    }

    fn stop_if_needed(&mut self, watcher: &mut dyn Watcher) -> Result<(), RunError> {
        let asked = watcher.stops();
        if asked > self.stops {
            self.stops = asked;
            self.stop(
                Stopped::Asked,
                if asked > 1 { Word::Kill } else { Word::Stop },
            );
        }
        if self.stopped.is_some() {
            return Ok(());
        }
        if self.asked.elapsed() >= ASK {
            self.asked = Instant::now();
            match self.job.store.stop_requested(&self.claim).wait() {
                Ok(true) => self.stop(Stopped::Asked, Word::Stop),
                Ok(false) | Err(StoreError::Unavailable { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(expired) = self
            .clocks
            .expired(self.began.elapsed(), &self.job.runner.limits)
        {
            self.stop(Stopped::Expired(expired), Word::Stop);
        }
        Ok(())
    }

    fn stop(&mut self, why: Stopped, word: Word) {
        self.stopped.get_or_insert(why);
        self.supervised.say(word);
    }

    fn show(&mut self, watcher: &mut dyn Watcher, news: &[Event]) {
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= SHOW);
        if news.is_empty() && !due {
            return;
        }
        self.shown = Some(Instant::now());
        watcher.live(&Live {
            run: self.claim.run.id,
            elapsed: self.began.elapsed(),
            seen: &self.seen,
            news,
            stopping: self.stopped.is_some(),
        });
    }

    /// Ends the agent of a run that cannot be kept on record; the evidence stays for whoever settles it.
    fn abandon(&mut self) {
        self.supervised.say(Word::Kill);
        let since = Instant::now();
        while !self.supervised.is_gone() && since.elapsed() < 2 * PATIENCE {
            std::thread::sleep(LOOK.1);
        }
    }
}
