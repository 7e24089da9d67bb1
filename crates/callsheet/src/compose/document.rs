//! The document of a prompt: everything about it in one JSON value.

use serde_json::{Map, Value, json};

use super::message::Cut;
use crate::manifest::Manifest;
use crate::recipe::Shape;
use crate::source_map::MapSpan;

/// The name and version of the shape of a document.
pub(crate) const SCHEMA: &str = "callsheet.composition/1";

/// Returns the document of a prompt from what is known of it.
pub(crate) fn document(
    manifest: &Manifest,
    spans: &[MapSpan],
    cut: &Cut,
    text: &str,
    tools: &[Value],
) -> Value {
    let mut document = Map::new();
    let mut set = |key: &str, value: Value| document.insert(key.to_owned(), value);
    set("schema", json!(SCHEMA));
    set("recipe", json!(manifest.recipe.name));
    set("fingerprint", json!(manifest.fingerprint));
    set("bytes", json!(manifest.bytes));
    set("tokens", json!(manifest.tokens));
    set("encoding", json!(manifest.encoding));
    set("sections", json!(manifest.sections));
    if !manifest.redactions.is_empty() {
        set("redactions", json!(manifest.redactions));
    }
    set("omissions", json!(manifest.omissions));
    set("events", json!(manifest.events));
    set("spans", json!(spans));
    match cut.shape {
        Shape::Text => {
            set("text", json!(text));
        }
        Shape::System => {
            set("system_prompt", json!(text));
            set("tools", Value::from(tools));
        }
        Shape::Messages => {
            set("text", json!(text));
            set("messages", json!(cut.messages(text)));
        }
    }
    Value::Object(document)
}
