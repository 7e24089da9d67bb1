//! Events: what happened in a project, numbered from 1 without a gap.
//!
//! An event is stored before anybody sees it, and never changes. Whoever reads "since a number" loses nothing. The mark of
//! an event covers the mark of the one before it, so that the events of a project are a hash chain.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::Event;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Map, Value as Json};

use crate::db::{Dialect, Row, Tx, Value, groups};
use crate::project::Project;
use crate::{Id, Store, StoreError, chain, mark};

/// What the marks of events begin with.
pub(crate) const TABLE: &str = "event";

/// Where a server tells that a project has news; the message is the key of the project.
pub(crate) const CHANNEL: &str = "callsheet_event";

/// How many rows are inserted by one statement.
const CHUNK: usize = 100;

const NUMBER: &str = "update project set events = events + $2 where key = $1 returning events";

/// Asked for on its own: a part of the statement above would not see what it has waited for.
const BEFORE: &str = "select mark from event where project = $1 and seq = $2";

const INSERT: &str = "insert into event (project, seq, at, kind, payload, run, mark) values ";

const SINCE: &str = "select e.seq, e.at, e.kind, e.payload, r.id from event e left join run r on r.key = e.run \
    where e.project = $1 and e.seq > $2 order by e.seq limit $3";

const OF_RUN: &str = "select e.seq, e.at, e.kind, e.payload, r.id from run r join event e on e.run = r.key \
    where r.id = $1 and e.seq > $2 order by e.seq limit $3";

const RUN_KEY: &str = "select key from run where id = $1 and project = $2";

/// An event that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// What happened.
    pub event: Event,
    /// The run that it happened to, if any.
    pub run: Option<Id>,
}

impl From<Event> for NewEvent {
    fn from(event: Event) -> Self {
        Self { event, run: None }
    }
}

/// An event that is stored. One wire form: `{"seq", "type", "payload", "timestamp"}`, and `"run"` where it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// The number within its project, from 1 and without a gap.
    pub seq: i64,
    /// What happened.
    pub event: Event,
    /// When it was stored, in milliseconds since 1970.
    pub at: i64,
    /// The run that it happened to, if any.
    pub run: Option<Id>,
}

impl Serialize for StoredEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = 4 + usize::from(self.run.is_some());
        let mut wire = serializer.serialize_struct("Event", fields)?;
        wire.serialize_field("seq", &self.seq)?;
        wire.serialize_field("type", &self.event.kind)?;
        wire.serialize_field("payload", &self.event.payload)?;
        wire.serialize_field("timestamp", &self.at)?;
        match &self.run {
            Some(run) => wire.serialize_field("run", run)?,
            None => wire.skip_field("run")?,
        }
        wire.end()
    }
}

impl Store {
    /// Stores events in their order and returns their numbers; all of them or none.
    pub async fn append_events(
        &self,
        project: &Project,
        events: Vec<NewEvent>,
    ) -> Result<Vec<i64>, StoreError> {
        let project = project.clone();
        self.write(move |tx| append(tx, &project, &events)).await
    }

    /// Returns up to `limit` events with a number above `seq`, the oldest first.
    pub async fn events_since(
        &self,
        project: &Project,
        seq: i64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let key = project.key;
        self.read(move |tx| since(tx, key, seq, limit)).await
    }

    /// Returns up to `limit` events of a run with a number above `seq`, the oldest first.
    pub async fn events_of_run(
        &self,
        run: Id,
        seq: i64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(move |tx| {
            let rows = tx.query(OF_RUN, &[run.as_str().into(), seq.into(), limit.into()])?;
            rows.iter().map(stored).collect()
        })
        .await
    }
}

/// An event as its row has it, but for its number.
pub(crate) struct EventRow<'e> {
    /// When it happened; now where nothing is said.
    pub(crate) at: Option<i64>,
    pub(crate) kind: &'e str,
    /// The payload as JSON.
    pub(crate) payload: String,
    /// The key of the run that it happened to.
    pub(crate) run: Option<i64>,
}

