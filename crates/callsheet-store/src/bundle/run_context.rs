//! What a run in a bundle says about its task, and what was found out or decided about it afterwards.
//!
//! Both are part of the document of the run, which has them only where there is something to say.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::document::{is_time, raw};
use super::redact::Cleaner;
use crate::annotation;
use crate::db::{Row, Tx};
use crate::project::Project;
use crate::task::{self, Columns};
use crate::{Id, StoreError};

const ANNOTATIONS: &str =
    "select at, kind, name, value from annotation where run = $1 order by seq";

/// The task of a run. Whether it was cancelled, and what it depends on, stays in its store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskDocument {
    /// The name of the task.
    pub id: Id,
    /// What it is called.
    pub title: String,
    /// What it asks for.
    pub body: Box<RawValue>,
    /// When it was added.
    pub created_at: i64,
}

/// An annotation of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnotationDocument {
    /// When it was added.
    pub at: i64,
    /// What it is about.
    pub kind: String,
    /// Which one of them.
    pub name: String,
    /// What was found out or decided.
    pub value: Box<RawValue>,
}

/// Tells whether a document is JSON that a store can read again: raw text may be nested too deeply.
fn check_json(text: &RawValue) -> Result<(), String> {
    serde_json::from_str::<Json>(text.get())
        .map(|_| ())
        .map_err(|error| error.to_string())
}

impl TaskDocument {
    /// Reads the columns of a row from `at` on: id, title, body and time.
    pub(super) fn of_row(row: &Row, at: usize) -> Result<Option<Self>, StoreError> {
        let Some(id) = row.maybe(at, Row::text)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            id: id.parse()?,
            title: row.text(at + 1)?.to_owned(),
            body: raw(row.text(at + 2)?)?,
            created_at: row.int(at + 3)?,
        }))
    }

    /// Checks what it says.
    pub(super) fn check(&self) -> Result<(), String> {
        if !is_time(self.created_at) || !self.id.is_of(self.created_at) {
            return Err("the id of its task is not that of its time".to_owned());
        }
        if !task::is_title(&self.title) || self.title.contains('\0') {
            return Err("its task has a title that no store can keep".to_owned());
        }
        check_json(&self.body)
    }

    /// Tells whether another document says the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let parts = |it: &Self| (it.id, it.title.clone(), it.created_at);
        parts(self) == parts(other) && self.body.get() == other.body.get()
    }

    /// Returns it without its secrets.
    pub(super) fn clean(&self, cleaner: &Cleaner) -> Result<Self, StoreError> {
        Ok(Self {
            title: cleaner.clean_text(&self.title),
            body: cleaner.clean_json(self.body.get())?,
            ..self.clone()
        })
    }

    /// Returns the key of the task in a project, and whether it is new there.
    ///
    /// Whoever calls holds the lock of the project.
    pub(super) fn take_in(
        &self,
        tx: &mut dyn Tx,
        project: &Project,
    ) -> Result<(i64, bool), StoreError> {
        let id = self.id;
        if let Some(row) = task::row(tx, project.key, id)? {
            let same = row.text(1)? == self.title
                && row.text(2)? == self.body.get()
                && row.int(3)? == self.created_at;
            if !same {
                let why = format!("task `{id}` is here already with other contents");
                return Err(StoreError::refused(why));
            }
            return Ok((row.int(0)?, false));
        }
        let columns = Columns {
            id: id.as_str(),
            project: project.key,
            title: &self.title,
            body: self.body.get(),
            created_at: self.created_at,
            cancelled_at: None,
        };
        let taken = || format!("task `{id}` cannot be imported: its id is taken");
        let key = columns.insert(tx)?;
        key.map(|key| (key, true))
            .ok_or_else(|| StoreError::refused(taken()))
    }
}

impl AnnotationDocument {
    /// Returns the annotations of a run, the oldest first.
    pub(super) fn of_run(tx: &mut dyn Tx, key: i64) -> Result<Vec<Self>, StoreError> {
        let document = |row: &Row| {
            Ok(Self {
                at: row.int(0)?,
                kind: row.text(1)?.to_owned(),
                name: row.text(2)?.to_owned(),
                value: raw(row.text(3)?)?,
            })
        };
        let rows = tx.query(ANNOTATIONS, &[key.into()])?;
        rows.iter().map(document).collect()
    }

    /// Checks what it says.
    pub(super) fn check(&self) -> Result<(), String> {
        if !is_time(self.at) || self.kind.contains('\0') || self.name.contains('\0') {
            return Err("it has an annotation that no store can keep".to_owned());
        }
        check_json(&self.value)
    }

    /// Returns it without its secrets.
    pub(super) fn clean(&self, cleaner: &Cleaner) -> Result<Self, StoreError> {
        Ok(Self {
            name: cleaner.clean_text(&self.name),
            value: cleaner.clean_json(self.value.get())?,
            ..self.clone()
        })
    }

    /// Adds it to a run under a number.
    pub(super) fn insert(&self, tx: &mut dyn Tx, run: i64, seq: i64) -> Result<(), StoreError> {
        let columns = annotation::Columns {
            run,
            seq,
            at: self.at,
            kind: &self.kind,
            name: &self.name,
            value: self.value.get(),
        };
        columns.insert(tx)
    }
}
