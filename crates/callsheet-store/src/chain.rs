//! The chain of a project: each event covers the one before it, so that the last one stands for all of them.
//!
//! The head of a chain proves a history only to somebody who has kept it where whoever writes the store cannot.

use callsheet::Fingerprint;
use serde::Serialize;

use crate::db::{Row, Tx};
use crate::project::Project;
use crate::{Store, StoreError, mark};

const LAST: &str = "select seq, mark from event where project = $1 order by seq desc limit 1";

const FIND: &str =
    "select p.name, e.seq from event e join project p on p.key = e.project where e.mark = $1";

const PROJECTS: &str = "select name from project order by key";

/// The last event of a project, which stands for all events up to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The name of the project.
    pub project: String,
    /// The number of the event; 0 where there is none yet.
    pub seq: i64,
    /// The hash of all events up to this one.
    pub hash: Fingerprint,
}

impl Store {
    /// Returns the head of the chain of a project.
    pub async fn head(&self, project: &Project) -> Result<Head, StoreError> {
        let project = project.clone();
        self.read(move |tx| head(tx, &project)).await
    }

    /// Returns the event that was the head of a chain once, if any project has it.
    ///
    /// That the events before it are those that it stands for is what [`Store::verify`] proves.
    pub async fn find_head(&self, hash: Fingerprint) -> Result<Option<Head>, StoreError> {
        self.read(move |tx| find(tx, hash)).await
    }
}

/// Returns what the mark of the first event of a project covers.
pub(crate) fn genesis(project: &str) -> Fingerprint {
    mark::after(&[], "project", &[project.into()])
}

fn head(tx: &mut dyn Tx, project: &Project) -> Result<Head, StoreError> {
    let (seq, hash) = match tx.first(LAST, &[project.key.into()])? {
        Some(row) => (row.int(0)?, hash(&row, 1)?),
        None => (0, genesis(&project.name)),
    };
    Ok(Head {
        project: project.name.clone(),
        seq,
        hash,
    })
}

fn hash(row: &Row, at: usize) -> Result<Fingerprint, StoreError> {
    let bytes: Result<[u8; 32], _> = row.bytes(at)?.try_into();
    bytes
        .map(Fingerprint::from_bytes)
        .map_err(|_| row.damaged("the last event is not part of a chain; `verify` tells more"))
}

fn find(tx: &mut dyn Tx, hash: Fingerprint) -> Result<Option<Head>, StoreError> {
    if let Some(row) = tx.first(FIND, &[hash.as_bytes().as_slice().into()])? {
        return Ok(Some(Head {
            project: row.text(0)?.to_owned(),
            seq: row.int(1)?,
            hash,
        }));
    }
    let rows = tx.query(PROJECTS, &[])?;
    let names = rows.iter().map(|row| row.text(0));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let project = names.into_iter().find(|name| genesis(name) == hash);
    Ok(project.map(|name| Head {
        project: name.to_owned(),
        seq: 0,
        hash,
    }))
}
