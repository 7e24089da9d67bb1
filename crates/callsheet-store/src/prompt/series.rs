//! Series: the prompts of one project and recipe, in the order in which they were sealed.
//!
//! One prompt of a series is much like the next. So a text or a source is not linked to each prompt but to a span of them: from the
//! first prompt that carries it to the last, with none in between that does not. Sealing one more prompt mostly moves the ends
//! of spans.

use std::collections::BTreeSet;

use crate::StoreError;
use crate::db::{Tx, Value, groups, query_in};
use crate::project::Project;

/// How many rows one statement is about.
const ROWS: usize = 100;

const FIND: &str = "insert into series (project, recipe, last) values ($1, $2, 0) \
    on conflict (project, recipe) do update set last = series.last returning key, last";

const GO_ON: &str = "update series set last = $2 where key = $1";

/// A series, to which nobody else adds a prompt meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Series {
    pub(super) key: i64,
    /// The newest prompt that it has had.
    last: i64,
}

/// What the prompts of a series are linked to.
#[derive(Clone, Copy)]
pub(super) enum Link {
    /// Texts in these roles.
    Text(i64),
    /// Sources.
    Source,
}

impl Link {
    fn table(self) -> &'static str {
        match self {
            Self::Text(_) => "prompt_body",
            Self::Source => "prompt_source",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Self::Text(_) => "body",
            Self::Source => "source",
        }
    }
}

impl Series {
    /// Returns the series of a project and recipe.
    pub(super) fn of(tx: &mut dyn Tx, project: &Project, recipe: &str) -> Result<Self, StoreError> {
        let row = tx.first(FIND, &[project.key.into(), recipe.into()])?;
        let missing = || StoreError::damaged(tx.store(), "a new row has no key");
        let row = row.ok_or_else(missing)?;
        Ok(Self {
            key: row.int(0)?,
            last: row.int(1)?,
        })
    }

    /// Adds a prompt to the end.
    pub(super) fn go_on(self, tx: &mut dyn Tx, prompt: i64) -> Result<(), StoreError> {
        tx.execute(GO_ON, &[self.key.into(), prompt.into()])?;
        Ok(())
    }

    /// Moves the ends of the spans that the prompt before was the last one of; returns what has none.
    pub(super) fn extend(
        self,
        tx: &mut dyn Tx,
        prompt: i64,
        link: Link,
        keys: &[i64],
    ) -> Result<Vec<i64>, StoreError> {
        let (table, column) = (link.table(), link.column());
        let mut rest: BTreeSet<i64> = keys.iter().copied().collect();
        if self.last == 0 {
            // The first prompt of a line has none before it.
            return Ok(rest.into_iter().collect());
        }
        let mut values: Vec<Value<'_>> = vec![prompt.into(), self.key.into(), self.last.into()];
        let mut roles = "";
        if let Link::Text(these) = link {
            values.push(these.into());
            roles = " and roles = $4";
        }
        let keys = keys.iter().map(|key| (*key).into());
        let moved = query_in(tx, &values, keys, |list| {
            format!(
                "update {table} set last = $1 where series = $2 and last = $3{roles} and {column} in {list} returning {column}"
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
        link: Link,
        keys: &[i64],
    ) -> Result<(), StoreError> {
        let (table, column) = (link.table(), link.column());
        for keys in keys.chunks(ROWS) {
            let row = |key: &i64| -> Vec<Value<'static>> {
                let span = [*key, self.key, prompt, prompt];
                let roles = match link {
                    Link::Text(roles) => Some(roles),
                    Link::Source => None,
                };
                span.into_iter().chain(roles).map(Into::into).collect()
            };
            let rows: Vec<Vec<Value<'_>>> = keys.iter().map(row).collect();
            let roles = match link {
                Link::Text(_) => ", roles",
                Link::Source => "",
            };
            let sql = format!(
                "insert into {table} ({column}, series, first, last{roles}) values {}",
                groups(rows.len(), rows[0].len())
            );
            tx.execute(&sql, &rows.concat())?;
        }
        Ok(())
    }
}
