//! Annotations: what was found out or decided about a run after it finished.
//!
//! They are only ever added, numbered from 1 without a gap, and the run itself does not change. What an annotation means
//! is not known here; whoever adds one says whether it is allowed, with nobody in between.

use std::collections::BTreeMap;

use callsheet::Event;
use serde::Serialize;
use serde_json::Value as Json;

use crate::db::{Row, Tx, Value, query_in};
use crate::event::{self, EventRow};
use crate::project::{self, Project};
use crate::run::{self, Run, RunState};
use crate::{Id, Store, StoreError, mark};

/// The event of a run that was annotated.
pub(crate) const ANNOTATED: &str = "run:annotated";

const OF_RUN: &str = "select at, kind, name, value from annotation where run = $1 order by seq";

const OF_RUNS: &str = "select n.at, n.kind, n.name, n.value, r.id from annotation n \
    join run r on r.key = n.run where r.project = $1 and r.id in ";

const INSERT: &str = "insert into annotation (run, seq, at, kind, name, value, mark) \
    values ($1, $2, $3, $4, $5, $6, $7)";

/// What was found out or decided about a run after it finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Annotation {
    /// When it was added, in milliseconds since 1970.
    pub at: i64,
    /// What it is about: `violation`, `check` or `merge`.
    pub kind: String,
    /// Which one of them.
    pub name: String,
    /// What was found out or decided.
    pub value: Json,
}

/// The columns of an annotation that its mark covers.
pub(crate) struct Columns<'a> {
    /// The key of its run.
    pub(crate) run: i64,
    pub(crate) seq: i64,
    pub(crate) at: i64,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    /// The value as JSON.
    pub(crate) value: &'a str,
}

impl Columns<'_> {
    fn values(&self) -> Vec<Value<'_>> {
        vec![
            self.run.into(),
            self.seq.into(),
            self.at.into(),
            self.kind.into(),
            self.name.into(),
            self.value.into(),
        ]
    }

    /// Returns the mark.
    pub(crate) fn mark(&self) -> Vec<u8> {
        mark::of("annotation", &self.values())
    }

    /// Adds the row.
    pub(crate) fn insert(&self, tx: &mut dyn Tx) -> Result<(), StoreError> {
        let mut values = self.values();
        values.push(self.mark().into());
        tx.execute(INSERT, &values).map(|_| ())
    }
}

impl Store {
    /// Adds an annotation to a finished run, unless `allow` has a reason not to.
    ///
    /// `allow` gets the run and its annotations, the oldest first. Nobody else can add one until it has answered and the
    /// annotation is stored. Where it refuses, nothing changes and its reason comes back. It may be asked more than once,
    /// and only its last answer counts.
    #[expect(
        clippy::too_many_arguments,
        reason = "an annotation has three parts, and belongs to a run of a project"
    )]
    pub async fn annotate<F>(
        &self,
        project: &Project,
        run: Id,
        kind: &str,
        name: &str,
        value: Json,
        allow: F,
    ) -> Result<Result<(), String>, StoreError>
    where
        F: Fn(&Run, &[Annotation]) -> Result<(), String> + Send + 'static,
    {
        let (project, kind, name) = (project.clone(), kind.to_owned(), name.to_owned());
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            let key = run::key(tx, project.key, run)?;
            let there = of_run(tx, key)?;
            let found = run::by_key(tx, key)?;
            let found = found.ok_or_else(|| StoreError::unknown("run", run.as_str()))?;
            if found.state != RunState::Finished {
                let why = format!("run `{run}` has not finished, so it cannot be annotated");
                return Err(StoreError::refused(why));
            }
            if let Err(reason) = allow(&found, &there) {
                return Ok(Err(reason));
            }
            let new = Columns {
                run: key,
                seq: i64::try_from(there.len())
                    .unwrap_or(i64::MAX)
                    .saturating_add(1),
                at: tx.now()?,
                kind: &kind,
                name: &name,
                value: &value.to_string(),
            };
            new.insert(tx)?;
            append_event(tx, &project, &new, (run, &value)).map(Ok)
        })
        .await
    }

    /// Returns the annotations of some runs of a project, the oldest first; runs without any are left out.
    pub async fn annotations(
        &self,
        project: &Project,
        runs: &[Id],
    ) -> Result<BTreeMap<Id, Vec<Annotation>>, StoreError> {
        let (key, runs) = (project.key, runs.to_vec());
        self.read(move |tx| {
            let list = runs.iter().map(|run| Value::from(run.as_str()));
            let sql = |places: &str| format!("{OF_RUNS}{places} order by n.run, n.seq");
            let mut found: BTreeMap<Id, Vec<Annotation>> = BTreeMap::new();
            for row in query_in(tx, &[key.into()], list, sql)? {
                let run = row.text(4)?.parse()?;
                found.entry(run).or_default().push(annotation(&row)?);
            }
            Ok(found)
        })
        .await
    }
}

fn of_run(tx: &mut dyn Tx, key: i64) -> Result<Vec<Annotation>, StoreError> {
    tx.query(OF_RUN, &[key.into()])?
        .iter()
        .map(annotation)
        .collect()
}

fn append_event(
    tx: &mut dyn Tx,
    project: &Project,
    new: &Columns<'_>,
    (run, value): (Id, &Json),
) -> Result<(), StoreError> {
    let facts = [
        ("run", run.to_string().into()),
        ("kind", new.kind.into()),
        ("name", new.name.into()),
        ("value", value.clone()),
    ];
    let said = format!("run {run} is annotated: {} {}", new.kind, new.name);
    let event = Event::new(ANNOTATED, facts, said);
    let row = EventRow {
        at: Some(new.at),
        kind: ANNOTATED,
        payload: Json::Object(event.payload).to_string(),
        run: Some(new.run),
    };
    event::append_rows(tx, project, vec![row]).map(|_| ())
}

/// Reads a row.
fn annotation(row: &Row) -> Result<Annotation, StoreError> {
    let value = serde_json::from_str(row.text(3)?)
        .map_err(|error| row.damaged(format!("an annotation is not JSON: {error}")))?;
    Ok(Annotation {
        at: row.int(0)?,
        kind: row.text(1)?.to_owned(),
        name: row.text(2)?.to_owned(),
        value,
    })
}
