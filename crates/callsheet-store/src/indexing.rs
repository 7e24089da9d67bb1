//! Keeping the search index: adding to it, making it anew, and comparing it with the texts.

use crate::db::Tx;
use crate::project::Project;
use crate::prompt::{self, guard};
use crate::search::{self, Reach, index};
use crate::verify::Audit;
use crate::{Store, StoreError};

/// Passages that no prompt of their project shows.
const LOOSE: &str = "select count(*) from passage p where p.run is null and not exists \
    (select 1 from part a join line l on l.key = a.line where a.body = p.body and l.project = p.project)";

/// The passages of logs in order, with the project and the number of records of their run.
const LOGS: &str = "select r.id, p.first, p.last, r.records, r.project, p.project from passage p join run r on r.key = p.run \
    order by p.run, p.first";

/// Runs whose log should be in passages as a whole, and is not.
const SHORT: &str = "select r.id from search_index i join run r on r.project = i.project and r.key <= i.runs \
    where i.version = $1 and r.records <> coalesce((select max(p.last) from passage p where p.run = r.key), 0) \
    order by r.key limit 20";

impl Store {
    /// Adds about `most` bytes of text to the search index; tells whether all is in it then.
    ///
    /// Searching looks into everything that is not in the index yet, but for logs.
    pub async fn index(&self, project: &Project, most: usize) -> Result<bool, StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            guard::sealing(tx, &project)?;
            index::add(tx, project.key, most)
        })
        .await
    }

    /// Returns how many passages of prompts, and how many log records, are not in the search index yet.
    pub async fn unindexed(&self, project: &Project) -> Result<(i64, i64), StoreError> {
        let project = project.key;
        self.read(move |tx| {
            let reach = Reach::of(tx, project)?;
            let sql = "select count(*) from passage where project = $1 and key > $2";
            let row = tx.first(sql, &[project.into(), reach.through.into()])?;
            let passages = row.map_or(Ok(0), |row| row.int(0))?;
            let records = search::records_behind(tx, project, reach.runs)?;
            Ok((passages, records))
        })
        .await
    }

    /// Empties the search index of a project and notes again what can be found in its prompts; [`Store::index`] fills it.
    pub async fn empty_index(&self, project: &Project) -> Result<(), StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            guard::sealing(tx, &project)?;
            tx.unhurried()?;
            index::clear(tx, project.key)?;
            tx.execute(
                "delete from passage where project = $1",
                &[project.key.into()],
            )?;
            prompt::note_passages(tx, project.key)
        })
        .await
    }
}

/// Checks that passages of logs follow each other, that none belongs to nothing, and that the index has what the texts say.
pub(crate) fn verify(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    let loose = tx.first(LOOSE, &[])?.map_or(Ok(0), |row| row.int(0))?;
    if loose > 0 {
        let detail = format!("{loose} of its rows are shown by no prompt");
        audit.find("the table `passage`".to_owned(), detail);
    }
    let mut before: Option<(String, i64)> = None;
    tx.each(LOGS, &[], &mut |row| {
        let (run, first, last) = (row.text(0)?.to_owned(), row.int(1)?, row.int(2)?);
        let next = match &before {
            Some((known, last)) if *known == run => last + 1,
            _ => 1,
        };
        if first != next || last < first || last > row.int(3)? || row.int(4)? != row.int(5)? {
            audit.find(
                format!("the index of run {run} from record {next} on"),
                WRONG,
            );
        }
        before = Some((run, last));
        Ok(())
    })?;
    for row in tx.query(SHORT, &[index::VERSION.into()])? {
        audit.find(format!("the index of run {}", row.text(0)?), WRONG);
    }
    if !index::is_right(tx)? {
        audit.find("the search index".to_owned(), index::DAMAGED);
    }
    Ok(())
}

const WRONG: &str = "it does not hold what it should";
