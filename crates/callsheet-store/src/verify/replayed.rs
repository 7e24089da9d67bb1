//! The state that follows from all events, compared with the rows: each prompt, run, task, dependency, setting, branch and
//! batch has its event, and each event has its row.
//!
//! Events of runs that were imported are not believed: another store has made them.

use std::collections::BTreeMap;

use callsheet::Fingerprint;
use serde_json::{Map, Value as Json};

use super::Audit;
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::mark::digits;

const PROMPTS: &str = "select project, id, seal from prompt";

const SERIES: &str = "select project, recipe from series";

const RUNS: &str =
    "select key, id, state, worker, attempt, outcome, records, imported_at, started_at from run";

const TASKS: &str = "select project, id, title, cancelled_at from task";

const DEPENDENCIES: &str = "select t.project, t.id, n.id from dependency d \
    join task t on t.key = d.task join task n on n.key = d.needs";

const SETTINGS: &str = "select project, name, mark from setting";

const BRANCHES: &str = "select t.project, t.id, b.mark from branch b join task t on t.key = b.task";

const BATCHES: &str = "select project, id from batch";

/// The key of a project and a name in it.
type Name = (i64, String);

/// The number of an event and what it says, if it says so.
type Said = (i64, Option<String>);

/// What should be there after the events of all projects.
#[derive(Default)]
pub(crate) struct Replayed {
    /// By id, with the seal.
    prompts: BTreeMap<Name, Said>,
    /// By recipe.
    series: BTreeMap<Name, Said>,
    runs: BTreeMap<i64, ReplayedRun>,
    tasks: BTreeMap<Name, ReplayedTask>,
    /// By the ids of both tasks.
    dependencies: BTreeMap<Name, Said>,
    /// By name, with the mark.
    settings: BTreeMap<Name, Said>,
    /// By the id of the task, with the mark.
    branches: BTreeMap<Name, Said>,
    batches: BTreeMap<Name, Said>,
}

/// A run as its events say.
#[derive(Default)]
struct ReplayedRun {
    id: String,
    seq: i64,
    queued: bool,
    imported: bool,
    worker: Option<String>,
    attempt: Option<i64>,
    /// The hash of the outcome.
    outcome: Option<Fingerprint>,
    records: Option<i64>,
    started_at: Option<i64>,
    /// The last record of the log that an event was read out of.
    record: i64,
}

/// A task as its events say.
struct ReplayedTask {
    seq: i64,
    /// None where it was imported.
    title: Option<String>,
    cancelled: bool,
}

/// Returns a text of a payload.
fn text(payload: &Map<String, Json>, name: &str) -> Option<String> {
    payload.get(name)?.as_str().map(str::to_owned)
}

/// Returns the texts of a list in a payload.
fn texts<'p>(payload: &'p Map<String, Json>, name: &str) -> impl Iterator<Item = &'p str> {
    let list = payload.get(name).and_then(Json::as_array);
    list.into_iter().flatten().filter_map(Json::as_str)
}

/// Returns the name of the dependency of a task on another one.
fn between(task: &str, on: &str) -> String {
    format!("of task {task} on {on}")
}

impl Replayed {
    /// Takes in an event from its row: its project, number, time, kind, payload and run, and further on when that was imported.
    pub(super) fn note(
        &mut self,
        row: &Row,
        payload: &Map<String, Json>,
    ) -> Result<(), StoreError> {
        let (project, seq, kind) = (row.int(0)?, row.int(1)?, row.text(3)?);
        match row.maybe(5, Row::int)? {
            Some(run) if row.maybe(9, Row::int)?.is_some() => {
                let run = self.runs.entry(run).or_default();
                run.imported |= kind == "run:imported";
            }
            Some(run) => self.runs.entry(run).or_default().note(seq, kind, payload),
            None => self.note_other(project, seq, (kind, payload)),
        }
        Ok(())
    }