/// Stores events within a transaction and returns their numbers.
pub(crate) fn append(
    tx: &mut dyn Tx,
    project: &Project,
    events: &[NewEvent],
) -> Result<Vec<i64>, StoreError> {
    let runs: BTreeSet<Id> = events.iter().filter_map(|new| new.run).collect();
    let mut keys = BTreeMap::new();
    for id in runs {
        keys.insert(id, run_key(tx, project, id)?);
    }
    let rows = events.iter().map(|new| EventRow {
        at: None,
        kind: &new.event.kind,
        payload: Json::Object(new.event.payload.clone()).to_string(),
        run: new.run.and_then(|id| keys.get(&id).copied()),
    });
    append_rows(tx, project, rows.collect())
}

/// Stores the rows of events within a transaction and returns their numbers.
pub(crate) fn append_rows(
    tx: &mut dyn Tx,
    project: &Project,
    rows: Vec<EventRow<'_>>,
) -> Result<Vec<i64>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    // From here to the commit nobody else gets a number of this project.
    let Some(row) = tx.first(NUMBER, &[project.key.into(), count.into()])? else {
        return Err(StoreError::unknown("project", &project.name));
    };
    let first = row.int(0)? - count + 1;
    let now = tx.now()?;
    let seqs: Vec<i64> = (first..first + count).collect();
    let mut before = before(tx, project, first)?;
    let mut rows = seqs.iter().zip(rows).peekable();
    while rows.peek().is_some() {
        let mut values = Vec::with_capacity(CHUNK * 7);
        let mut taken = 0;
        for (seq, row) in rows.by_ref().take(CHUNK) {
            let row = columns(project.key, *seq, now, row);
            before = mark::after(&before, TABLE, &row).as_bytes().to_vec();
            values.extend(row);
            values.push(before.clone().into());
            taken += 1;
        }
        tx.execute(&format!("{INSERT}{}", groups(taken, 7)), &values)?;
    }
    if tx.dialect() == Dialect::Postgres {
        // It is delivered at the commit, so that nobody is told of what is not there.
        let tell = "select pg_notify($1, $2)";
        tx.query(tell, &[CHANNEL.into(), project.key.to_string().into()])?;
    }
    Ok(seqs)
}

fn run_key(tx: &mut dyn Tx, project: &Project, id: Id) -> Result<i64, StoreError> {
    let found = tx.first(RUN_KEY, &[id.as_str().into(), project.key.into()])?;
    match found {
        Some(row) => row.int(0),
        None => Err(StoreError::unknown("run", id.as_str())),
    }
}

/// Returns the mark that the mark of an event covers: that of the event before it, or of its project.
fn before(tx: &mut dyn Tx, project: &Project, seq: i64) -> Result<Vec<u8>, StoreError> {
    if seq <= 1 {
        return Ok(chain::genesis(&project.name).as_bytes().to_vec());
    }
    let row = tx.first(BEFORE, &[project.key.into(), (seq - 1).into()])?;
    // An event that is gone is found by whoever verifies; work goes on.
    row.map_or(Ok(Vec::new()), |row| row.bytes(0).map(<[u8]>::to_vec))
}

/// Returns the columns of a row that its mark covers.
fn columns(project: i64, seq: i64, now: i64, row: EventRow<'_>) -> Vec<Value<'_>> {
    vec![
        project.into(),
        seq.into(),
        row.at.unwrap_or(now).into(),
        row.kind.into(),
        row.payload.into(),
        row.run.into(),
    ]
}

/// Reads events within a transaction.
pub(crate) fn since(
    tx: &mut dyn Tx,
    project: i64,
    seq: i64,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(SINCE, &[project.into(), seq.into(), limit.into()])?;
    rows.iter().map(stored).collect()
}

/// Reads a row.
pub(crate) fn stored(row: &Row) -> Result<StoredEvent, StoreError> {
    let seq = row.int(0)?;
    let payload: Map<String, Json> = serde_json::from_str(row.text(3)?).map_err(|error| {
        row.damaged(format!(
            "event {seq} has a payload that is not JSON: {error}"
        ))
    })?;
    let run = row.maybe(4, Row::text)?;
    Ok(StoredEvent {
        seq,
        at: row.int(1)?,
        event: Event {
            kind: row.text(2)?.to_owned(),
            payload,
        },
        run: run.map(str::parse).transpose()?,
    })
}
