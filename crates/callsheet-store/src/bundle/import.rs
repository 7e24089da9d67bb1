//! Taking a bundle into a store: all of it or nothing, in one transaction.
//!
//! A bundle with runs is read twice: once to prove it, and once more to pass its events and logs on to the database.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};

use callsheet::Event;
use serde_json::Value as Json;

use super::document::EventLine;
use super::export::{self, WithinTx};
use super::lines::Visitor;
use super::redact::Cleaner;
use super::{Bundle, BundledRun, IMPORTED, read};
use crate::db::{Tx, Value};
use crate::event::{self, EventRow};
use crate::log::{self, StoredRecord};
use crate::project::{self, Project};
use crate::prompt::{self, SealedPrompt, When};
use crate::run::{self, End};
use crate::{Id, Store, StoreError};

/// How many events or records are stored at once.
const BATCH: usize = 64;

/// How many bytes of them, if a single one has not more.
const BATCH_BYTES: usize = 4 << 20;

/// The event of a task that was imported with a run of it.
const TASK_IMPORTED: &str = "task:imported";

const INSERT: &str = "insert into run (id, project, prompt, parent, kind, queued_at, mark, request, state, worker, \
    attempt, started_at, finished_at, outcome, records, stop_requested_at, imported_at, task) \
    values ($1, $2, $3, $4, $5, $6, $7, $8, 'finished', $9, $10, $11, $12, $13, $14, $15, $16, $17) \
    on conflict (id) do nothing returning key";

const MARK: &str = "update run set finish_mark = $2 where key = $1";

/// What came out of a bundle, each with whether it is new.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The prompts, in the order of the bundle.
    pub prompts: Vec<(SealedPrompt, bool)>,
    /// The runs, in the order of the bundle.
    pub runs: Vec<(Id, bool)>,
}

impl Store {
    /// Takes in all prompts of a bundle that has no runs, or none; returns each with whether it is new.
    pub async fn import(
        &self,
        project: &Project,
        bundle: Bundle,
    ) -> Result<Vec<(SealedPrompt, bool)>, StoreError> {
        if !bundle.runs.is_empty() {
            let why = "the runs of a bundle are imported from its file";
            return Err(StoreError::refused(why));
        }
        let project = project.clone();
        self.write(move |tx| prompts(tx, &project, &bundle)).await
    }

    /// Takes in all prompts and runs of a bundle, or none; `name` is how a user calls it.
    ///
    /// `bundle` is what [`Bundle::read`] made of `source`, which is read once more. Others who write wait until all of
    /// it is stored.
    pub async fn import_from<R>(
        &self,
        project: &Project,
        bundle: Bundle,
        name: &str,
        mut source: R,
    ) -> Result<Imported, StoreError>
    where
        R: Read + Seek + Send + 'static,
    {
        if bundle.runs.is_empty() {
            return Ok(Imported {
                prompts: self.import(project, bundle).await?,
                runs: Vec::new(),
            });
        }
        let (project, name) = (project.clone(), name.to_owned());
        self.write(move |tx| {
            source.rewind().map_err(|cause| unreadable(&name, &cause))?;
            import(tx, &project, &bundle, (&name, &mut source))
        })
        .await
    }
}

fn unreadable(name: &str, cause: &io::Error) -> StoreError {
    StoreError::damaged(name, format!("it cannot be read again: {cause}"))
}

fn prompts(
    tx: &mut dyn Tx,
    project: &Project,
    bundle: &Bundle,
) -> Result<Vec<(SealedPrompt, bool)>, StoreError> {
    let put = |bundled: &super::Bundled| {
        let parsed = bundled.seal.parsed();
        let parsed = parsed.map_err(|error| StoreError::refused(error.detail()))?;
        let seal = (&bundled.seal, &parsed);
        prompt::put(tx, project, seal, When::At(bundled.sealed_at))
    };
    bundle.prompts.iter().map(put).collect()
}

fn import(
    tx: &mut dyn Tx,
    project: &Project,
    bundle: &Bundle,
    (name, source): (&str, &mut dyn Read),
) -> Result<Imported, StoreError> {
    let prompts = prompts(tx, project, bundle)?;
    project::lock(tx, project.key)?;
    // A prompt that was sealed here before may have another id; what counts is what was sealed.
    let pairs = bundle.prompts.iter().zip(&prompts);
    let given: BTreeMap<Id, i64> = pairs
        .map(|(there, (here, _))| (there.id, here.key))
        .collect();
    let mut keys = BTreeMap::new();
    let mut new = BTreeMap::new();
    let mut tasks = Vec::new();
    for bundled in &bundle.runs {
        let id = bundled.run.id;
        let prompt = given.get(&bundled.run.prompt).copied();
        let prompt =
            prompt.ok_or_else(|| StoreError::unknown("prompt", bundled.run.prompt.as_str()))?;
        if let Some(key) = key_of_same_run(tx, project, bundled, prompt)? {
            keys.insert(id, key);
            continue;
        }
        let parent = bundled
            .run
            .parent
            .and_then(|parent| keys.get(&parent).copied());
        let mut task = None;
        if let Some(document) = &bundled.run.task {
            let (key, is_new) = document.take_in(tx, project)?;
            tasks.extend(is_new.then_some(document.id));
            task = Some(key);
        }
        let key = insert(tx, project, bundled, (prompt, parent, task))?;
        keys.insert(id, key);
        new.insert(id, key);
    }
    let mut importer = Importer {
        tx,
        project,
        new: &new,
        run: 0,
        records: Vec::new(),
        events: Vec::new(),
        bytes: 0,
    };
    let again = read::visit(name, source, &mut importer)?;
    importer.flush()?;
    if again != *bundle {
        return Err(StoreError::damaged(
            name,
            "it has changed while it was read",
        ));
    }
    let rows = tasks.iter().map(|id| imported("task", *id, None));
    let rows = rows.chain(new.iter().map(|(id, key)| imported("run", *id, Some(*key))));
    event::append_rows(tx, project, rows.collect())?;
    let runs = bundle.runs.iter().map(|it| it.run.id);
    Ok(Imported {
        prompts,
        runs: runs.map(|id| (id, new.contains_key(&id))).collect(),
    })
}

