//! Functions for recipes: the typed logic that no template can say.
//!
//! A function has one job. It reads fields of the checked input and adds values, which templates print. A recipe names the
//! functions that it needs, in their order; those of the built-in recipes are there for every recipe.

mod blocks;
mod brief;
mod continuation;
mod data;
mod depth;
mod digest;
mod directive;
mod environment;
mod fields;
mod functions;
mod given;
mod injection;
mod lines;
mod made;
mod mounts;
mod named;
mod package;
mod paths;
mod persona;
mod phase;
mod policy;
mod project;
mod prompts;
mod read_first;
mod review;
mod role;
mod scope;
mod user_input;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use blocks::{data_piece, input_piece, object_piece};
pub(crate) use depth::{TASK_DEPTH, rules, select};
pub(crate) use named::{NO_IDENTITY, Named, Said, unknown};
pub(crate) use paths::relative as relative_path;
pub use project::{FileMemory, ProjectContext};
pub(crate) use project::{LAYER_FAILED, failed};
pub(crate) use prompts::Prompts;
pub use prompts::{TEMPLATES, packaged};

use crate::mounts::Mounts;
use crate::omission::Omission;
use crate::source::lookup;
use crate::trace::{Origin, OriginKind, Traced, Transform};
use crate::{Error, ErrorKind, Event};

pub(crate) use functions::{Harmless, Preparation, Surroundings};

/// A text that a function made, with its provenance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// The name of the section it becomes.
    pub name: String,
    /// The text.
    pub body: Traced,
    /// What it came from.
    pub source: Arc<Origin>,
}

/// What the layers of a recipe draw from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared {
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
    /// What added fields do not have, by their paths. It is recorded with the first layer that reads the field.
    pub lacking: Vec<(String, Omission)>,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// The real folders that have names, where no other real path may be in the prompt.
    pub mounts: Option<Mounts>,
}

impl Prepared {
    /// Keeps which field the text of an added field came from, and what stood there.
    fn trace(&mut self, path: impl Into<String>, text: &str, field: &str, original: &str) {
        let origin = Origin::new(OriginKind::Input, field, original);
        let traced = if text == original {
            Traced::whole(text, &origin)
        } else {
            Traced::transformed(text, &origin, origin.len, Transform::Converted)
        };
        self.traces.insert(path.into(), traced);
    }

    /// Keeps that the text of an added field was worked out from another field.
    fn derive(&mut self, path: impl Into<String>, text: &str, field: &str) {
        let origin = Origin::new(OriginKind::Derived, field, text);
        self.traces
            .insert(path.into(), Traced::whole(text, &origin));
    }

    /// Returns a field that is an object, or becomes one.
    fn object(&mut self, name: &str) -> Result<&mut Map<String, Value>, Error> {
        let field = self.fields.entry(name).or_insert(Value::Null);
        if field.is_null() {
            *field = Value::Object(Map::new());
        }
        field
            .as_object_mut()
            .ok_or_else(|| wrong(name, "an object"))
    }
}

/// Returns the texts of a list, if it is there.
fn texts<'a>(fields: &'a Map<String, Value>, path: &str) -> Result<Option<Vec<&'a str>>, Error> {
    let Some(field) = lookup(fields, path) else {
        return Ok(None);
    };
    let items = field.as_array();
    let texts: Option<Vec<&str>> =
        items.and_then(|items| items.iter().map(Value::as_str).collect());
    texts
        .map(Some)
        .ok_or_else(|| wrong(path, "a list of texts"))
}

/// Returns the error for a field that a function cannot use.
fn wrong(path: &str, needed: &str) -> Error {
    let detail = format!("`{path}` must be {needed}");
    Error::new(ErrorKind::BadInput, detail)
}
