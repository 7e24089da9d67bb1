//! Functions for recipes: the typed logic that no template can say.
//!
//! A function has one job. It reads fields of the checked input and adds values, which templates print. A recipe names the
//! functions that it needs, in their order; those of the built-in recipes are there for every recipe.

mod blocks;
mod depth;
mod functions;
mod given;
mod injection;
mod messages;
mod named;
mod phase;
mod project;
mod prompts;
mod review;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use blocks::{data_piece, input_piece, object_piece};
pub(crate) use depth::{TASK_DEPTH, rules, select};
pub(crate) use named::{NO_IDENTITY, Named, Said, unknown};
pub use project::{FileMemory, ProjectContext};
pub(crate) use project::{LAYER_FAILED, failed};
pub(crate) use prompts::Prompts;
pub use prompts::{TEMPLATES, packaged};
pub(crate) use run::relative_path;

use crate::Event;
use crate::mounts::Guard;
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
    /// What is left out of these texts, by the same names.
    pub left_out: BTreeMap<String, Vec<Omission>>,
    /// The tools that go with the prompt.
    pub tools: Vec<Value>,
    /// What could not be read.
    pub omissions: Vec<Omission>,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// What the finished prompt may not hold.
    pub guard: Option<Guard>,
}
