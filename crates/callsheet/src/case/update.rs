//! Writing into a case what was composed.

use serde_json::{Map, Value, json};

use super::{Case, Reported, Text};
use crate::recipe::Shape;
use crate::{Composition, Error, document};

impl Case {
    /// Returns the text of a case with what was composed as its result; the rest stays in its order.
    pub fn updated(text: &str, composed: Result<&Composition, &Error>) -> String {
        let mut fields = match document::json(text) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let mut put = |name: &str, value: Option<Value>| match value {
            // A value in the place of another keeps that place.
            Some(value) => drop(fields.insert(name.to_owned(), value)),
            None => drop(fields.shift_remove(name)),
        };
        let some = |value: &Value| (value != &json!([])).then(|| value.clone());
        let composition = composed.ok();
        let told = composition.map(Reported::of);
        let told = told.as_ref();
        let messages = composition.filter(|one| one.prompt.shape == Shape::Messages);
        let expected = composition.filter(|one| one.prompt.shape != Shape::Messages);
        put("expected", expected.map(|one| Text::written(&one.text)));
        put("messages", messages.map(messages_of));
        let error = composed.err().map(ToString::to_string);
        put("error", error.map(|error| Text::written(&error)));
        put("events", told.and_then(|told| some(&told.events)));
        put("omissions", told.and_then(|told| some(&told.omissions)));
        put("tools", told.and_then(|told| some(&told.tools)));
        // A case has text keys only; serialising it cannot fail.
        let text = serde_json::to_string_pretty(&Value::Object(fields)).unwrap_or_default();
        format!("{text}\n")
    }
}

fn messages_of(composition: &Composition) -> Value {
    let messages = composition.messages().into_iter();
    messages
        .map(|one| json!({"role": one.role, "content": Text::written(&one.content)}))
        .collect()
}
