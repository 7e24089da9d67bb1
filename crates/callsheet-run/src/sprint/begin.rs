//! How a batch comes into the hands of this process: begun, continued after a crash, or taken up after a stop.

use callsheet::sprint::machine::{
    Action, AgentEnded, Batch, Cycle, Input, Rules, StopPolicy, Todo,
};
use callsheet::{Event, document};
use callsheet_store::{
    Batch as StoredBatch, BatchClaim, BatchPage, BatchStatus, Progress, Project, Store, Wait,
};

use super::driver::{Driver, LEASE, Stage};
use super::files::Files;
use super::{BoardFile, spot};
use crate::RunError;
use crate::drive::{self, RunStore, Worker};

/// How a batch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is a new one.
    New,
    /// It takes up what an earlier one left.
    TakenUp,
    /// It is one that a process which is gone has begun.
    Continued,
}

/// Runs a batch to its end; `rules` are those of a new one.
pub fn run(
    stage: &Stage<'_>,
    rules: Rules,
    begun: &mut dyn FnMut(Begun, &StoredBatch),
) -> Result<Batch, RunError> {
    let run_store = RunStore {
        store: stage.store,
        project: stage.project,
        home: stage.home,
    };
    drive::settle(&run_store, None)?;
    let (how, claim, batch, seq) = match stage.store.open_batch(stage.project).wait()? {
        Some(open) => {
            let claim = take(stage.store, &open)?;
            let (batch, seq) = fold(stage.store, stage.project, &claim.batch)?;
            (Begun::Continued, claim, batch, seq)
        }
        None => start(stage, rules)?,
    };
    begun(how, &claim.batch);
    Driver::new(stage, claim, batch, seq)?.drive()
}

/// Returns the state of a batch, from its journal, and the number of its last entry.
pub fn fold(
    store: &Store,
    project: &Project,
    batch: &StoredBatch,
) -> Result<(Batch, i64), RunError> {
    let (mut state, mut seq) = (Batch::default(), 0);
    for entry in store.journal(project, batch.id, 0).wait()? {
        let bad = |why: String| {
            let id = batch.id;
            RunError::Input(format!("entry {} of batch `{id}`: {why}", entry.seq))
        };
        let input: Input =
            document::typed(entry.entry.clone()).map_err(|error| bad(error.to_string()))?;
        state = state.step(input).map_err(|illegal| bad(illegal.0))?.0;
        seq = entry.seq;
    }
    Ok((state, seq))
}

/// Tells whether the process that has a batch is still there, as far as that can be told from here.
pub fn is_running(batch: &StoredBatch) -> bool {
    batch.lease_until.is_some() && !Worker::has_lost(&batch.worker, batch.lease_until)
}

/// Takes over a batch whose process is gone.
fn take(store: &Store, open: &StoredBatch) -> Result<BatchClaim, RunError> {
    if is_running(open) {
        return Err(busy(open));
    }
    let worker = Worker::here()?.to_string();
    store
        .take_batch(open, &worker, LEASE)
        .wait()?
        .ok_or_else(|| busy(open))
}

/// Ends the batch whose process is gone, where there is one, as a stop does that waits for nobody.
///
/// What its agents had not finished stays open, and the next batch takes it up.
pub fn end_left(store: &Store, project: &Project) -> Result<Option<StoredBatch>, RunError> {
    let open = store.open_batch(project).wait()?;
    let Some(open) = open.filter(|open| !is_running(open)) else {
        return Ok(None);
    };
    let claim = take(store, &open)?;
    let (mut batch, seq) = fold(store, project, &claim.batch)?;
    let mut progress = Progress::default();
    let mut next = Some(Input::Stopped {
        policy: StopPolicy::Cancel,
    });
    while let Some(input) = next.filter(|_| batch.status().is_none()) {
        let entry = serde_json::to_value(&input)
            .map_err(|error| RunError::Input(format!("an entry of the journal: {error}")))?;
        let (after, step) = batch.step(input).map_err(|illegal| {
            RunError::Input(format!("the journal of the batch: {}", illegal.0))
        })?;
        batch = after;
        progress.entries.push(entry);
        progress
            .events
            .extend(step.events.into_iter().map(Into::into));
        next = batch.open().find_map(cut_off);
    }
    let status = batch.status().unwrap_or(BatchStatus::Stopped);
    if batch.status().is_none() {
        // It was cut off in the middle of something that nobody can answer for.
        let facts = [
            ("batch_id", open.id.to_string().into()),
            ("cycles_completed", batch.cycles_completed().into()),
            ("status", status.as_str().into()),
        ];
        let said = format!("batch {} was cut off, and is over now", open.id);
        progress
            .events
            .push(Event::new("batch:end", facts, said).into());
    }
    store.end_batch(&claim, seq, status, progress).wait()?;
    Ok(Some(open))
}

/// Returns the answer to an action that only a process which is gone could have finished; none for what changes files.
fn cut_off(action: &Action) -> Option<Input> {
    let id = action.id;
    match action.todo {
        Todo::Agent(_) => Some(Input::AgentEnded {
            action: id,
            ended: AgentEnded::interrupted(),
        }),
        Todo::Wait { .. } => Some(Input::Waited { action: id }),
        _ => None,
    }
}

/// Returns the error for a batch that another process has.
pub fn busy(open: &StoredBatch) -> RunError {
    RunError::NotNow(format!("batch `{}` is running in another process", open.id))
}

fn start(stage: &Stage<'_>, mut rules: Rules) -> Result<(Begun, BatchClaim, Batch, i64), RunError> {
    let (store, project) = (stage.store, stage.project);
    if rules.parallel > 1 {
        let board = BoardFile::find(stage.root, stage.settings, stage.layout)?;
        let files = Files {
            layout: stage.layout,
            board: board.path(),
        };
        spot::agree(stage.root, files, &mut rules)?;
    }
    let carried = left(store, project)?;
    let how = if carried.is_empty() {
        Begun::New
    } else {
        Begun::TakenUp
    };
    let settings = serde_json::to_value(&rules)
        .map_err(|error| RunError::Input(format!("the rules of the batch: {error}")))?;
    let worker = Worker::here()?.to_string();
    let begin = move |id: callsheet_store::Id| {
        let input = Input::Started {
            batch: id.to_string(),
            rules: rules.clone(),
            carried: carried.clone(),
        };
        let entry = serde_json::to_value(&input).unwrap_or_default();
        let events = Batch::default().step(input).map(|(_, step)| step.events);
        Progress {
            entries: vec![entry],
            events: events
                .unwrap_or_default()
                .into_iter()
                .map(Into::into)
                .collect(),
        }
    };
    let claim = store
        .start_batch(project, settings, &worker, LEASE, begin)
        .wait()?;
    let (batch, seq) = fold(store, project, &claim.batch)?;
    Ok((how, claim, batch, seq))
}

/// Returns the cycles that the batch before has left, where somebody stopped it or it could not go on.
pub fn left(store: &Store, project: &Project) -> Result<Vec<Cycle>, RunError> {
    let page = BatchPage {
        offset: 0,
        limit: 1,
    };
    let last = store.batches(project, page).wait()?.batches.pop();
    let was_cut = |batch: &StoredBatch| {
        matches!(
            batch.status,
            Some(BatchStatus::Stopped | BatchStatus::Error)
        )
    };
    let Some(last) = last.filter(was_cut) else {
        return Ok(Vec::new());
    };
    let (state, _) = fold(store, project, &last)?;
    Ok(state.open_cycles().cloned().collect())
}
