//! Lines: the prompts of one project and recipe, in the order in which they were sealed.
//!
//! One prompt of a line is much like the next. So what it carries is noted as spans, from the first prompt of the line that
//! carries it to the last without one in between that does not, and sealing one more mostly moves their ends.

use std::collections::BTreeSet;

use crate::StoreError;
use crate::db::{Tx, Value, groups, query_in};
use crate::project::Project;

/// How many rows one statement is about.
const ROWS: usize = 100;

const FIND: &str = "insert into line (project, recipe, last) values ($1, $2, 0) \
    on conflict (project, recipe) do update set last = line.last returning key, last";

const GO_ON: &str = "update line set last = $2 where key = $1";

/// A line, with which nobody else goes on meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) key: i64,
    /// The newest prompt that it has had.
    last: i64,
}

/// What is noted about lines.
#[derive(Clone, Copy)]
pub(super) enum Noted {
    /// Texts in these roles.
    Part(i64),
    /// Sources.
    Source,
}

impl Noted {
    fn table(self) -> &'static str {
        match self {
            Self::Part(_) => "part",
            Self::Source => "prompt_source",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Self::Part(_) => "body",
            Self::Source => "source",
        }
    }
}

impl Line {
    /// Returns the line of a project and recipe.
    pub(super) fn of(tx: &mut dyn Tx, project: &Project, recipe: &str) -> Result<Self, StoreError> {
        let row = tx.first(FIND, &[project.key.into(), recipe.into()])?;
        let missing = || StoreError::damaged(tx.store(), "a new row has no key");
        let row = row.ok_or_else(missing)?;
        Ok(Self {
            key: row.int(0)?,
            last: row.int(1)?,
        })
    }

    /// Notes the next prompt.
    pub(super) fn go_on(self, tx: &mut dyn Tx, prompt: i64) -> Result<(), StoreError> {
        tx.execute(GO_ON, &[self.key.into(), prompt.into()])?;
        Ok(())
    }

    /// Moves the ends of the spans that the prompt before was the last one of; returns what has none.
    pub(super) fn extend(
        self,
        tx: &mut dyn Tx,
        prompt: i64,
        noted: Noted,
        keys: &[i64],
    ) -> Result<Vec<i64>, StoreError> {
        let (table, column) = (noted.table(), noted.column());
        let mut rest: BTreeSet<i64> = keys.iter().copied().collect();
        if self.last == 0 {
            // The first prompt of a line has none before it.
            return Ok(rest.into_iter().collect());
        }
        let mut values: Vec<Value<'_>> = vec![prompt.into(), self.key.into(), self.last.into()];
        let mut roles = "";
        if let Noted::Part(these) = noted {
            values.push(these.into());
            roles = " and roles = $4";
        }
        let keys = keys.iter().map(|key| (*key).into());
        let moved = query_in(tx, &values, keys, |list| {
            format!(
                "update {table} set last = $1 where line = $2 and last = $3{roles} and {column} in {list} returning {column}"
            )
        })?;
        for row in moved {
            rest.remove(&row.int(0)?);
        }
        Ok(rest.into_iter().collect())
    }

    /// Begins spans with a prompt.
    pub(super) fn begin(
        self,
        tx: &mut dyn Tx,
        prompt: i64,
        noted: Noted,
        keys: &[i64],
    ) -> Result<(), StoreError> {
        let (table, column) = (noted.table(), noted.column());
        for keys in keys.chunks(ROWS) {
            let row = |key: &i64| -> Vec<Value<'static>> {
                let span = [*key, self.key, prompt, prompt];
                let roles = match noted {
                    Noted::Part(roles) => Some(roles),
                    Noted::Source => None,
                };
                span.into_iter().chain(roles).map(Into::into).collect()
            };
            let rows: Vec<Vec<Value<'_>>> = keys.iter().map(row).collect();
            let roles = match noted {
                Noted::Part(_) => ", roles",
                Noted::Source => "",
            };
            let sql = format!(
                "insert into {table} ({column}, line, first, last{roles}) values {}",
                groups(rows.len(), rows[0].len())
            );
            tx.execute(&sql, &rows.concat())?;
        }
        Ok(())
    }
}
