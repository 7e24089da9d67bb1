//! What an input gives as it is, and may leave out.

use serde_json::{Map, Value};

use super::blocks::input_piece;
use super::{Prepared, Surroundings};
use crate::schema::type_name;
use crate::source::lookup;
use crate::{Error, ErrorKind};

/// Returns a field of the kind that a function needs; nothing where it is not there.
pub(super) fn field<'a, T>(
    fields: &'a Map<String, Value>,
    path: &str,
    expected: &str,
    taken: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<Option<T>, Error> {
    taken_as(lookup(fields, path), || path.to_owned(), expected, taken)
}

/// Returns a value of the kind that a function needs; null is no value.
pub(super) fn taken_as<'a, T>(
    value: Option<&'a Value>,
    path: impl FnOnce() -> String,
    expected: &str,
    taken: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<Option<T>, Error> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match taken(value) {
        None => Err(misfit(&path(), expected, value)),
        some => Ok(some),
    }
}

/// Returns the error for a field of another kind than a function needs.
pub(super) fn misfit(path: &str, expected: &str, found: &Value) -> Error {
    let detail = format!("`{path}`: expected {expected}, found {}", type_name(found));
    Error::new(ErrorKind::BadInput, detail)
}

/// Makes the text of `rules`; without rules nothing is missing.
pub(super) fn rules(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let text = field(&prepared.fields, "rules", "string", Value::as_str)?;
    let piece = text.and_then(|text| input_piece("rules", "rules", text));
    let pieces = piece.into_iter().collect();
    prepared.pieces.insert("rules".to_owned(), pieces);
    Ok(())
}

/// Hands the tools over that go with the prompt.
pub(super) fn tools(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let tools = field(&prepared.fields, "tools", "array", Value::as_array)?;
    prepared.tools = tools.cloned().unwrap_or_default();
    Ok(())
}
