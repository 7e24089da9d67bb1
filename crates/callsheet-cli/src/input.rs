//! Input documents: a JSON or YAML file, or stdin, with fields set on the command line over it.

use std::io::Read as _;

use callsheet::Recipe;
use callsheet::document::{self, Fault, Malformed};
use serde_json::{Map, Value};

use crate::failure::{Failure, cause_text};
use crate::project::Project;

/// What somebody asks a recipe for, before the settings of the project fill the rest.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    fields: Map<String, Value>,
    /// The file that they came from, for errors.
    pub(crate) file: Option<String>,
}

impl From<Map<String, Value>> for Document {
    fn from(fields: Map<String, Value>) -> Self {
        Self { fields, file: None }
    }
}

/// Returns what a document and the command line set; the command line wins.
pub(crate) fn read(document: Option<&str>, defines: &[String]) -> Result<Document, Failure> {
    let mut fields = match document {
        None => Map::new(),
        Some(name) => match parse(name, &text(name)?)? {
            Value::Object(fields) => fields,
            other => {
                return Err(Failure::input(format!(
                    "{}: {}",
                    shown(name),
                    not_an_object(&other)
                )));
            }
        },
    };
    for define in defines {
        set(&mut fields, define)?;
    }
    let file = document.filter(|name| *name != "-").map(str::to_owned);
    Ok(Document { fields, file })
}

impl Document {
    /// Returns the input of a recipe: what is set here, over the settings of the project.
    pub(crate) fn complete(self, project: &Project, recipe: &Recipe) -> Result<Value, Failure> {
        let mut fields = self.fields;
        let settings = &project.settings.prompt;
        settings.complete(recipe, &project.open()?, &mut fields)?;
        Ok(Value::Object(fields))
    }
}

fn not_an_object(value: &Value) -> String {
    let kind = match value {
        Value::Array(_) => "a list",
        Value::Null => "nothing",
        _ => "a single value",
    };
    format!("an input is an object with fields, found {kind}")
}

fn shown(name: &str) -> &str {
    if name == "-" { "stdin" } else { name }
}

/// Returns a text of the command line, or what the file behind an `@` holds; `@-` is stdin.
pub(crate) fn given(value: &str) -> Result<String, Failure> {
    match value.strip_prefix('@') {
        Some(file) => text(file),
        None => Ok(value.to_owned()),
    }
}

fn text(name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(name).map(|content| bytes = content)
    };
    read.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => {
            Failure::input(format!("{}: {}", shown(name), cause_text(&cause)))
        }
        _ => Failure::refused(&format!("cannot read `{}`", shown(name)), &cause),
    })?;
    String::from_utf8(bytes).map_err(|_| Failure::input(format!("{}: no UTF-8 text", shown(name))))
}

/// Parses a document; a name that does not tell, or stdin, is JSON if it begins like it.
fn parse(name: &str, text: &str) -> Result<Value, Failure> {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let json = match ending.as_deref() {
        Some("json") => true,
        Some("yaml" | "yml") => false,
        _ => text.trim_start().starts_with(['{', '[']),
    };
    if json {
        parse_json(name, text)
    } else {
        parse_yaml(name, text)
    }
}

fn parse_json(name: &str, text: &str) -> Result<Value, Failure> {
    document::json(text).map_err(|malformed| not_read(name, "JSON", &malformed))
}

fn parse_yaml(name: &str, text: &str) -> Result<Value, Failure> {
    document::yaml(text).map_err(|malformed| not_read(name, "YAML", &malformed))
}

/// Returns the failure of a document that cannot be read, with its line.
pub(crate) fn not_read(name: &str, format: &str, malformed: &Malformed) -> Failure {
    let (line, reason) = (malformed.line.unwrap_or(1), &malformed.reason);
    let message = format!("{}:{line}: malformed {format}: {reason}", shown(name));
    hinted(Failure::input(message), malformed)
}

fn hinted(failure: Failure, malformed: &Malformed) -> Failure {
    match malformed.fault {
        Fault::DuplicateKey => failure.hint("only one of the values would count; remove the other"),
        _ => failure,
    }
}

/// Returns the key and the value of `key=text` or `key:=json`.
fn definition(define: &str) -> Result<(&str, Value), Failure> {
    let (key, value) = define
        .split_once('=')
        .ok_or_else(|| bad(define, "there is no `=`"))?;
    let (key, value) = match key.strip_suffix(':') {
        None => (key, Value::from(value)),
        Some(key) => match document::json(value) {
            Ok(parsed) => (key, parsed),
            Err(malformed) => {
                let why = format!("what follows `:=` is not JSON: {}", malformed.reason);
                return Err(hinted(bad(define, &why), &malformed));
            }
        },
    };
    if key.is_empty() {
        return Err(bad(define, "the key is empty"));
    }
    Ok((key, value))
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
    Failure::input(format!("`-D {shown}{rest}`: {why}"))
        .hint("write `-D key=text` or `-D key:=json`, with dots for fields in fields")
}

/// Sets a field from `key=text` or `key:=json`; dots in the key go deeper.
fn set(fields: &mut Map<String, Value>, define: &str) -> Result<(), Failure> {
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
            .ok_or_else(|| bad(define, &format!("`{step}` is no object")))?;
    }
    object.insert(last.to_owned(), value);
    Ok(())
}

/// Returns the fields that `-D` sets, for commands without a recipe: dots belong to the name.
pub(crate) fn defined(defines: &[String]) -> Result<Map<String, Value>, Failure> {
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
            set(&mut fields, define).unwrap();
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
            set(&mut fields, &format!("a.b:=[{number}]")).unwrap();
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
