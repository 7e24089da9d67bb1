//! The scope of a run: which paths may be written, and which may not be touched.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::environment::profile;
use super::{Prepared, Surroundings, texts};
use crate::Error;
use crate::scope::ScopeGlobs;

/// Texts by their bytes, each once, with the field in which it came first.
type Sorted = BTreeMap<String, String>;

/// Fills the fields `scope.write`, by default with the write scope of the task, and `scope.exclude`, to which the profile
/// adds; patterns are checked and sorted, each is there once.
pub(super) fn scope(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let fields = &prepared.fields;
    profile(fields)?;
    let of_task = patterns(fields, "task.write_scope")?;
    let write = match patterns(fields, "scope.write")? {
        Some(own) => own,
        None => of_task.unwrap_or_default(),
    };
    let mut exclude = Sorted::new();
    for path in ["profile.default_exclude", "scope.exclude"] {
        for (text, field) in patterns(fields, path)?.into_iter().flatten() {
            exclude.entry(text).or_insert(field);
        }
    }
    for (name, patterns) in [("write", write), ("exclude", exclude)] {
        for (at, (text, field)) in patterns.iter().enumerate() {
            prepared.trace(format!("scope.{name}[{at}]"), text, field, text);
        }
        let patterns: Value = patterns.into_keys().collect();
        prepared.object("scope")?.insert(name.to_owned(), patterns);
    }
    Ok(())
}

/// Returns the patterns of a list, which must be in the dialect of scopes.
fn patterns(fields: &Map<String, Value>, path: &str) -> Result<Option<Sorted>, Error> {
    let Some(list) = texts(fields, path)? else {
        return Ok(None);
    };
    ScopeGlobs::new(path, &list)?;
    let mut sorted = Sorted::new();
    for (at, text) in list.into_iter().enumerate() {
        let field = || format!("{path}[{at}]");
        sorted.entry(text.to_owned()).or_insert_with(field);
    }
    Ok(Some(sorted))
}
