//! What the user wrote: passed on as it is, in the form that the agent wants.

use serde_json::{Map, Value};

use super::USER_INPUT;
use super::fields::Fields;
use super::printer::Printer;
use crate::blocks::UserInput;
use crate::prepare::Piece;
use crate::template::{Missing, Values, placeholders, render_plain};
use crate::text::value_text;
use crate::trace::{Origin, OriginKind, Traced};

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
) -> Option<Piece> {
    let given = fields.text(USER_INPUT)?;
    let text = if fields.flag("scrubUserInput") {
        printer.mounts.alias(given)
    } else {
        given.to_owned()
    };
    let source = Origin::new(OriginKind::Input, USER_INPUT, &text);
    let template = fields.text(TEMPLATE).filter(|_| mode != "chat");
    let inner = match template {
        None => Traced::whole(text, &source),
        Some(template) => filled(template, &text, fields, run, printer),
    };
    let mut body = Traced::frame(UserInput::head(run.node, inner.text()));
    body.push(&inner);
    Some(Piece {
        name: LAYER.to_owned(),
        body,
        source,
    })
}

/// Fills the agent's own form; a text that the form has no place for follows it.
fn filled(
    template: &str,
    text: &str,
    fields: Fields<'_>,
    run: Run<'_>,
    printer: &mut Printer<'_>,
) -> Traced {
    let mut values = Map::new();
    let mut placed = false;
    for hole in placeholders(template) {
        let value = match hole.name.as_str() {
            USER_INPUT => {
                placed = true;
                Some(text.to_owned())
            }
            "nodeId" => run.node.map(str::to_owned),
            "workflow" => run.workflow.map(str::to_owned),
            name if name.starts_with("variables.") => fields
                .get(&format!("stateSummary.{name}"))
                .and_then(value_text)
                .map(|value| printer.value(LAYER, name, &value)),
            _ => None,
        };
        if let Some(value) = value {
            values.insert(hole.name, Value::from(value));
        }
    }
    let origin = Origin::new(OriginKind::Input, TEMPLATE, template);
    let body = Traced::whole(template, &origin);
    let values = Values {
        map: &values,
        prefix: "",
    };
    let mut out = render_plain(&body, values, None, Missing::Keep).body;
    if !placed {
        out.push_frame("\n\n");
        let source = Origin::new(OriginKind::Input, USER_INPUT, text);
        out.push(&Traced::whole(text, &source));
    }
    out
}
