//! Input documents against the JSON Schema that a recipe declares.
//!
//! Problems name the field by its path (`context[0].name`), what was found and what is allowed.

mod words;
mod work;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::error::line_of;
use crate::{Error, ErrorKind};

/// A compiled JSON Schema.
#[derive(Debug)]
pub struct Schema {
    /// The file that errors name.
    file: String,
    document: Value,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let document = crate::document::json(text).map_err(|error| {
            Error::new(ErrorKind::BadRecipe, format!("bad JSON: {}", error.reason))
                .at(file, error.line)
        })?;
        let validator = jsonschema::options()
            .with_retriever(NothingRemote)
            .build(&document)
            .map_err(|error| {
                let pointer = error.instance_path().as_str();
                let detail = words::sentence(&error, &format!("`{}`", field_path(pointer)));
                Error::new(ErrorKind::BadRecipe, format!("bad JSON Schema: {detail}"))
                    .at(file, key_line(text, pointer))
            })?;
        Ok(Self {
            file: file.to_owned(),
            document,
            validator,
        })
    }

    /// Returns the schema as it was written.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the names of the top-level fields, in the order of the schema.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        properties(&self.document)
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
    }

    /// Tells whether it takes no other fields than it declares.
    pub(crate) fn is_closed(&self) -> bool {
        self.document.get("additionalProperties") == Some(&Value::Bool(false))
    }

    /// Returns the default that the schema declares for a field, named by its dotted path.
    pub(crate) fn default_of(&self, path: &str) -> Option<&Value> {
        let mut steps = path.split('.');
        let field = steps.try_fold(&self.document, |schema, step| properties(schema)?.get(step))?;
        field.get("default")
    }

    /// Sets the default of a field; one that the schema does not have, or does not allow, is an error.
    pub(crate) fn set_default(&mut self, name: &str, value: Value) -> Result<(), Error> {
        let known = || properties(&self.document).is_some_and(|known| known.contains_key(name));
        if !known() {
            let detail = format!("the schema has no field `{name}`");
            return Err(Error::new(ErrorKind::BadRecipe, detail).expecting(name, self.fields()));
        }
        let alone = Value::Object([(name.to_owned(), value.clone())].into_iter().collect());
        let at = format!("/{name}");
        let mut problems = self.problems(&alone).into_iter();
        if let Some(problem) = problems.find(|problem| problem.instance_path.starts_with(&at)) {
            return Err(problem.error);
        }
        let field = self
            .document
            .get_mut("properties")
            .and_then(|all| all.get_mut(name));
        if let Some(Value::Object(field)) = field {
            field.insert("default".to_owned(), value);
        }
        Ok(())
    }

    /// Fails if it would take too long to check a document.
    fn check_work(&self, document: &Value) -> Result<(), Error> {
        work::check(&self.document, document).map_err(|work::TooMuch| {
            let detail = "takes too many steps to check: its parts refer to each other too often";
            Error::new(ErrorKind::BadRecipe, detail).at(self.file.as_str(), None)
        })
    }

    /// Checks an input and fills in the defaults that the schema declares.
    pub fn apply(&self, input: &Value) -> Result<Map<String, Value>, Error> {
        self.check_work(input)?;
        let mut problems = self
            .validator
            .iter_errors(input)
            .map(|error| self.problem(&error, "the input"));
        if let Some(first) = problems.next() {
            return Err(problems.fold(first, |error, next| error.because(next.detail())));
        }
        let mut filled = input.clone();
        fill(&self.document, &mut filled);
        match filled {
            Value::Object(fields) => Ok(fields),
            other => Err(Error::new(
                ErrorKind::BadInput,
                format!("expected an object, found {}", type_name(&other)),
            )),
        }
    }

    /// Returns everything in which a document does not fit.
    pub fn problems(&self, document: &Value) -> Vec<Misfit> {
        if let Err(error) = self.check_work(document) {
            return vec![Misfit {
                instance_path: String::new(),
                schema_path: String::new(),
                error,
            }];
        }
        let errors = self.validator.iter_errors(document);
        errors
            .map(|error| Misfit {
                instance_path: error.instance_path().as_str().to_owned(),
                schema_path: error.schema_path().as_str().to_owned(),
                error: self.problem(&error, "the document"),
            })
            .collect()
    }

    fn problem(&self, error: &ValidationError<'_>, whole: &str) -> Error {
        let pointer = error.instance_path().as_str();
        let at = field_path(pointer);
        let within = |name: &str| {
            if at.is_empty() {
                name.to_owned()
            } else {
                format!("{at}.{name}")
            }
        };
        let here = if at.is_empty() {
            whole.to_owned()
        } else {
            format!("`{at}`")
        };
        let bad = |detail: String| Error::new(ErrorKind::BadInput, detail);
        let instance = error.instance();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let found = unexpected.first().map(String::as_str).unwrap_or_default();
                bad(format!("unknown field `{}`", within(found)))
                    .expecting(found, self.allowed_at(pointer))
            }
            ValidationErrorKind::Required { property } => bad(format!(
                "missing field `{}`",
                within(property.as_str().unwrap_or_default())
            )),
            ValidationErrorKind::Type { kind } => bad(format!(
                "{here}: expected {}, found {}",
                type_names(kind),
                type_name(instance)
            )),
            ValidationErrorKind::Enum { options } => none_of(&here, instance, options),
            ValidationErrorKind::Pattern { .. } if is_blank(instance) => {
                let how = if instance.as_str() == Some("") {
                    "empty"
                } else {
                    "blank"
                };
                bad(format!("{here} must not be {how}"))
            }
            _ => bad(words::sentence(error, &here)),
        }
    }

    /// Returns the fields that the schema declares at a JSON pointer into the input.
    fn allowed_at(&self, pointer: &str) -> Vec<String> {
        let mut steps = pointer.split('/').skip(1);
        let schema = steps.try_fold(&self.document, |schema, step| {
            let field = properties(schema).and_then(|fields| fields.get(step));
            field
                .or_else(|| schema.get("items"))
                .or_else(|| schema.get("additionalProperties"))
        });
        schema
            .and_then(properties)
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect()
    }
}

