//! Settings: JSON values of a project under names such as `scope.defaultExclude`.
//!
//! The store knows no setting by name and gives none a default. Secrets do not belong here.

use callsheet::Event;
use serde_json::Value as Json;

use crate::db::{Row, Tx, Value};
use crate::project::{self, Project};
use crate::{Store, StoreError, event, mark};

const GET: &str = "select value from setting where project = $1 and name = $2";

const LIST: &str = "select name, value from setting where project = $1 order by name";

const SET: &str = "insert into setting (project, name, value, changed_at, mark) values ($1, $2, $3, $4, $5) \
    on conflict (project, name) do update \
    set value = excluded.value, changed_at = excluded.changed_at, mark = excluded.mark";

impl Store {
    /// Returns the value of a setting, if it has one.
    pub async fn setting(&self, project: &Project, name: &str) -> Result<Option<Json>, StoreError> {
        check(name)?;
        let (key, name) = (project.key, name.to_owned());
        self.read(move |tx| {
            let found = tx.first(GET, &[key.into(), (&name).into()])?;
            found.map(|row| parsed(&row, 0, &name)).transpose()
        })
        .await
    }

    /// Gives a setting a value, in the place of the one that it had.
    pub async fn set_setting(
        &self,
        project: &Project,
        name: &str,
        value: &Json,
    ) -> Result<(), StoreError> {
        check(name)?;
        let (project, name, value) = (project.clone(), name.to_owned(), value.to_string());
        self.write(move |tx| set(tx, &project, &name, &value)).await
    }

    /// Changes a setting by what it is now, with nobody in between; nothing changes where `change` gives nothing.
    pub async fn change_setting<F>(
        &self,
        project: &Project,
        name: &str,
        change: F,
    ) -> Result<(), StoreError>
    where
        F: Fn(Option<Json>) -> Option<Json> + Send + 'static,
    {
        check(name)?;
        let (project, name) = (project.clone(), name.to_owned());
        self.write(move |tx| {
            project::lock(tx, project.key)?;
            let found = tx.first(GET, &[project.key.into(), (&name).into()])?;
            let now = found.map(|row| parsed(&row, 0, &name)).transpose()?;
            match change(now) {
                Some(value) => set(tx, &project, &name, &value.to_string()),
                None => Ok(()),
            }
        })
        .await
    }

    /// Returns all settings of a project in the order of their names.
    pub async fn settings(&self, project: &Project) -> Result<Vec<(String, Json)>, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let rows = tx.query(LIST, &[key.into()])?;
            let setting = |row: &Row| {
                let name = row.text(0)?.to_owned();
                let value = parsed(row, 1, &name)?;
                Ok((name, value))
            };
            rows.iter().map(setting).collect()
        })
        .await
    }
}

/// The event of a setting that has another value.
const CHANGED: &str = "setting:changed";

fn set(tx: &mut dyn Tx, project: &Project, name: &str, value: &str) -> Result<(), StoreError> {
    project::lock(tx, project.key)?;
    let at = tx.now()?;
    let mut values: Vec<Value<'_>> = vec![project.key.into(), name.into(), value.into(), at.into()];
    let mark = mark::of("setting", &values);
    let facts = [("name", name.into()), ("mark", mark::digits(&mark).into())];
    values.push(mark.into());
    tx.execute(SET, &values)?;
    let event = Event::new(CHANGED, facts, format!("setting {name} is changed"));
    event::append(tx, project, &[event.into()]).map(|_| ())
}

fn parsed(row: &Row, at: usize, name: &str) -> Result<Json, StoreError> {
    serde_json::from_str(row.text(at)?)
        .map_err(|error| row.damaged(format!("setting `{name}` is not JSON: {error}")))
}

/// Refuses a name that is not of the form `<namespace>.<lowerCamelName>`.
fn check(name: &str) -> Result<(), StoreError> {
    if is_name(name) {
        return Ok(());
    }
    Err(StoreError::refused(format!(
        "`{name}` is not a valid name of a setting; one reads like `scope.defaultExclude`"
    )))
}

/// Tells whether a name is of the form `<namespace>.<lowerCamelName>`.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let is_lower = |part: &str| !part.contains(|c: char| c.is_ascii_uppercase());
    name.split_once('.')
        .is_some_and(|(space, rest)| is_part(space) && is_lower(space) && is_part(rest))
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_have_a_space_and_a_lower_camel_name() {
        for good in ["scope.defaultExclude", "a.b", "dod2.requiredChecks"] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "", "scope", "scope.", ".a", "a.B", "A.b", "aB.c", "a.b.c", "a.b-c", "a.ü",
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
