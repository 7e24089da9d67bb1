//! Branches of tasks, as git bundles: what a task left behind, for a machine that has no copy of it.
//!
//! The store keeps the last one of each task. It does not look into it.

use callsheet::Event;
use serde_json::Value as Json;

use crate::db::{Row, Value};
use crate::project::{self, Project};
use crate::{Id, Store, StoreError, event, mark, task};

/// The event of a branch that is kept.
const KEPT: &str = "task:branch_kept";

/// The most bytes that the bundle of a branch may have.
const LARGEST: usize = 256 << 20;

const PUT: &str = "insert into branch (task, at, refs, bundle, mark) values ($1, $2, $3, $4, $5) \
    on conflict (task) do update \
    set at = excluded.at, refs = excluded.refs, bundle = excluded.bundle, mark = excluded.mark";

const GET: &str = "select at, refs, bundle from branch where task = $1";

const AT: &str = "select at from branch where task = $1";

/// The branch of a task as it was kept last.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// When it was kept, in milliseconds since 1970.
    pub at: i64,
    /// The refs in the bundle, as whoever kept it describes them.
    pub refs: Json,
    /// The git bundle.
    pub bundle: Vec<u8>,
}

impl Store {
    /// Keeps the branch of a task in the place of the one that was kept at `seen`; none is there where that is nothing.
    ///
    /// `false` where another one is there by now, and nothing changes: whoever asks has to look at that one first.
    pub async fn put_branch(
        &self,
        project: &Project,
        task: Id,
        seen: Option<i64>,
        (refs, bundle): (&Json, Vec<u8>),
    ) -> Result<bool, StoreError> {
        if bundle.len() > LARGEST {
            let why = format!(
                "the branch of task `{task}` has {} bytes; the store keeps at most {LARGEST}",
                bundle.len()
            );
            return Err(StoreError::refused(why));
        }
        let (project, refs) = (project.clone(), refs.to_string());
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            let key = task::key(tx, project.key, task)?;
            let there = tx.first(AT, &[key.into()])?;
            let there = there.map(|row| row.int(0)).transpose()?;
            if there != seen {
                return Ok(false);
            }
            // No two of a task have the same time.
            let at = there
                .map_or(0, |there| there.saturating_add(1))
                .max(tx.now()?);
            let columns = [key.into(), at.into(), (&refs).into(), (&*bundle).into()];
            let mark = mark_of(&columns);
            let facts = [
                ("task", task.to_string().into()),
                ("mark", mark::digits(&mark).into()),
            ];
            let [key, at, refs, bundle] = columns;
            tx.execute(PUT, &[key, at, refs, bundle, mark.into()])?;
            let event = Event::new(KEPT, facts, format!("the branch of task {task} is kept"));
            event::append(tx, &project, &[event.into()]).map(|_| true)
        })
        .await
    }

    /// Returns the branch of a task, if one is kept.
    pub async fn branch(&self, project: &Project, task: Id) -> Result<Option<Branch>, StoreError> {
        let project = project.key;
        self.read(move |tx| {
            let key = task::key(tx, project, task)?;
            let found = tx.first(GET, &[key.into()])?;
            found.map(|row| branch(&row, task)).transpose()
        })
        .await
    }

    /// Returns when the branch of a task was kept last.
    pub async fn branch_at(&self, project: &Project, task: Id) -> Result<Option<i64>, StoreError> {
        let project = project.key;
        self.read(move |tx| {
            let key = task::key(tx, project, task)?;
            let found = tx.first(AT, &[key.into()])?;
            found.map(|row| row.int(0)).transpose()
        })
        .await
    }
}

/// Returns the mark of a branch: of the key of its task, its time, its refs and its bundle.
pub(crate) fn mark_of(columns: &[Value<'_>; 4]) -> Vec<u8> {
    mark::of("branch", columns)
}

fn branch(row: &Row, task: Id) -> Result<Branch, StoreError> {
    let refs = serde_json::from_str(row.text(1)?)
        .map_err(|error| row.damaged(format!("the refs of task `{task}` are not JSON: {error}")))?;
    Ok(Branch {
        at: row.int(0)?,
        refs,
        bundle: row.bytes(2)?.to_vec(),
    })
}