    fn note_other(&mut self, project: i64, seq: i64, (kind, payload): (&str, &Map<String, Json>)) {
        let said = |name: &str| text(payload, name);
        let named = |name: &str| said(name).map(|name| (project, name));
        let pair = || Some((project, between(&said("task")?, &said("on")?)));
        match kind {
            "prompt:sealed" => {
                put(&mut self.prompts, named("id"), (seq, said("seal")));
                put(&mut self.series, named("recipe"), (seq, None));
            }
            "prompt:collected" => {
                for id in texts(payload, "ids") {
                    self.prompts.remove(&(project, id.to_owned()));
                }
            }
            "task:added" | "task:imported" => self.note_task(named("task"), seq, payload),
            "task:cancelled" => {
                if let Some(task) = named("task").and_then(|task| self.tasks.get_mut(&task)) {
                    task.cancelled = true;
                }
            }
            "task:dependency_added" => put(&mut self.dependencies, pair(), (seq, None)),
            "task:dependency_removed" => {
                pair().and_then(|pair| self.dependencies.remove(&pair));
            }
            "task:branch_kept" => put(&mut self.branches, named("task"), (seq, said("mark"))),
            "setting:changed" => put(&mut self.settings, named("name"), (seq, said("mark"))),
            _ if kind.starts_with("batch:") => {
                put(&mut self.batches, named("batch_id"), (seq, None));
            }
            _ => {}
        }
    }

    fn note_task(&mut self, task: Option<Name>, seq: i64, payload: &Map<String, Json>) {
        let Some((project, id)) = task else { return };
        for on in texts(payload, "depends") {
            let pair = (project, between(&id, on));
            self.dependencies.insert(pair, (seq, None));
        }
        let task = ReplayedTask {
            seq,
            title: text(payload, "title"),
            cancelled: false,
        };
        self.tasks.insert((project, id), task);
    }
}

fn put(map: &mut BTreeMap<Name, Said>, name: Option<Name>, said: Said) {
    map.extend(name.map(|name| (name, said)));
}

impl ReplayedRun {
    fn note(&mut self, seq: i64, kind: &str, payload: &Map<String, Json>) {
        self.seq = seq;
        if let Some(id) = text(payload, "run").filter(|_| kind == "run:queued") {
            self.id = id;
            self.queued = true;
        }
        if matches!(kind, "run:started" | "run:taken_over" | "run:finished") {
            self.worker = text(payload, "worker");
            self.attempt = payload.get("attempt").and_then(Json::as_i64);
            let started_at = payload.get("started_at").and_then(Json::as_i64);
            self.started_at = started_at.or(self.started_at);
        }
        if kind.starts_with("agent:") {
            let record = payload.get("record").and_then(Json::as_i64);
            self.record = self.record.max(record.unwrap_or(0));
        }
        if kind == "run:finished" {
            let outcome = payload.get("outcome").unwrap_or(&Json::Null);
            self.outcome = Some(Fingerprint::of(outcome.to_string()));
            self.records = payload.get("records").and_then(Json::as_i64);
        }
    }

    /// Says what its row does not say.
    fn compare(&self, row: &Row) -> Result<Option<&'static str>, StoreError> {
        if row.maybe(7, Row::int)?.is_some() {
            return Ok((!self.imported).then_some("no event tells that it was imported"));
        }
        if !self.queued {
            return Ok(Some("no event tells that it was queued"));
        }
        if self.id != row.text(1)? {
            return Ok(Some("is not the run that its events tell of"));
        }
        let outcome = row.maybe(5, Row::text)?.map(serde_json::from_str::<Json>);
        // Both were read and are written again, so that equal numbers are equal texts.
        let outcome = outcome.map(|read| Fingerprint::of(read.unwrap_or_default().to_string()));
        let finished = row.text(2)? == "finished";
        let same = finished == self.outcome.is_some()
            && self.outcome == outcome
            && self.worker.as_deref() == row.maybe(3, Row::text)?
            && self.attempt.unwrap_or(0) == row.int(4)?
            && (self.started_at.is_none() || self.started_at == row.maybe(8, Row::int)?);
        if !same {
            return Ok(Some("is not where its last event says"));
        }
        let records = row.int(6)?;
        let cut = self.records.is_some_and(|expected| records != expected) || records < self.record;
        Ok(cut.then_some("has another number of records than its events say"))
    }
}

