//! Several input documents as one, with a record of which of them gave what.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What one of several documents gave to an input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Given {
    /// The document, as a person would name it.
    pub from: String,
    /// The fields that it sets, by their dotted paths.
    pub fields: Vec<String>,
    /// What earlier documents had set and this one replaced, by dotted paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
}

impl Given {
    /// Makes the record of a document that has not given anything yet.
    pub fn new(from: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            ..Self::default()
        }
    }

    /// Records a value that was put at a path, and whether one was there before.
    pub fn put(&mut self, path: &str, value: &Value, is_there: bool) {
        if is_there {
            self.overrides.push(path.to_owned());
        }
        self.leaves(path, value);
    }

    fn leaves(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, field) in fields {
                    self.leaves(&below(path, name), field);
                }
            }
            _ => self.fields.push(path.to_owned()),
        }
    }

    /// Returns the same with other texts in the place of its own.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let all = |texts: &[String]| texts.iter().map(|text| change(text)).collect();
        Self {
            from: change(&self.from),
            fields: all(&self.fields),
            overrides: all(&self.overrides),
        }
    }
}

/// Puts a document over the ones before it: objects are merged field by field, anything else is replaced.
///
/// ```
/// use callsheet::document::{Given, merge};
/// use serde_json::{Value, json};
///
/// let Value::Object(mut fields) = json!({"limits": {"a": 1, "b": 2}, "tags": ["x"]}) else { unreachable!() };
/// let Value::Object(over) = json!({"limits": {"b": 3}, "tags": ["y"]}) else { unreachable!() };
/// let mut given = Given::new("over.yaml");
/// merge(&mut fields, over, &mut given);
/// assert_eq!(Value::Object(fields), json!({"limits": {"a": 1, "b": 3}, "tags": ["y"]}));
/// assert_eq!(given.overrides, ["limits.b", "tags"]);
/// ```
pub fn merge(fields: &mut Map<String, Value>, over: Map<String, Value>, given: &mut Given) {
    merge_at("", fields, over, given);
}

fn merge_at(
    path: &str,
    fields: &mut Map<String, Value>,
    over: Map<String, Value>,
    given: &mut Given,
) {
    for (name, value) in over {
        let path = below(path, &name);
        match (fields.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(over)) => {
                merge_at(&path, inner, over, given);
            }
            (Some(old), value) => {
                given.put(&path, &value, true);
                *old = value;
            }
            (None, value) => {
                given.put(&path, &value, false);
                fields.insert(name, value);
            }
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    /// Merges documents in turn; returns the input and what each gave.
    fn merged(documents: &[Value]) -> (Value, Vec<Given>) {
        let mut fields = Map::new();
        let mut all = Vec::new();
        for (number, document) in documents.iter().enumerate() {
            let mut given = Given::new(number.to_string());
            merge(&mut fields, object(document), &mut given);
            all.push(given);
        }
        (Value::Object(fields), all)
    }

    #[test]
    fn objects_merge_and_everything_else_is_replaced() {
        let (input, given) = merged(&[
            json!({"a": {"b": 1, "c": {"d": [1, 2]}}, "e": "x", "f": {"g": 1}}),
            json!({"a": {"c": {"d": [3]}, "n": {}}, "e": {"y": null}, "f": 5}),
            json!({"f": {"g": 2}, "a": {}}),
        ]);
        assert_eq!(
            input,
            json!({"a": {"b": 1, "c": {"d": [3]}, "n": {}}, "e": {"y": null}, "f": {"g": 2}})
        );
        let told: Vec<(&[String], &[String])> = given
            .iter()
            .map(|given| (&given.fields[..], &given.overrides[..]))
            .collect();
        let words = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
        assert_eq!(told[0], (&words("a.b a.c.d e f.g")[..], &[][..]));
        assert_eq!(
            told[1],
            (&words("a.c.d a.n e.y f")[..], &words("a.c.d e f")[..])
        );
        assert_eq!(told[2], (&words("f.g")[..], &words("f")[..]));
    }
}
