//! Reading batches: by name, the one that has not ended, and all of them in pages.

use serde::Serialize;

use super::Batch;
use super::columns::{COLUMNS, Columns, WIDTH};
use crate::db::{Row, Tx};
use crate::project::Project;
use crate::{Store, StoreError, id};

const COUNT: &str = "select count(*) from batch where project = $1";

/// Which batches of a project are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPage {
    /// How many of the newest are skipped.
    pub offset: usize,
    /// No more batches than this.
    pub limit: usize,
}

impl Default for BatchPage {
    fn default() -> Self {
        Self {
            offset: 0,
            limit: 20,
        }
    }
}

/// A page of batches, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Batches {
    /// The batches of this page.
    pub batches: Vec<Batch>,
    /// How many batches the project has.
    pub total: i64,
}

impl Store {
    /// Returns the batch of a project that has not ended, if there is one.
    pub async fn open_batch(&self, project: &Project) -> Result<Option<Batch>, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let sql = select("b.project = $1 and b.state <> 'ended'");
            tx.first(&sql, &[key.into()])?
                .as_ref()
                .map(batch)
                .transpose()
        })
        .await
    }

    /// Returns a batch by its id or a prefix of it that no other batch of the project has.
    pub async fn batch(&self, project: &Project, name: &str) -> Result<Batch, StoreError> {
        let (key, name) = (project.key, name.to_owned());
        self.read(move |tx| {
            let filter =
                format!("b.id >= $1 and b.id < $2 and b.project = {key} order by b.id limit 6");
            batch(&id::find(tx, "batch", &name, &select(&filter))?)
        })
        .await
    }

    /// Returns a page of the batches of a project, the newest first.
    pub async fn batches(&self, project: &Project, page: BatchPage) -> Result<Batches, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            let sql = select("b.project = $1 order by b.key desc limit $2 offset $3");
            let values = [
                key.into(),
                number(page.limit).into(),
                number(page.offset).into(),
            ];
            let rows = tx.query(&sql, &values)?;
            let total = tx.first(COUNT, &[key.into()])?;
            Ok(Batches {
                batches: rows.iter().map(batch).collect::<Result<_, _>>()?,
                total: total.map_or(Ok(0), |row| row.int(0))?,
            })
        })
        .await
    }
}

/// Returns a batch by its key.
pub(super) fn by_key(tx: &mut dyn Tx, key: i64) -> Result<Option<Batch>, StoreError> {
    let row = tx.first(&select("b.key = $1"), &[key.into()])?;
    row.as_ref().map(batch).transpose()
}

fn select(filter: &str) -> String {
    format!(
        "select {COLUMNS}, p.name from batch b join project p on p.key = b.project where {filter}"
    )
}

/// Reads a row.
fn batch(row: &Row) -> Result<Batch, StoreError> {
    Columns::read(row)?.batch(row, row.text(WIDTH)?)
}
