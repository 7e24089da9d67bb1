//! Definitions of the command line: `key=text`, `key:=json`, and either of them from a file.

use callsheet::document::{self, Given};
use serde_json::{Map, Value};

use super::{STDIN, Text, hinted, parse, readers, refuse_two_readers, text};
use crate::failure::Failure;

/// A definition before its value is read.
struct Written<'a> {
    key: &'a str,
    /// Whether the value is JSON, or YAML where it is in a file, and not text.
    is_document: bool,
    value: Text<'a>,
}

impl<'a> Written<'a> {
    fn of(define: &'a str) -> Option<Self> {
        let (key, value) = define.split_once('=')?;
        let document = key.strip_suffix(':');
        let value = match (document, Text::of(value)) {
            // No JSON begins with an `@`, so that there is nothing to be escaped.
            (Some(_), Text::Written(_)) => Text::Written(value),
            (_, value) => value,
        };
        Some(Self {
            key: document.unwrap_or(key),
            is_document: document.is_some(),
            value,
        })
    }

    fn read(&self, define: &str) -> Result<Value, Failure> {
        match (self.is_document, &self.value) {
            (false, Text::Written(text)) => Ok(Value::from(*text)),
            (false, Text::File(name)) => Ok(Value::from(text(name)?)),
            (true, Text::File(name)) => parse(name, &text(name)?),
            (true, Text::Written(json)) => document::json(json).map_err(|malformed| {
                let why = format!("what follows `:=` is not JSON: {}", malformed.reason);
                hinted(bad(define, &why), &malformed)
            }),
        }
    }
}

/// Returns a definition that reads stdin, as a person would name it.
pub(super) fn reader(define: &str) -> Option<String> {
    let written = Written::of(define)?;
    matches!(written.value, Text::File(STDIN)).then(|| format!("`-D {define}`"))
}

/// Returns the key and the value of a definition.
fn definition(define: &str) -> Result<(&str, Value), Failure> {
    let written = Written::of(define).ok_or_else(|| bad(define, "there is no `=`"))?;
    if written.key.is_empty() {
        return Err(bad(define, "the key is empty"));
    }
    Ok((written.key, written.read(define)?))
}

fn bad(define: &str, why: &str) -> Failure {
    /// The characters of a definition that are shown.
    const SHOWN: usize = 80;
    let shown: String = define.chars().take(SHOWN).collect();
    let rest = if shown.len() < define.len() {
        "…"
    } else {
        ""
    };
    Failure::input(format!("`-D {shown}{rest}`: {why}")).hint(
        "write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields",
    )
}

/// Sets a field from a definition, and records that; dots in the key go deeper.
pub(super) fn set(
    fields: &mut Map<String, Value>,
    define: &str,
    given: &mut Given,
) -> Result<(), Failure> {
    let (key, value) = definition(define)?;
    let mut steps: Vec<&str> = key.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(bad(define, "the key is empty"));
    }
    if steps.len() > document::DEPTH_LIMIT {
        return Err(bad(define, &document::too_deep()));
    }
    let last = steps.pop().unwrap_or_default();
    let mut object = fields;
    for step in steps {
        let inner = object
            .entry(step)
            .or_insert_with(|| Value::Object(Map::new()));
        object = inner
            .as_object_mut()
            .ok_or_else(|| bad(define, &format!("`{step}` is not an object")))?;
    }
    given.put(key, &value, object.contains_key(last));
    object.insert(last.to_owned(), value);
    Ok(())
}

/// Returns the fields that `-D` sets, for commands without a recipe: dots belong to the name.
pub(crate) fn defined(defines: &[String]) -> Result<Map<String, Value>, Failure> {
    refuse_two_readers(&readers(&[], defines))?;
    let definitions = defines.iter().map(|define| definition(define));
    definitions
        .map(|definition| definition.map(|(key, value)| (key.to_owned(), value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_set_at_any_depth() {
        let mut fields = Map::new();
        for define in ["a.b=x=y", "a.c:=[1,{\"d\":null}]", "e:=true", "e2="] {
            set(&mut fields, define, &mut Given::default()).unwrap();
        }
        assert_eq!(
            Value::Object(fields),
            json!({"a": {"b": "x=y", "c": [1, {"d": null}]}, "e": true, "e2": ""})
        );
        let names = defined(&["a.b=1".to_owned(), "c:=2".to_owned()]).unwrap();
        assert_eq!(
            Value::Object(names),
            json!({"a.b": "1", "c": 2}),
            "template names may hold dots"
        );
    }

    #[test]
    fn numbers_of_definitions_keep_their_digits() {
        for number in ["1.10", "12345678901234567890123", "1E5", "-0", "0.50"] {
            let mut fields = Map::new();
            set(
                &mut fields,
                &format!("a.b:=[{number}]"),
                &mut Given::default(),
            )
            .unwrap();
            let names = defined(&[format!("x:={{\"y\": {number}}}")]).unwrap();
            assert_eq!(
                Value::Object(fields).to_string(),
                format!("{{\"a\":{{\"b\":[{number}]}}}}")
            );
            assert_eq!(
                Value::Object(names).to_string(),
                format!("{{\"x\":{{\"y\":{number}}}}}")
            );
        }
    }
}
