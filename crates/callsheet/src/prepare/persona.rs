//! The functions `persona` and `system-prompt`: who the agent is, from its definition.

use serde_json::Value;

use super::fields::{FieldText, Fields, missing};
use super::lines::LineValues;
use super::made::Made;
use crate::Error;
use crate::trace::Traced;

/// The field with the prompt that an agent brings.
const PROMPT: &str = "agentDefinition.systemPrompt";

/// Returns the prompt that the agent brings; a chat has none.
pub(super) fn system_prompt(
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Made>, Error> {
    let prompt = fields.field_text(PROMPT).filter(|_| !fields.is_chat());
    let prompt = prompt.map(|prompt| lines.text(prompt)).transpose()?;
    Ok(prompt.map(Made::Text))
}

/// Returns who an agent is that brings no prompt of its own; a chat has no agent.
pub(super) fn persona(
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Made>, Error> {
    const PRINCIPLES: &str = "agentDefinition.persona.principles";
    if fields.text(PROMPT).is_some() || fields.is_chat() {
        return Ok(None);
    }
    for path in ["agentDefinition", "agentDefinition.persona"] {
        fields.get(path).ok_or_else(|| missing(path))?;
    }
    let mut named = ["agentDefinition.metadata.name", "agentDefinition.id"].into_iter();
    let name = named.find_map(|path| fields.field_text(path));
    let name = name.ok_or_else(|| missing("agentDefinition.metadata.name"))?;
    let line = |path: &str| {
        lines.line(
            fields
                .field_text(path)
                .unwrap_or_else(|| fields.known(path.to_owned(), "")),
        )
    };
    Ok(Some(Made::Fields(vec![
        ("name", lines.line(name)?.into()),
        ("title", line("agentDefinition.metadata.title")?.into()),
        ("role", line("agentDefinition.persona.role")?.into()),
        ("identity", line("agentDefinition.persona.identity")?.into()),
        (
            "communication_style",
            line("agentDefinition.persona.communication_style")?.into(),
        ),
        ("principles", list(principles(fields, PRINCIPLES), lines)?),
        (
            "critical_actions",
            list(fields.list("agentDefinition.critical_actions"), lines)?,
        ),
    ])))
}

/// Returns the items that are not blank, in one line each.
fn list(items: impl IntoIterator<Item = FieldText>, lines: &LineValues<'_>) -> Result<Made, Error> {
    let items = items.into_iter();
    let items = items.filter(|item| !item.text.text().trim().is_empty());
    let items: Result<Vec<Traced>, Error> = items.map(|item| lines.line(item)).collect();
    items.map(Made::from)
}

/// A text has one principle per line, with or without a bullet.
fn principles(fields: Fields<'_>, path: &str) -> Vec<FieldText> {
    let Some(text) = fields.get(path).and_then(Value::as_str) else {
        return fields.list(path).collect();
    };
    let all = fields.known(path.to_owned(), text).text.lines();
    let all = all.into_iter().enumerate().map(|(nth, line)| {
        let bare = line.text().trim();
        let bullet = if bare.starts_with("- ") {
            "- ".len()
        } else {
            0
        };
        let start = line.len() - line.text().trim_start().len();
        FieldText {
            path: format!("{path}[{nth}]"),
            text: line.slice(start + bullet..start + bare.len()),
        }
    });
    all.collect()
}
