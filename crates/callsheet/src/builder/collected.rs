//! What a builder has collected, as plain data: it can be copied and stored, and holds nobody who is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::prepare::{Piece, ProjectContext, Said};
use crate::template::TemplateSet;
use crate::trace::Traced;
use crate::{Event, Omission};

/// The layers of one prompt so far, and what has to be told of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Collected {
    pub(super) identity: Said,
    pub(super) project_context: Option<ProjectContext>,
    pub(super) rules: Option<Piece>,
    pub(super) context: Vec<Piece>,
    pub(super) sections_added: usize,
    pub(super) tools: Vec<Value>,
    pub(super) events: Vec<Event>,
    pub(super) lost: Vec<Omission>,
}

impl Collected {
    /// Returns the texts of all layers in order, without blank ones.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let context = self.project_context.iter().map(|context| &context.body);
        let own = self.identity.piece.iter().map(|piece| &piece.body);
        let rest = self.rules.iter().chain(&self.context);
        let bodies = own.chain(context).chain(rest.map(|piece| &piece.body));
        bodies.filter(|body| !body.is_blank()).map(Traced::text)
    }
}

/// A builder as it can be stored: what it has collected, and the templates that it has read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stored {
    pub(super) collected: Collected,
    pub(super) templates: Option<TemplateSet>,
}