/// One thing in which a document does not fit a schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Misfit {
    /// The JSON pointer to the value.
    pub instance_path: String,
    /// The JSON pointer to the rule.
    pub schema_path: String,
    /// What is wrong, and what would be allowed.
    pub error: Error,
}

/// A schema may not fetch anything.
struct NothingRemote;

impl jsonschema::Retrieve for NothingRemote {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is outside this schema, which is not allowed").into())
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn fill(schema: &Value, value: &mut Value) {
    let Value::Object(object) = value else {
        return;
    };
    for (name, field) in properties(schema).into_iter().flatten() {
        if let Some(inner) = object.get_mut(name) {
            fill(field, inner);
            continue;
        }
        // Only what can be nothing but an object is made one, to hold the defaults of its fields.
        let object_only = || {
            let kind = field.get("type").and_then(Value::as_str);
            kind == Some("object") && properties(field).is_some()
        };
        let nested = || object_only().then(|| Value::Object(Map::new()));
        if let Some(mut inner) = field.get("default").cloned().or_else(nested) {
            fill(field, &mut inner);
            object.insert(name.clone(), inner);
        }
    }
}

/// Turns `/context/0/name` into `context[0].name`.
fn field_path(pointer: &str) -> String {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&step);
        }
    }
    path
}

/// Returns the line of the last key of a JSON pointer, as far as the text shows it.
fn key_line(text: &str, pointer: &str) -> usize {
    let mut at = 0;
    for step in pointer.split('/').skip(1) {
        if let Some(offset) = text[at..].find(&format!("\"{step}\"")) {
            at += offset;
        }
    }
    line_of(text, at)
}

