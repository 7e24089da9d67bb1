//! Input documents: a JSON or YAML file, or stdin, with fields set on the command line over it.

use std::io::Read as _;

use callsheet::Recipe;
use callsheet::prepare::Preparation;
use serde_json::{Map, Value};

use crate::failure::{Failure, cause_text, without_place};
use crate::profiles;
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
        project.settings.prompt.fill(recipe, &mut fields);
        if recipe.prepare == Preparation::Run {
            profiles::fill(project, &mut fields)?;
        }
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
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let message = error.to_string();
        let cause = without_place(&message);
        Failure::input(format!(
            "{}:{}: malformed JSON: {cause}",
            shown(name),
            error.line()
        ))
    })
}

fn parse_yaml(name: &str, text: &str) -> Result<Value, Failure> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |place| place.line());
        let message = error.to_string();
        let cause = without_place(&message);
        // Advice for whoever calls the parser helps nobody who writes the file.
        let cause = cause.split(", set DuplicateKeyPolicy").next();
        let cause = cause.unwrap_or_default();
        Failure::input(format!("{}:{line}: malformed YAML: {cause}", shown(name)))
    })
}

/// Sets a field from `key=text` or `key:=json`; dots in the key go deeper.
fn set(fields: &mut Map<String, Value>, define: &str) -> Result<(), Failure> {
    let bad = |why: &str| {
        Failure::input(format!("`-D {define}`: {why}"))
            .hint("write `-D key=text` or `-D key:=json`, with dots for fields in fields")
    };
    let (key, value) = define
        .split_once('=')
        .ok_or_else(|| bad("there is no `=`"))?;
    let (key, value) = match key.strip_suffix(':') {
        None => (key, Value::from(value)),
        Some(key) => {
            let parsed =
                serde_json::from_str(value).map_err(|_| bad("what follows `:=` is no JSON"))?;
            (key, parsed)
        }
    };
    let mut steps: Vec<&str> = key.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(bad("the key is empty"));
    }
    let last = steps.pop().unwrap_or_default();
    let mut object = fields;
    for step in steps {
        let inner = object
            .entry(step)
            .or_insert_with(|| Value::Object(Map::new()));
        object = inner
            .as_object_mut()
            .ok_or_else(|| bad(&format!("`{step}` is no object")))?;
    }
    object.insert(last.to_owned(), value);
    Ok(())
}

/// Returns the fields that `-D` sets, for commands without a recipe.
pub(crate) fn defined(defines: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut fields = Map::new();
    for define in defines {
        let (key, _) = define.split_once('=').unwrap_or((define, ""));
        let key = key.strip_suffix(':').unwrap_or(key).to_owned();
        let mut one = Map::new();
        set(&mut one, &define.replacen(&key, "value", 1))?;
        fields.extend(one.remove("value").map(|value| (key, value)));
    }
    Ok(fields)
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
}
