//! Preparations: the typed logic of recipes that no template can say.
//!
//! A preparation turns a checked input into the values that the layers of its recipe print. It decides; the engine
//! does the rest the same way for every recipe.

mod injection;
mod messages;
mod phase;
mod review;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use run::relative_path;

use crate::mounts::Guard;
use crate::omission::Omission;
use crate::redact::Rules;
use crate::trace::{Origin, Traced};
use crate::{Error, Event, Inputs};

/// A text that a preparation made, with its provenance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// The name of the section it becomes.
    pub name: String,
    /// The text.
    pub body: Traced,
    /// What it came from.
    pub source: Arc<Origin>,
}

/// What the layers of a recipe draw from.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The fields of the input, and those that the preparation added.
    pub fields: Map<String, Value>,
    /// Texts by the field name under which layers ask for them.
    pub pieces: BTreeMap<String, Vec<Piece>>,
    /// The tools that go with the prompt.
    pub tools: Vec<Value>,
    /// What could not be read.
    pub omissions: Vec<Omission>,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// What the finished prompt may not hold.
    pub guard: Option<Guard>,
}

/// Which preparation a recipe names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preparation {
    /// The input is used as it is.
    #[default]
    None,
    /// Files that belong to story keys.
    Injection,
    /// Identity, project context, rules and context blocks.
    Layers,
    /// Role, task, scope and the facts of the run before.
    Run,
    /// Tool policy, persona and the blocks of a run.
    Messages,
    /// The paths that a change touches.
    Review,
    /// Files that belong to story keys, and the project's own workflow of a command.
    Phase,
}

impl Preparation {
    /// Returns the fields that it adds to those of the input.
    pub fn adds(self) -> &'static [&'static str] {
        match self {
            Self::None | Self::Layers | Self::Run => &[],
            Self::Injection => &["groups"],
            Self::Messages => &["prepared"],
            Self::Review => &["changed"],
            Self::Phase => &["groups", "workflow"],
        }
    }

    /// Returns the built-in recipes whose input it reads.
    pub(crate) fn recipes(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Injection => &["injection"],
            Self::Layers => &["layers"],
            Self::Run => &["run"],
            Self::Messages => &["messages"],
            Self::Review => &["review"],
            Self::Phase => &["sprint/dev-story", "sprint/project-context"],
        }
    }

    /// Prepares a checked input.
    ///
    /// No value is cut within a secret that the rules know.
    pub fn run(
        self,
        fields: Map<String, Value>,
        inputs: &Inputs,
        rules: &Rules,
    ) -> Result<Prepared, Error> {
        let root = inputs.root.as_ref();
        let needed = || root.ok_or_else(crate::source::needs_root);
        match self {
            Self::None => Ok(Prepared {
                fields,
                ..Prepared::default()
            }),
            Self::Injection => injection::prepare(fields, needed()?),
            Self::Layers => crate::builder::prepare(fields, needed()?, rules),
            Self::Messages => messages::prepare(fields, root, rules),
            Self::Review => review::prepare(fields, needed()?, inputs.observer.as_deref()),
            Self::Run => run::prepare(fields),
            Self::Phase => phase::prepare(fields, needed()?),
        }
    }
}
