//! Finding runs by what they are, and counting them.

use super::list;
use super::{Run, RunKind, RunState};
use crate::db::{Dialect, Tx, Value};
use crate::project::Project;
use crate::{Store, StoreError};

/// Which runs of a project are looked for; what is not said does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs that stand here.
    pub state: Option<RunState>,
    /// Only runs that came to be this way.
    pub kind: Option<RunKind>,
    /// Only runs whose request names this runner.
    pub runner: Option<String>,
}

impl Store {
    /// Returns some of the runs that fit, the newest first, and how many there are in all.
    pub async fn find_runs(
        &self,
        project: &Project,
        filter: RunFilter,
        (offset, limit): (usize, usize),
    ) -> Result<(Vec<Run>, usize), StoreError> {
        let key = project.key;
        self.read(move |tx| find(tx, key, &filter, (offset, limit)))
            .await
    }
}

fn find(
    tx: &mut dyn Tx,
    project: i64,
    filter: &RunFilter,
    (offset, limit): (usize, usize),
) -> Result<(Vec<Run>, usize), StoreError> {
    let runner = match tx.dialect() {
        Dialect::Sqlite => "r.request ->> '$.runner'",
        Dialect::Postgres => "(r.request::json ->> 'runner')",
    };
    let mut sql = "r.project = $1".to_owned();
    let mut values: Vec<Value<'_>> = vec![project.into()];
    let mut add = |column: &str, value: Option<&str>| {
        if let Some(value) = value {
            values.push(value.to_owned().into());
            sql.push_str(&format!(" and {column} = ${}", values.len()));
        }
    };
    add("r.state", filter.state.map(RunState::as_str));
    add("r.kind", filter.kind.map(RunKind::as_str));
    add(runner, filter.runner.as_deref());
    let counted = tx.first(&format!("select count(*) from run r where {sql}"), &values)?;
    let total = counted.map_or(Ok(0), |row| row.int(0))?;
    let number = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    values.extend([number(limit), number(offset)]);
    let (limit, offset) = (values.len() - 1, values.len());
    let page = format!("{sql} order by r.key desc limit ${limit} offset ${offset}");
    let runs = list::select(tx, &page, &values)?;
    Ok((runs, usize::try_from(total).unwrap_or(0)))
}
