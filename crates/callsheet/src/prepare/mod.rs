//! Functions for recipes: the typed logic that no template can say.
//!
//! A function has one job. It reads fields of the checked input and adds values, which templates print. A recipe names the
//! functions that it needs, in their order; those of the built-in recipes are there for every recipe.

mod brief;
mod data;
mod directive;
mod fields;
mod functions;
mod injection;
mod lines;
mod made;
mod mounts;
mod package;
mod persona;
mod phase;
mod policy;
mod review;
mod run;
mod user_input;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use run::relative_path;

use crate::Event;
use crate::mounts::Mounts;
use crate::omission::Omission;
use crate::trace::{Origin, Traced};

pub(crate) use functions::Surroundings;
pub use functions::{FUNCTIONS, Function, Preparation};

/// A text that a function made, with its provenance.
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
    /// The fields of the input, and those that functions added.
    pub fields: Map<String, Value>,
    /// Where texts in added fields came from, by their paths (`digest.checks[0].name`).
    pub traces: BTreeMap<String, Traced>,
    /// Texts by the field name under which layers ask for them.
    pub pieces: BTreeMap<String, Vec<Piece>>,
    /// The tools that go with the prompt.
    pub tools: Vec<Value>,
    /// What could not be read.
    pub omissions: Vec<Omission>,
    /// What added fields do not have, by their paths. It is recorded with the first layer that reads the field.
    pub lacking: Vec<(String, Omission)>,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// The real folders that have names, where no other real path may be in the prompt.
    pub mounts: Option<Mounts>,
}
