//! More input belongs to a run that continues another, and to no other run.

use serde_json::Value;

use super::{Prepared, Surroundings};
use crate::source::lookup;
use crate::{Error, ErrorKind};

/// Checks that the field `additional_input` is there where `previous.kind` is `continue`, and only there.
pub(super) fn continuation(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let bad = |detail: &str| Err(Error::new(ErrorKind::BadInput, detail));
    let text = |path| lookup(&prepared.fields, path).and_then(Value::as_str);
    let continues = text("previous.kind") == Some("continue");
    match (continues, text("additional_input")) {
        (false, None) => Ok(()),
        (false, Some(_)) => bad("`additional_input` is for `previous.kind` `continue` only"),
        (true, None) => {
            bad("missing field `additional_input`; `previous.kind` `continue` needs it")
        }
        (true, Some(text)) if crate::text::strip(text).is_empty() => {
            bad("`additional_input` must not be blank")
        }
        (true, Some(_)) => Ok(()),
    }
}
