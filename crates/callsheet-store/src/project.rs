//! Projects: what everything else in a store belongs to.
//!
//! A project is found by its name and made at its first use; it is never renamed or removed.

use callsheet::seal::RootPaths;

use crate::db::{Dialect, Tx, Value};
use crate::{Store, StoreError, mark};

/// A project of a store.
#[derive(Clone, Debug)]
pub struct Project {
    /// The name, which no other project of the store has.
    pub name: String,
    pub(crate) key: i64,
    /// Where its root is on this machine, which no bundle tells.
    pub(crate) paths: RootPaths,
}

impl PartialEq for Project {
    fn eq(&self, other: &Self) -> bool {
        (self.key, &self.name) == (other.key, &other.name)
    }
}

impl Eq for Project {}

impl Project {
    pub(crate) fn new(key: i64, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            key,
            paths: RootPaths::default(),
        }
    }

    /// Says where its root is on this machine, so that no bundle tells.
    #[must_use]
    pub fn at(self, paths: RootPaths) -> Self {
        Self { paths, ..self }
    }
}

const FIND: &str = "select key from project where name = $1";

const MAKE: &str = "insert into project (name, mark) values ($1, $2) on conflict (name) do nothing";

const LIST: &str = "select key, name from project order by name";

impl Store {
    /// Returns the project of a name, which is made if there is none.
    pub async fn project(&self, name: &str) -> Result<Project, StoreError> {
        if let Some(found) = self.find_project(name).await? {
            return Ok(found);
        }
        let name = name.to_owned();
        self.write(move |tx| make(tx, &name)).await
    }

    /// Returns the project of a name, if there is one.
    pub async fn find_project(&self, name: &str) -> Result<Option<Project>, StoreError> {
        let name = name.to_owned();
        self.read(move |tx| find(tx, &name)).await
    }

    /// Returns all projects in the order of their names.
    pub async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.read(|tx| {
            let rows = tx.query(LIST, &[])?;
            let project = |row: &crate::db::Row| Ok(Project::new(row.int(0)?, row.text(1)?));
            rows.iter().map(project).collect()
        })
        .await
    }
}

/// Writers of events take the same lock, and nobody else needs it: rows that refer to the project only need its key.
const LOCK: &str = "select key from project where key = $1 for no key update";

/// Waits until nobody else has locked the project; holds until the transaction ends.
pub(crate) fn lock(tx: &mut dyn Tx, key: i64) -> Result<(), StoreError> {
    // The one writer of a file is alone anyway.
    if tx.dialect() == Dialect::Postgres {
        tx.query(LOCK, &[key.into()])?;
    }
    Ok(())
}

/// Finds a project.
pub(crate) fn find(tx: &mut dyn Tx, name: &str) -> Result<Option<Project>, StoreError> {
    let Some(row) = tx.first(FIND, &[name.into()])? else {
        return Ok(None);
    };
    Ok(Some(Project::new(row.int(0)?, name)))
}

/// Finds a project or makes it.
pub(crate) fn make(tx: &mut dyn Tx, name: &str) -> Result<Project, StoreError> {
    if name.is_empty() {
        return Err(StoreError::refused("a project needs a name"));
    }
    tx.execute(MAKE, &[name.into(), mark_of(name).into()])?;
    find(tx, name)?.ok_or_else(|| StoreError::unknown("project", name))
}

/// Returns the mark of a project.
pub(crate) fn mark_of(name: &str) -> Vec<u8> {
    mark::of("project", &[Value::from(name)])
}
