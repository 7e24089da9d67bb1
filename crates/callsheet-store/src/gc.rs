//! Collecting what is no longer wanted: old prompts that no run was given, and the texts that only they carried.
//!
//! Nothing here happens by itself.

use callsheet::Event;
use serde::Serialize;
use serde_json::json;

use crate::db::{Tx, Value};
use crate::project::Project;
use crate::role::BOUNDARY;
use crate::{Id, Store, StoreError, event, id, locks, passage};

/// The event of prompts that were removed.
pub(crate) const COLLECTED: &str = "prompt:collected";

/// The tables from which rows are removed.
const TABLES: &[&str] = &[
    "body",
    "document",
    "prompt_body",
    "passage",
    "prompt",
    "prompt_source",
    "delta_base",
    "source",
    "trigram",
];

/// Which prompts stay, besides those that a run was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// So many of the newest.
    pub newest: Option<usize>,
    /// Those that were sealed at this time or later.
    pub since: Option<i64>,
}

/// What was, or would be, removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The prompts, the oldest first.
    pub prompts: Vec<Id>,
    /// How many texts only they carried.
    pub texts: i64,
    /// How many bytes these take, as they are packed.
    pub bytes: i64,
}

const NTH: &str =
    "select p.id from prompt p where p.project = $1 order by p.id desc limit 1 offset $2";

/// The prompts that go: before the cut, and given to no run.
const DOOMED: &str = "select p.key from prompt p where p.project = $1 and p.id < $2 \
    and not exists (select 1 from run r where r.prompt = p.key) order by p.id";

/// So many prompts are removed by one transaction. Whoever seals waits for one of them, not for all.
const AT_ONCE: usize = 500;

impl Store {
    /// Tells what [`Store::collect`] would remove.
    pub async fn collectable(
        &self,
        project: &Project,
        keep: Keep,
    ) -> Result<Collected, StoreError> {
        let project = project.clone();
        self.read(move |tx| {
            let cut = cut(tx, &project, keep)?;
            doomed(tx, &project, &cut, DOOMED)
        })
        .await
    }

    /// Removes all prompts but those that are kept and those that a run was given, some hundred at a time.
    ///
    /// What is interrupted has removed the oldest of them.
    pub async fn collect(&self, project: &Project, keep: Keep) -> Result<Collected, StoreError> {
        let of = project.clone();
        let cut = self.read(move |tx| cut(tx, &of, keep)).await?;
        let mut all = Collected::default();
        loop {
            let (project, cut) = (project.clone(), cut.clone());
            let some = self.write(move |tx| collect(tx, &project, &cut)).await?;
            all.texts += some.texts;
            all.bytes += some.bytes;
            if some.prompts.is_empty() {
                break;
            }
            all.prompts.extend(some.prompts);
        }
        self.give_back(TABLES).await?;
        Ok(all)
    }
}

/// Returns the id below which prompts go: the lowest that any rule keeps.
fn cut(tx: &mut dyn Tx, project: &Project, keep: Keep) -> Result<String, StoreError> {
    let newest = match keep.newest {
        // `~` sorts after every id: without a rule nothing stays.
        None | Some(0) => "~".to_owned(),
        Some(count) => {
            let offset = i64::try_from(count - 1).unwrap_or(i64::MAX);
            let row = tx.first(NTH, &[project.key.into(), offset.into()])?;
            row.map_or(Ok(String::new()), |row| row.text(0).map(str::to_owned))?
        }
    };
    let since = keep.since.map(id::lowest);
    Ok(since.map_or(newest.clone(), |since| since.min(newest)))
}

