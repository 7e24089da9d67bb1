//! Templates that an input names, rendered as texts of a prompt. Values are printed as they are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::given::field;
use super::{Piece, Prepared, Surroundings};
use crate::omission::{Omission, Reason, Refusal};
use crate::source::lookup;
use crate::template::{Missing, TemplateSet, Values};
use crate::{Error, ErrorKind, Event};

/// The template that somebody asks for by its name.
pub(crate) struct Named<'a> {
    /// The name of the template.
    pub(crate) name: &'a str,
    /// The values of its placeholders.
    pub(crate) variables: &'a Map<String, Value>,
    /// What stands before the name of a value to make the path of its field.
    pub(crate) prefix: &'a str,
    /// The layer that its text is for.
    pub(crate) layer: &'a str,
    /// The section that it becomes.
    pub(crate) section: &'a str,
    /// What follows if there is no such template.
    pub(crate) without: &'a str,
}

/// A text that somebody was asked for, and what is to be told of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) piece: Option<Piece>,
    pub(crate) events: Vec<Event>,
    pub(crate) omissions: Vec<Omission>,
}

impl Named<'_> {
    /// Renders the template; an unknown name gives no text, and is told.
    pub(crate) fn render(&self, templates: &TemplateSet, missing: Missing) -> Result<Said, Error> {
        let Some(template) = templates.get(self.name) else {
            let why = format!("no template has this name; {}", self.without);
            let refusal = Refusal::new(Reason::Missing).because(why);
            return Ok(Said {
                piece: None,
                events: vec![unknown(self.name, self.without)],
                omissions: vec![Omission::refused(self.layer, self.name, refusal)],
            });
        };
        let values = Values {
            map: self.variables,
            prefix: self.prefix,
        };
        let rendered = templates.render(template, values, missing)?;
        let source = Arc::clone(&template.source);
        let asks = format!("`{}` asks for it", source.name);
        let needed = rendered.missing.iter().filter(|name| template.needs(name));
        let lost = needed.map(|name| {
            let refusal = Refusal::new(Reason::NoValue).because(&asks);
            Omission::refused(self.layer, name, refusal)
        });
        Ok(Said {
            omissions: lost.collect(),
            events: rendered.events(&source.name).collect(),
            piece: Some(Piece {
                name: self.section.to_owned(),
                body: rendered.body,
                source,
            }),
        })
    }
}

impl Prepared {
    /// Takes over what is to be told of a text, and returns it.
    pub(super) fn hear(&mut self, said: Said) -> Option<Piece> {
        self.events.extend(said.events);
        self.omissions.extend(said.omissions);
        said.piece
    }
}

/// Tells that there is no template of a name.
pub(crate) fn unknown(name: &str, consequence: &str) -> Event {
    let message = format!("no template named `{name}`; {consequence}");
    Event::new("template:unknown", [("name", Value::from(name))], message)
}

/// What follows if there is no template for the identity.
pub(crate) const NO_IDENTITY: &str = "the identity is empty";

/// Makes the text of `identity`: the template of that name.
pub(super) fn identity(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    around.root()?;
    let mut pieces = Vec::new();
    let fields = &prepared.fields;
    if lookup(fields, "identity").is_some() {
        let name = field(fields, "identity.name", "string", Value::as_str)?;
        let variables = field(fields, "identity.variables", "object", Value::as_object)?;
        let none = Map::new();
        let named = Named {
            name: name
                .ok_or_else(|| Error::new(ErrorKind::BadInput, "missing field `identity.name`"))?,
            variables: variables.unwrap_or(&none),
            prefix: "identity.variables.",
            layer: around.recipe.layer_of("identity"),
            section: "identity",
            without: NO_IDENTITY,
        };
        let said = named.render(around.prompts.snapshot(), missing(fields))?;
        pieces.extend(prepared.hear(said));
    }
    prepared.pieces.insert("identity".to_owned(), pieces);
    Ok(())
}

/// Returns what an input wants of placeholders without a value.
pub(super) fn missing(fields: &Map<String, Value>) -> Missing {
    match fields.get("missing").and_then(Value::as_str) {
        _ if fields.get("strict") == Some(&Value::Bool(true)) => Missing::Error,
        Some("keep") => Missing::Keep,
        _ => Missing::Empty,
    }
}
