//! What an agent reads first: paths below the root.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Prepared, Surroundings, paths, texts};
use crate::Error;

const FIELD: &str = "read_first";

/// Puts the paths of the field `read_first` into their normal form, sorted and each once.
pub(super) fn read_first(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let Some(list) = texts(&prepared.fields, FIELD)? else {
        return Ok(());
    };
    let mut sorted = BTreeMap::new();
    for (at, path) in list.into_iter().enumerate() {
        let field = format!("{FIELD}[{at}]");
        let normal = paths::entry_point(&field, path)?;
        sorted.entry(normal).or_insert((field, path.to_owned()));
    }
    for (at, (normal, (field, path))) in sorted.iter().enumerate() {
        prepared.trace(format!("{FIELD}[{at}]"), normal, field, path);
    }
    let sorted: Value = sorted.into_keys().collect();
    prepared.fields.insert(FIELD.to_owned(), sorted);
    Ok(())
}