/// Makes the error of a value that is none of those that are allowed.
fn none_of(here: &str, found: &Value, options: &Value) -> Error {
    let found = found
        .as_str()
        .map_or_else(|| found.to_string(), str::to_owned);
    let allowed = options.as_array().into_iter().flatten();
    let allowed: Vec<&str> = allowed.filter_map(Value::as_str).collect();
    let list: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
    let list = list.join(", ");
    let detail = format!("{here}: expected one of {list}, found `{found}`");
    Error::new(ErrorKind::BadInput, detail).expecting(&found, allowed)
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(many) => many
            .iter()
            .map(|one| one.to_string())
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

/// Returns what kind of value it is, in the words of JSON.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let document = json!({
            "type": "object", "additionalProperties": false, "required": ["name"],
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "match": {"enum": ["key", "substring"], "default": "key"},
                "limits": {"type": "object", "additionalProperties": false, "properties": {"bytes": {"type": "integer", "default": 7}}},
                "context": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {"name": {"type": "string"}, "content": {"type": ["string", "null"]}}}}
            }
        });
        Schema::parse(&document.to_string(), "input.schema.json").unwrap()
    }

    #[test]
    fn every_problem_names_its_field() {
        for (input, text) in [
            (json!({}), "missing field `name`"),
            (json!({"name": ""}), "`name` must not be empty"),
            (json!({"name": "a", "nmae": 1}), "unknown field `nmae`"),
            (json!({"name": 1}), "`name`: expected string, found number"),
            (
                json!({"name": "a", "match": "kye"}),
                "`match`: expected one of `key`, `substring`, found `kye`",
            ),
            (
                json!({"name": "a", "context": [{"nam": 1}]}),
                "missing field `context[0].name`\n  unknown field `context[0].nam`",
            ),
            (
                json!({"name": "a", "context": [{"name": "a", "content": 1}]}),
                "`context[0].content`: expected null or string, found number",
            ),
            (json!([]), "the input: expected object, found array"),
        ] {
            let error = schema().apply(&input).unwrap_err();
            let mut lines: Vec<_> = error
                .to_string()
                .lines()
                .map(|line| line.trim().to_owned())
                .collect();
            let mut expected: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
            lines.sort();
            expected.sort();
            assert_eq!(lines, expected);
        }
        let error = schema()
            .apply(&json!({"name": "a", "context": [{"name": "n", "contnt": 1}]}))
            .unwrap_err();
        assert_eq!(
            (error.found(), error.allowed()),
            (
                Some("contnt"),
                ["name".to_owned(), "content".to_owned()].as_slice()
            )
        );
    }

    #[test]
    fn defaults_are_filled_in_at_every_depth() {
        let filled = schema().apply(&json!({"name": "a"})).unwrap();
        assert_eq!(
            Value::Object(filled),
            json!({"name": "a", "match": "key", "limits": {"bytes": 7}})
        );
    }

    /// Returns a schema of so many definitions, each of which is made of what `next` says of the next one.
    fn chain(length: usize, next: impl Fn(Value) -> Value) -> Schema {
        let mut definitions: Map<String, Value> = (0..length)
            .map(|number| {
                let refers = json!({"$ref": format!("#/$defs/d{}", number + 1)});
                (format!("d{number}"), next(refers))
            })
            .collect();
        definitions.insert(format!("d{length}"), json!({"type": "object"}));
        let document = json!({"$ref": "#/%24defs/d0", "$defs": definitions});
        Schema::parse(&document.to_string(), "input.schema.json").unwrap()
    }

    const TOO_MUCH: &str =
        "input.schema.json: takes too many steps to check: its parts refer to each other too often";

    #[test]
    fn a_schema_that_doubles_its_work_is_given_up() {
        for next in [
            |refers: Value| json!({"allOf": [refers, refers]}),
            |refers| json!({"anyOf": [refers, refers]}),
            |refers| json!({"not": refers, "if": refers}),
            |refers| json!({"unevaluatedProperties": false, "allOf": [refers]}),
            |refers| json!({"dependentSchemas": {"a": refers, "b": refers}}),
            |refers| json!({"$anchor": "a", "oneOf": [refers, {"type": "object"}, refers]}),
        ] {
            let schema = chain(30, next);
            assert_eq!(schema.apply(&json!({})).unwrap_err().to_string(), TOO_MUCH);
            let problems = schema.problems(&json!({}));
            assert_eq!(problems[0].error.to_string(), TOO_MUCH);
        }
        // Here the value is what makes it long.
        let both = json!([{"$ref": "#item"}, {"$ref": "#item"}]);
        let deep = json!({"$anchor": "item", "properties": {"a": {"allOf": both}}});
        let deep = Schema::parse(&deep.to_string(), "input.schema.json").unwrap();
        let nested = (0..31).fold(json!({}), |inner, _| json!({"a": inner}));
        assert_eq!(deep.apply(&nested).unwrap_err().to_string(), TOO_MUCH);
        assert!(deep.apply(&json!({"a": {"a": {}}})).is_ok());
        assert!(
            chain(30, |refers| json!({"allOf": [refers]}))
                .apply(&json!({}))
                .is_ok()
        );
    }

    #[test]
    fn a_long_chain_of_definitions_does_not_exhaust_the_stack() {
        for length in [100, 100_000] {
            let schema = chain(length, |refers| refers);
            let applied = schema.apply(&json!({})).map_err(|error| error.to_string());
            let fits = length < 1000;
            assert_eq!(applied.is_ok(), fits, "{applied:?}");
        }
    }

    #[test]
    fn large_inputs_and_schemas_within_schemas_are_checked() {
        let names: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        let schema = json!({"properties": {
            "names": {"items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/name"}]}},
            "schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
            "tree": {"$ref": "tree.json"},
        }, "$defs": {
            "name": {"type": "string"},
            "tree": {"$id": "tree.json", "items": {"$ref": "#/$defs/branch"}, "$defs": {"branch": {"items": {"$ref": "#"}}}},
        }});
        let input = json!({"names": names, "schema": {"type": "string"}, "tree": [[[["x"]]]]});
        let schema = Schema::parse(&schema.to_string(), "input.schema.json").unwrap();
        assert_eq!(Value::Object(schema.apply(&input).unwrap()), input);
    }

    #[test]
    fn a_schema_fetches_nothing() {
        let text = r#"{"$ref": "https://example.invalid/s.json"}"#;
        let error = Schema::parse(text, "s.json").unwrap_err().to_string();
        assert!(error.contains("outside this schema"), "{error}");
    }
}
