//! Events: what happened during a composition that a person should hear of.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that happened, with its facts. One wire form: `{"type", "payload"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The name, such as `injection:warning`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The facts; `message` is a sentence for people.
    pub payload: Map<String, Value>,
}

impl Event {
    /// Makes an event whose payload is `facts` followed by `message`.
    pub fn new<K: Into<String>>(
        kind: impl Into<String>,
        facts: impl IntoIterator<Item = (K, Value)>,
        message: impl Into<String>,
    ) -> Self {
        let mut payload: Map<String, Value> = facts
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect();
        payload.insert("message".to_owned(), Value::String(message.into()));
        Self {
            kind: kind.into(),
            payload,
        }
    }

    /// Returns the sentence for people.
    pub fn message(&self) -> &str {
        self.payload
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}