/// Returns the key of a run that is here already, which has to be the same in everything.
fn key_of_same_run(
    tx: &mut dyn Tx,
    project: &Project,
    bundled: &BundledRun,
    prompt: i64,
) -> Result<Option<i64>, StoreError> {
    let id = bundled.run.id;
    let other = || StoreError::refused(format!("run `{id}` is here already with other contents"));
    let found = export::find(tx, project, id).map_err(|error| match error {
        StoreError::Refused { .. } => other(),
        error => error,
    })?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    let (key, same_prompt) = (found.key, found.prompt == prompt);
    // Only one of the two bundles may have had its parent.
    found.document.parent = bundled.run.parent;
    found.document.prompt = bundled.run.prompt;
    let cleaner = Cleaner::new(None, project.paths.clone());
    let here = export::measured(&mut WithinTx(tx), found, &cleaner)?;
    if same_prompt && here == *bundled {
        return Ok(Some(key));
    }
    Err(other())
}

fn insert(
    tx: &mut dyn Tx,
    project: &Project,
    bundled: &BundledRun,
    (prompt, parent, task): (i64, Option<i64>, Option<i64>),
) -> Result<i64, StoreError> {
    let run = &bundled.run;
    let now = tx.now()?;
    let request = run.request.as_ref().map(|request| request.get());
    let mut values: Vec<Value<'_>> = vec![
        run.id.as_str().into(),
        project.key.into(),
        prompt.into(),
        parent.into(),
        run.kind.as_str().into(),
        run.queued_at.into(),
    ];
    values.push(run::mark_of(&values, request, task, None).into());
    values.extend([
        request.into(),
        (&run.worker).into(),
        run.attempt.into(),
        run.started_at.into(),
        run.finished_at.into(),
        run.outcome.get().into(),
        run.records.into(),
        run.stop_requested_at.into(),
        now.into(),
        task.into(),
    ]);
    let Some(row) = tx.first(INSERT, &values)? else {
        let why = format!("run `{}` cannot be imported: its id is taken", run.id);
        return Err(StoreError::refused(why));
    };
    let end = End {
        key: row.int(0)?,
        worker: &run.worker,
        attempt: run.attempt,
        started_at: Some(run.started_at),
        finished_at: run.finished_at,
        outcome: run.outcome.get(),
        records: run.records,
        stop_requested_at: run.stop_requested_at,
        imported_at: Some(now),
    };
    tx.execute(MARK, &[end.key.into(), end.mark().into()])?;
    for (seq, annotation) in (1..).zip(&run.annotations) {
        annotation.insert(tx, end.key, seq)?;
    }
    Ok(end.key)
}

/// Makes the event of a task or a run that is new, which has the key of the run.
fn imported(what: &str, id: Id, run: Option<i64>) -> EventRow<'static> {
    let kind = run.map_or(TASK_IMPORTED, |_| IMPORTED);
    let facts = [(what, id.to_string().into())];
    let event = Event::new(kind, facts, format!("{what} {id} is imported"));
    EventRow {
        at: None,
        kind,
        payload: Json::Object(event.payload).to_string(),
        run,
    }
}

/// Stores what runs that are new hold, some of it at a time.
struct Importer<'i> {
    tx: &'i mut dyn Tx,
    project: &'i Project,
    new: &'i BTreeMap<Id, i64>,
    /// The key of the run that the rest is of.
    run: i64,
    records: Vec<StoredRecord>,
    events: Vec<(i64, String, String)>,
    bytes: usize,
}

impl Importer<'_> {
    /// Makes room for something more of a run; tells whether it is wanted.
    fn admits(&mut self, run: Id, bytes: usize) -> Result<bool, StoreError> {
        let Some(key) = self.new.get(&run).copied() else {
            return Ok(false);
        };
        let full = self.records.len() + self.events.len() >= BATCH;
        if full || self.run != key || self.bytes + bytes > BATCH_BYTES {
            self.flush()?;
        }
        self.run = key;
        self.bytes += bytes;
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        log::put(self.tx, self.run, std::mem::take(&mut self.records))?;
        let events = std::mem::take(&mut self.events);
        let rows = events.iter().map(|(at, kind, payload)| EventRow {
            at: Some(*at),
            kind,
            payload: payload.clone(),
            run: Some(self.run),
        });
        event::append_rows(self.tx, self.project, rows.collect()).map(|_| ())
    }
}

impl Visitor for Importer<'_> {
    fn event(&mut self, run: Id, event: &EventLine<'_>) -> Result<(), StoreError> {
        let payload = event.payload.get();
        if self.admits(run, payload.len())? {
            let kind = event.kind.clone().into_owned();
            self.events.push((event.at, kind, payload.to_owned()));
        }
        Ok(())
    }

    fn record(&mut self, run: Id, record: StoredRecord) -> Result<(), StoreError> {
        if self.admits(run, record.data.len())? {
            self.records.push(record);
        }
        Ok(())
    }
}