/// Tells what goes with some prompts, given as a query for their keys.
fn doomed(
    tx: &mut dyn Tx,
    project: &Project,
    cut: &str,
    prompts: &str,
) -> Result<Collected, StoreError> {
    let values: [Value<'_>; 2] = [project.key.into(), cut.into()];
    let ids = prompts.replace("select p.key", "select p.id");
    let rows = tx.query(&ids, &values)?;
    let ids = rows.iter().map(|row| row.text(0)?.parse());
    let sum = format!(
        "select count(*), cast(coalesce(sum(length(b.packed)), 0) as bigint) from body b \
        where exists (select 1 from prompt_body a where a.body = b.key and a.roles <> {BOUNDARY}) \
        and not exists (select 1 from prompt_body a join prompt s on s.series = a.series and s.key between a.first and a.last \
        where a.body = b.key and s.key not in ({prompts}))"
    );
    let row = tx.first(&sum, &values)?;
    let (texts, bytes) = match row {
        Some(row) => (row.int(0)?, row.int(1)?),
        None => (0, 0),
    };
    Ok(Collected {
        prompts: ids.collect::<Result<_, StoreError>>()?,
        texts,
        bytes,
    })
}

/// Removes the oldest prompts before a cut.
fn collect(tx: &mut dyn Tx, project: &Project, cut: &str) -> Result<Collected, StoreError> {
    locks::collecting(tx)?;
    tx.unhurried()?;
    let oldest = format!("{DOOMED} limit {AT_ONCE}");
    let collected = doomed(tx, project, cut, &oldest)?;
    if collected.prompts.is_empty() {
        return Ok(collected);
    }
    let values: [Value<'_>; 2] = [project.key.into(), cut.into()];
    let ends = format!("select min(o.key), max(o.key) from ({oldest}) o");
    let ends = tx.query(&ends, &values)?;
    for table in ["document", "prompt"] {
        let sql = format!("delete from {table} where key in ({oldest})");
        let removed = tx.execute(&sql, &values)?;
        // Whoever finds prompts that do not go would remove them again and again.
        if table == "prompt" && removed != collected.prompts.len() as u64 {
            let why =
                "some of the prompts cannot be removed; `callsheet verify` says what is wrong";
            return Err(StoreError::damaged(tx.store(), why));
        }
    }
    for row in ends {
        unlink(tx, row.int(0)?, row.int(1)?)?;
    }
    sweep(tx)?;
    let facts = [("ids", json!(collected.prompts))];
    let message = format!("{} prompts are removed", collected.prompts.len());
    let event = Event::new(COLLECTED, facts, message);
    event::append(tx, project, &[event.into()])?;
    Ok(collected)
}

/// Removes the links that no prompt has any more, given the first and the last key of those that were removed.
fn unlink(tx: &mut dyn Tx, first: i64, last: i64) -> Result<(), StoreError> {
    for table in ["prompt_source", "prompt_body"] {
        // Each link looks for the next prompt of its series. With `not exists`, PostgreSQL compares all links with all prompts.
        let next = format!(
            "select p.key from prompt p where p.series = {table}.series and p.key >= {table}.first order by p.key limit 1"
        );
        let sql = format!(
            "delete from {table} where first <= $2 and last >= $1 and case when ({next}) <= last then 0 else 1 end = 1"
        );
        tx.execute(&sql, &[first.into(), last.into()])?;
    }
    Ok(())
}

/// Removes texts that nobody carries, and that no other text is kept against.
fn sweep(tx: &mut dyn Tx) -> Result<(), StoreError> {
    const LOOSE: &str = "not exists (select 1 from prompt_body a where a.body = b.key) \
        and not exists (select 1 from document d where d.base = b.key) \
        and not exists (select 1 from body o where o.base = b.key)";
    tx.execute(
        "delete from source where not exists (select 1 from prompt_source ps where ps.source = source.key)",
        &[],
    )?;
    unindex(tx)?;
    // Those that have a base go first; then their bases may be loose, too.
    for _ in 0..2 {
        for row in tx.query(&format!("select b.key from body b where {LOOSE}"), &[])? {
            let key = row.int(0)?;
            tx.execute("delete from delta_base where body = $1", &[key.into()])?;
            tx.execute("delete from body where key = $1", &[key.into()])?;
        }
    }
    Ok(())
}

/// Removes the passages that no prompt of their project shows any more, from the index too.
fn unindex(tx: &mut dyn Tx) -> Result<(), StoreError> {
    let loose = passage::loose();
    for (table, key) in [("trigram", "rowid"), ("passage", "key")] {
        tx.execute(
            &format!("delete from {table} where {key} in (select key from ({loose}) l)"),
            &[],
        )?;
    }
    Ok(())
}
