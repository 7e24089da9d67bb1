//! Sections: the resolved pieces of text that a prompt is made of.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::recipe::Escape;
use crate::trace::{Origin, Traced};

/// Who a message is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The rules of the conversation.
    #[default]
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the word for it, as messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Whether a text is our own or may be somebody's attempt to steer the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Written by the owner of the recipe.
    Own,
    /// Anything that came from a project, an agent or a person.
    Untrusted,
}

/// How often a text changes, from hardly ever to every time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Volatility {
    /// The same in every project.
    Constant,
    /// The same as long as the project's files are.
    Project,
    /// The same for all turns of one task.
    Task,
    /// New every time.
    Turn,
}

impl Volatility {
    /// Returns the word that recipes use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Project => "project",
            Self::Task => "task",
            Self::Turn => "turn",
        }
    }
}

/// What gives way when a budget is tight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// May be left out; lower numbers go first.
    Optional(u32),
    /// Is never left out or cut.
    Required,
}

/// One resolved piece of text in a layer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Section {
    /// The layer it fills.
    pub layer: String,
    /// The name of the layer, or the path of the file.
    pub name: String,
    /// Who it is from.
    pub role: Role,
    /// The text.
    pub body: Traced,
    /// What the text came from.
    pub source: Arc<Origin>,
    /// Whether it is our own.
    pub trust: Trust,
    /// How often it changes.
    pub volatility: Volatility,
    /// Whether it may give way.
    pub priority: Priority,
    /// Whether it may be cut at a line end before it is left out.
    pub may_cut: bool,
    /// What is done to the body when it is printed.
    pub escape: Escape,
    /// What stands before the body.
    pub open: String,
    /// What stands after the body.
    pub close: String,
}

impl Section {
    /// Returns the body as it is printed.
    pub fn printed(&self) -> Cow<'_, Traced> {
        self.print(Cow::Borrowed(&self.body))
    }

    /// Returns a body as it is printed in this section.
    pub(crate) fn print<'b>(&self, body: Cow<'b, Traced>) -> Cow<'b, Traced> {
        self.escape.body(body)
    }
}