/// Compares what follows from the events with the rows.
pub(super) fn compare(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let replayed = std::mem::take(&mut audit.replayed);
    let mut found = Vec::new();
    runs(tx, replayed.runs, &mut found)?;
    tasks(tx, replayed.tasks, &mut found)?;
    let others = [
        ("prompt", PROMPTS, replayed.prompts),
        ("the series of recipe", SERIES, replayed.series),
        ("the dependency", DEPENDENCIES, replayed.dependencies),
        ("setting", SETTINGS, replayed.settings),
        ("the branch of task", BRANCHES, replayed.branches),
        ("batch", BATCHES, replayed.batches),
    ];
    for (noun, sql, expected) in others {
        compare_named(tx, (noun, sql), expected, &mut found)?;
    }
    for (what, detail) in found {
        audit.find(what, detail);
    }
    Ok(())
}

/// What was found: the thing, and what is wrong with it.
type Found = Vec<(String, String)>;

fn gone(seq: i64) -> String {
    format!("event {seq} tells of it, and it is not there")
}

/// Compares rows of a project, a name and what events say about them.
fn compare_named(
    tx: &mut dyn Tx,
    (noun, sql): (&str, &str),
    mut expected: BTreeMap<Name, Said>,
    found: &mut Found,
) -> Result<(), StoreError> {
    tx.each(sql, &[], &mut |row| {
        let (Ok(project), Ok(name)) = (row.int(0), row.text(1)) else {
            // What has the wrong type was found with its row.
            return Ok(());
        };
        let (name, now) = match noun {
            "the dependency" => (between(name, row.text(2)?), None),
            "prompt" => (name.to_owned(), row.bytes(2).ok().and_then(seal)),
            _ => (name.to_owned(), row.bytes(2).ok().map(digits)),
        };
        let what = format!("{noun} {name}");
        match expected.remove(&(project, name)) {
            // Settings, branches and batches of older stores have none.
            None if matches!(noun, "prompt" | "the series of recipe" | "the dependency") => {
                found.push((what, "no event tells of it".to_owned()));
            }
            Some((seq, Some(said))) if now.as_ref() != Some(&said) => {
                found.push((what, format!("is not what event {seq} tells of")));
            }
            _ => {}
        }
        Ok(())
    })?;
    for ((_, name), (seq, _)) in expected {
        found.push((format!("{noun} {name}"), gone(seq)));
    }
    Ok(())
}

fn seal(bytes: &[u8]) -> Option<String> {
    let bytes: [u8; 32] = bytes.try_into().ok()?;
    Some(Fingerprint::from_bytes(bytes).to_string())
}

fn runs(
    tx: &mut dyn Tx,
    mut expected: BTreeMap<i64, ReplayedRun>,
    found: &mut Found,
) -> Result<(), StoreError> {
    tx.each(RUNS, &[], &mut |row| {
        let run = expected.remove(&row.int(0)?).unwrap_or_default();
        // What has the wrong type was found with its row.
        if let Ok(Some(wrong)) = run.compare(&row) {
            let what = format!("run {}", row.text(1).unwrap_or("?"));
            found.push((what, wrong.to_owned()));
        }
        Ok(())
    })?;
    for run in expected.into_values() {
        found.push((format!("run {}", run.id), gone(run.seq)));
    }
    Ok(())
}

fn tasks(
    tx: &mut dyn Tx,
    mut expected: BTreeMap<Name, ReplayedTask>,
    found: &mut Found,
) -> Result<(), StoreError> {
    tx.each(TASKS, &[], &mut |row| {
        let id = row.text(1).unwrap_or("?").to_owned();
        let wrong = match expected.remove(&(row.int(0)?, id.clone())) {
            None => Some("no event tells of it".to_owned()),
            Some(task) => {
                let title = task.title.as_deref();
                let cancelled = row.maybe(3, Row::int).is_ok_and(|at| at.is_some());
                let same = title.is_none_or(|title| row.text(2) == Ok(title))
                    // A task may have been cancelled where it comes from.
                    && (cancelled == task.cancelled || title.is_none());
                (!same)
                    .then(|| format!("is not what event {} and those after it tell of", task.seq))
            }
        };
        found.extend(wrong.map(|wrong| (format!("task {id}"), wrong)));
        Ok(())
    })?;
    for ((_, id), task) in expected {
        found.push((format!("task {id}"), gone(task.seq)));
    }
    Ok(())
}
