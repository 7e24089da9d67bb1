//! Who the agent is.

use serde_json::{Map, Value, json};

use super::fields::{Fields, missing};
use super::printer::Printer;
use crate::Error;

const LAYER: &str = "persona-profile";

/// Adds whether the agent has a prompt of its own, and the profile that is printed otherwise.
pub(super) fn persona(
    fields: Fields<'_>,
    mode: &str,
    printer: &mut Printer<'_>,
    values: &mut Map<String, Value>,
) -> Result<(), Error> {
    let own = fields.text("agentDefinition.systemPrompt").is_some();
    values.insert("own_prompt".to_owned(), json!(own));
    if own || mode == "chat" {
        return Ok(());
    }
    fields
        .get("agentDefinition")
        .ok_or_else(|| missing("agentDefinition"))?;
    fields
        .get("agentDefinition.persona")
        .ok_or_else(|| missing("agentDefinition.persona"))?;
    let name = fields
        .text("agentDefinition.metadata.name")
        .or_else(|| fields.text("agentDefinition.id"))
        .ok_or_else(|| missing("agentDefinition.metadata.name"))?;
    let mut profile = Map::new();
    profile.insert("name".to_owned(), json!(printer.line(LAYER, "name", name)));
    for (key, path) in [
        ("title", "agentDefinition.metadata.title"),
        ("role", "agentDefinition.persona.role"),
        ("identity", "agentDefinition.persona.identity"),
        (
            "communication_style",
            "agentDefinition.persona.communication_style",
        ),
    ] {
        let text = fields.text(path).unwrap_or_default();
        profile.insert(key.to_owned(), json!(printer.line(LAYER, key, text)));
    }
    let principles = principles(fields.get("agentDefinition.persona.principles"));
    let actions = fields.list("agentDefinition.critical_actions");
    for (key, items) in [("principles", principles), ("critical_actions", actions)] {
        let lines: Vec<String> = items
            .into_iter()
            .filter(|item| !item.trim().is_empty())
            .map(|item| printer.line(LAYER, key, item))
            .collect();
        profile.insert(key.to_owned(), json!(lines));
    }
    values.insert("persona".to_owned(), Value::Object(profile));
    Ok(())
}

/// A text has one principle per line, with or without a bullet.
fn principles(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => text
            .lines()
            .map(str::trim)
            .map(|line| line.strip_prefix("- ").map_or(line, str::trim_start))
            .collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
