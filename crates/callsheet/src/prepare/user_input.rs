//! The function `user-input`: what a user wrote, passed on as it is, in the form that the agent wants.

use super::fields::{FieldText, Fields};
use super::lines::LineValues;
use super::made::Made;
use crate::Error;
use crate::template::placeholders;
use crate::text::value_text;
use crate::trace::Traced;

/// The field that holds what a person wrote.
pub(super) const INPUT: &str = "userInput";

const FORM: &str = "agentDefinition.userPromptTemplate";

/// Returns what the user wrote, and the node that it is for; blank text is none.
pub(super) fn user_input(
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Made>, Error> {
    let Some(given) = fields.field_text(INPUT) else {
        return Ok(None);
    };
    let text = if fields.flag("scrubUserInput") {
        lines.scrubbed(given)
    } else {
        lines.text(given)?
    };
    let text = match fields.field_text(FORM).filter(|_| !fields.is_chat()) {
        None => text,
        Some(form) => filled(form, &text, fields, lines)?,
    };
    let mut made = vec![("text", text.into())];
    if let Some(node) = fields.field_text("brief.nodeId") {
        made.push(("forNodeId", node.text.into()));
    }
    Ok(Some(Made::Fields(made)))
}

/// Fills the agent's own form; a text that the form has no place for follows it.
fn filled(
    form: FieldText,
    text: &Traced,
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Traced, Error> {
    let form = lines.text(form)?;
    let mut out = Traced::with_capacity(form.len() + text.len());
    let (mut placed, mut at) = (false, 0);
    for hole in placeholders(form.text()) {
        let known = |path: &str| fields.field_text(path).map(|told| told.text);
        let value = match hole.name.as_str() {
            INPUT => {
                placed = true;
                Some(text.clone())
            }
            "nodeId" => known("brief.nodeId"),
            "workflow" => known("directive.workflow"),
            name => variable(name, fields, lines)?,
        };
        if let Some(value) = value {
            out.push(&form.slice(at..hole.range.start));
            out.push(&value);
            at = hole.range.end;
        }
    }
    out.push(&form.slice(at..form.len()));
    if !placed {
        out.push_frame("\n\n");
        out.push(text);
    }
    Ok(out)
}

/// Returns a variable of the state, by the name that a form has for it.
fn variable(
    name: &str,
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Traced>, Error> {
    let field = format!("stateSummary.{name}");
    let given = name.starts_with("variables.").then(|| fields.get(&field));
    let Some(text) = given.flatten().and_then(value_text) else {
        return Ok(None);
    };
    lines.value(fields.known(field, &text)).map(Some)
}
