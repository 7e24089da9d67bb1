//! Events: what happened in a project, numbered from 1 without a gap.
//!
//! An event is stored before anybody sees it, and never changes. Whoever reads "since a number" loses nothing.

use callsheet::Event;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::{Map, Value as Json};

use crate::db::{Dialect, Row, Tx, Value, groups};
use crate::project::Project;
use crate::{Id, Store, StoreError, mark};

/// Where a server tells that a project has news; the message is the key of the project.
pub(crate) const CHANNEL: &str = "callsheet_event";

/// How many rows are inserted by one statement.
const CHUNK: usize = 100;

const NUMBER: &str = "update project set events = events + $2 where key = $1 returning events";

const INSERT: &str = "insert into event (project, seq, at, kind, payload, run, mark) values ";

const SINCE: &str = "select e.seq, e.at, e.kind, e.payload, r.id from event e left join run r on r.key = e.run \
    where e.project = $1 and e.seq > $2 order by e.seq limit $3";

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
}

/// Stores events within a transaction and returns their numbers.
pub(crate) fn append(
    tx: &mut dyn Tx,
    project: &Project,
    events: &[NewEvent],
) -> Result<Vec<i64>, StoreError> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let runs = events
        .iter()
        .map(|new| new.run.map(|id| run_key(tx, project, id)).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    // From here to the commit nobody else gets a number of this project.
    let Some(row) = tx.first(NUMBER, &[project.key.into(), count.into()])? else {
        return Err(StoreError::unknown("project", &project.name));
    };
    let first = row.int(0)? - count + 1;
    let at = tx.now()?;
    let seqs: Vec<i64> = (first..first + count).collect();
    let rows: Vec<_> = seqs.iter().zip(events).zip(runs).collect();
    for chunk in rows.chunks(CHUNK) {
        let mut values = Vec::with_capacity(chunk.len() * 7);
        for ((seq, new), run) in chunk {
            let payload = Json::Object(new.event.payload.clone()).to_string();
            values.extend(columns(
                project.key,
                **seq,
                at,
                &new.event.kind,
                payload,
                *run,
            ));
        }
        tx.execute(&format!("{INSERT}{}", groups(chunk.len(), 7)), &values)?;
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

/// Returns the columns of a row, the last of which is the mark of all others.
#[expect(
    clippy::too_many_arguments,
    reason = "they are the columns of the table"
)]
fn columns(
    project: i64,
    seq: i64,
    at: i64,
    kind: &str,
    payload: String,
    run: Option<i64>,
) -> Vec<Value<'_>> {
    let mut values = vec![
        project.into(),
        seq.into(),
        at.into(),
        kind.into(),
        payload.into(),
        run.into(),
    ];
    values.push(mark::of("event", &values).into());
    values
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

fn stored(row: &Row) -> Result<StoredEvent, StoreError> {
    let seq = row.int(0)?;
    let payload: Map<String, Json> = serde_json::from_str(row.text(3)?).map_err(|error| {
        row.damaged(format!(
            "event {seq} has a payload that is no JSON: {error}"
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
