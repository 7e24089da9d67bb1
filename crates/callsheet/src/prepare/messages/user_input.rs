//! What the user wrote: passed on as it is, in the form that the agent wants.

use super::USER_INPUT;
use super::fields::Fields;
use super::printer::Printer;
use crate::Error;
use crate::blocks::UserInput;
use crate::prepare::Piece;
use crate::template::placeholders;
use crate::text::value_text;
use crate::trace::{Origin, OriginKind, Traced, Transform};

const LAYER: &str = "user-input";
const TEMPLATE: &str = "agentDefinition.userPromptTemplate";

/// What a form may name of a run.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// The current node, where there is one.
    pub(super) node: Option<&'a str>,
    /// The workflow, where there is one.
    pub(super) workflow: Option<&'a str>,
}

/// Returns the message of the user's text; blank text makes none.
pub(super) fn piece(
    fields: Fields<'_>,
    mode: &str,
    run: Run<'_>,
    printer: &mut Printer<'_>,
) -> Result<Option<Piece>, Error> {
    let Some(given) = fields.text(USER_INPUT) else {
        return Ok(None);
    };
    let source = Origin::new(OriginKind::Input, USER_INPUT, given);
    let text = Traced::whole(given, &source);
    let text = if fields.flag("scrubUserInput") {
        printer.scrubbed(LAYER, USER_INPUT, &text)
    } else {
        printer.text(USER_INPUT, text)?
    };
    let template = fields.text(TEMPLATE).filter(|_| mode != "chat");
    let inner = match template {
        None => text,
        Some(template) => filled(template, &text, fields, run, printer)?,
    };
    let mut body = Traced::frame(UserInput::head(run.node, inner.text()));
    body.push(&inner);
    Ok(Some(Piece {
        name: LAYER.to_owned(),
        body,
        source,
    }))
}

/// Fills the agent's own form; a text that the form has no place for follows it.
fn filled(
    template: &str,
    text: &Traced,
    fields: Fields<'_>,
    run: Run<'_>,
    printer: &mut Printer<'_>,
) -> Result<Traced, Error> {
    let origin = Origin::new(OriginKind::Input, TEMPLATE, template);
    let body = printer.text(TEMPLATE, Traced::whole(template, &origin))?;
    let mut out = Traced::with_capacity(body.len() + text.len());
    let (mut placed, mut at) = (false, 0);
    for hole in placeholders(body.text()) {
        let value = match hole.name.as_str() {
            USER_INPUT => {
                placed = true;
                Some(text.clone())
            }
            "nodeId" => run.node.map(|node| value("nodeBrief.nodeId", node, node)),
            "workflow" => run.workflow.map(|name| value("workflowRef", name, name)),
            name => variable(name, fields, printer)?,
        };
        if let Some(value) = value {
            out.push(&body.slice(at..hole.range.start));
            out.push(&value);
            at = hole.range.end;
        }
    }
    out.push(&body.slice(at..body.len()));
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
    printer: &mut Printer<'_>,
) -> Result<Option<Traced>, Error> {
    let field = format!("stateSummary.{name}");
    let given = name.starts_with("variables.").then(|| fields.get(&field));
    let Some(text) = given.flatten().and_then(value_text) else {
        return Ok(None);
    };
    let printed = printer.value(LAYER, &field, &text)?;
    Ok(Some(value(&field, &text, &printed)))
}

/// Returns the value of a field as it is printed.
fn value(field: &str, given: &str, printed: &str) -> Traced {
    let origin = Origin::new(OriginKind::Input, field, given);
    if given == printed {
        return Traced::whole(printed, &origin);
    }
    Traced::transformed(printed, &origin, given.len(), Transform::Converted)
}
