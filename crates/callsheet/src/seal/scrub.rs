//! Secrets that a prompt must not show must not be sealed beside it either.

use serde_json::Value;

use super::SealedInputs;
use crate::redact::{Redactor, Secrets};

/// A secret of so many bytes is taken out of a field of the input wherever it stands.
const IN_FIELDS: usize = 4;

/// A secret of so many bytes is taken out of any file; a shorter one may be an ordinary word.
const IN_FILES: usize = 8;

/// Takes secrets out of what a prompt was made from; tells whether there were any.
///
/// What a template prints can be a secret by the words around it, so those that the composition came upon are looked for
/// as well as those that tell themselves.
pub(super) fn scrub(sealed: &mut SealedInputs, redactor: &Redactor, secrets: &Secrets) -> bool {
    let mut input = sealed.input().unwrap_or_default();
    fields(&mut input, secrets);
    redactor.value(&mut input);
    sealed.change(&input, |text| {
        // Newlines are normalised before secrets are looked for.
        let mut clean = text.replace("\r\n", "\n");
        let known = secrets.scrub(&mut clean, IN_FILES);
        let clean = redactor.text(&clean).into_owned();
        let found = known || clean != text.replace("\r\n", "\n");
        if found {
            *text = clean;
        }
        found
    })
}

fn fields(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => {
            secrets.scrub(text, IN_FIELDS);
        }
        Value::Number(number) => {
            // A number that a template prints can be a password, too.
            let mut text = number.to_string();
            if secrets.scrub(&mut text, IN_FIELDS) {
                *value = Value::String(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fields(item, secrets)),
        Value::Object(object) => object.values_mut().for_each(|field| fields(field, secrets)),
        _ => {}
    }
}
