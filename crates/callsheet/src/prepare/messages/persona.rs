//! Who the agent is.

use serde_json::{Map, Value, json};

use super::fields::{Fields, missing};
use super::printer::Printer;
use crate::Error;
use crate::prepare::Piece;
use crate::trace::{Origin, OriginKind, Traced};

/// The field with the prompt that an agent brings.
pub(super) const PROMPT: &str = "agentDefinition.systemPrompt";

/// Returns the prompt that the agent brings, with mounts in the place of real folders; a chat has none.
///
/// `read` is the prompt where it was read from a package.
pub(super) fn own_prompt(
    fields: Fields<'_>,
    read: Option<Piece>,
    printer: &Printer<'_>,
) -> Result<Option<Piece>, Error> {
    let Some(text) = fields
        .text(PROMPT)
        .filter(|_| fields.text("mode") != Some("chat"))
    else {
        return Ok(None);
    };
    let piece = read.unwrap_or_else(|| {
        let source = Origin::new(OriginKind::Input, PROMPT, text);
        Piece {
            name: "persona".to_owned(),
            body: Traced::whole(text, &source),
            source,
        }
    });
    let body = printer.text(PROMPT, piece.body)?;
    Ok(Some(Piece { body, ..piece }))
}

/// Adds whether the agent has a prompt of its own, and the profile that is printed otherwise.
pub(super) fn persona(
    fields: Fields<'_>,
    mode: &str,
    printer: &mut Printer<'_>,
    values: &mut Map<String, Value>,
) -> Result<(), Error> {
    let own = fields.text(PROMPT).is_some();
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
    let (path, name) = ["agentDefinition.metadata.name", "agentDefinition.id"]
        .into_iter()
        .find_map(|path| Some((path, fields.text(path)?)))
        .ok_or_else(|| missing("agentDefinition.metadata.name"))?;
    let mut profile = Map::new();
    profile.insert("name".to_owned(), json!(printer.line(path, name)?));
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
        profile.insert(key.to_owned(), json!(printer.line(path, text)?));
    }
    let path = "agentDefinition.persona.principles";
    let principles = principles(fields.get(path));
    let actions = "agentDefinition.critical_actions";
    for (key, path, items) in [
        ("principles", path, principles),
        ("critical_actions", actions, fields.list(actions)),
    ] {
        let lines: Vec<String> = items
            .into_iter()
            .enumerate()
            .filter(|(_, item)| !item.trim().is_empty())
            .map(|(nth, item)| printer.line(&format!("{path}[{nth}]"), item))
            .collect::<Result<_, _>>()?;
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
