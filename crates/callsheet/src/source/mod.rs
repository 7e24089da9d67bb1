//! Sources: where the text of a layer comes from.
//!
//! Each kind of source is one type behind the trait [`Source`]. What git and commands say is asked of the observer of the
//! composition; sources of a program's own are given to it by name.

mod command;
mod diff;
mod file;
mod files;
mod git;
mod instructions;
mod text;
mod tree;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

pub(crate) use command::CommandSource;
pub(crate) use files::FilesSource;
pub(crate) use git::{GitDiffSource, GitFilesSource, GitLogSource, GitStatusSource};
pub(crate) use instructions::InstructionsSource;

use crate::inputs::Root;
use crate::mounts::Mounts;
use crate::observe::{self, Observer, Question};
use crate::omission::{Omission, Refusal};
use crate::prepare::Piece;
use crate::recipe::{Layer, Recipe};
use crate::section::Section;
use crate::template::{Shared, TemplateSet, interpolate, placeholders};
use crate::text::value_text;
use crate::trace::{Origin, Traced};
use crate::{Error, ErrorKind, Event};

/// Gives the sections of a layer.
pub trait Source: fmt::Debug + Send + Sync {
    /// Adds the sections of `layer`, and what it could not add, to `out`.
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error>;

    /// Returns the layer whose sections must be there before, where there is one.
    fn after(&self) -> Option<&str> {
        None
    }

    /// Returns the text of the recipe that stands in the layer itself, where it is one.
    fn text(&self) -> Option<&str> {
        None
    }

    /// Returns what it reads of the input; nothing where that cannot be known.
    fn reads(&self, templates: &TemplateSet) -> Option<Vec<Read>> {
        let _ = templates;
        None
    }
}

/// A field of the input that a source reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Read {
    /// The dotted path.
    pub path: String,
    /// What the source can do something with.
    pub kind: Kind,
}

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Any,
    /// True or false.
    Flag,
    /// A whole number from 0.
    Number,
    /// A text.
    Text,
    /// A list of texts.
    List,
}

impl Read {
    /// Makes the reading of a field.
    pub fn new(path: &str, kind: Kind) -> Self {
        Self {
            path: path.to_owned(),
            kind,
        }
    }

    /// Makes the readings of fields that a source may name.
    fn some<const N: usize>(fields: [(&Option<String>, Kind); N]) -> Vec<Self> {
        let fields = fields.into_iter();
        let named = fields.filter_map(|(path, kind)| Some(Self::new(path.as_deref()?, kind)));
        named.collect()
    }

    /// Makes the readings of the placeholders of a text.
    fn holes(text: &str) -> Vec<Self> {
        let holes = placeholders(text).into_iter();
        holes.map(|hole| Self::new(&hole.name, Kind::Any)).collect()
    }
}

/// Sources by the name that a layer calls them with.
pub type Sources = BTreeMap<String, Box<dyn Source>>;

/// What a source may look at.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The recipe being composed.
    pub recipe: &'a Recipe,
    /// The fields of the checked and prepared input.
    pub fields: &'a Map<String, Value>,
    /// Prepared texts, by field.
    pub(crate) pieces: &'a BTreeMap<String, Vec<Piece>>,
    /// What is left out of prepared texts, by field.
    pub left_out: &'a BTreeMap<String, Vec<Omission>>,
    /// Where texts in fields came from that functions added, by their paths.
    pub traces: &'a Arc<BTreeMap<String, Traced>>,
    /// The fields as templates want them.
    pub(crate) shared: &'a Shared,
    /// The real folders that have names, where a function knows them.
    pub mounts: Option<&'a Mounts>,
    /// The folder that may be read, where there is one.
    pub root: Option<&'a Root>,
    /// More sources, by name.
    pub sources: &'a Sources,
    /// What looks at the repository and runs commands, where there is one.
    pub observer: Option<&'a dyn Observer>,
    /// What the layers before gave.
    pub before: &'a BTreeMap<String, Gathered>,
}

impl<'a> World<'a> {
    /// Returns the folder that may be read.
    pub fn root(&self) -> Result<&'a Root, Error> {
        self.root.ok_or_else(needs_root)
    }

    /// Asks about the repository or for a command.
    pub(crate) fn ask(&self, question: &Question) -> Result<Result<Vec<u8>, Refusal>, Error> {
        observe::ask(self.root()?, self.observer, question)
    }
}

/// Makes the error of a recipe that reads files and was given no folder.
pub(crate) fn needs_root() -> Error {
    Error::new(
        ErrorKind::BadInput,
        "this recipe reads files and needs a root",
    )
}

/// What a layer gave.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Gathered {
    /// Its sections, in order.
    pub sections: Vec<Section>,
    /// What it asked for and did not get.
    pub omissions: Vec<Omission>,
    /// What a person should hear of.
    pub events: Vec<Event>,
}

impl Gathered {
    /// Adds a section with the attributes of its layer.
    pub fn add(
        &mut self,
        layer: &Layer,
        name: impl Into<String>,
        body: Traced,
        source: Arc<Origin>,
    ) {
        self.sections.push(Section {
            layer: layer.name.clone(),
            name: name.into(),
            role: layer.role,
            body,
            source,
            trust: layer.trust,
            volatility: layer.volatility,
            priority: layer.priority,
            may_cut: layer.may_cut,
            escape: crate::recipe::Escape::None,
            open: String::new(),
            close: String::new(),
        });
    }

    /// Adds a section unless it is blank.
    pub fn add_unless_blank(&mut self, layer: &Layer, body: Traced, source: Arc<Origin>) {
        if !body.is_blank() {
            self.add(layer, &layer.section, body, source);
        }
    }

    /// Records what the disk refused.
    pub fn refuse(&mut self, layer: &Layer, name: impl Into<String>, refusal: Refusal) {
        self.omissions
            .push(Omission::refused(&layer.name, name, refusal));
    }

    /// Records what the disk refused of something that somebody named: a loss, even where a rule leaves it out.
    pub fn lose(&mut self, layer: &Layer, name: impl Into<String>, refusal: Refusal) {
        let mut omission = Omission::refused(&layer.name, name, refusal);
        omission.make_loss();
        self.omissions.push(omission);
    }
}

/// Returns a field that is true.
pub(crate) fn flag(fields: &Map<String, Value>, field: Option<&str>) -> bool {
    field
        .and_then(|field| lookup(fields, field))
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// Returns the value at a dotted path.
pub fn lookup<'a>(fields: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let first = fields.get(steps.next()?)?;
    steps
        .try_fold(first, |value, step| value.get(step))
        .filter(|value| !value.is_null())
}

/// Returns a text of the recipe with `{{field}}` replaced by input fields; unknown names stay.
pub(crate) fn fill(text: &str, fields: &Map<String, Value>) -> String {
    interpolate(text, |path| lookup(fields, path).and_then(value_text))
}

/// Returns the strings of a list field; a field that is not there is an empty list.
pub(crate) fn strings<'a>(fields: &'a Map<String, Value>, path: &str) -> Vec<&'a str> {
    let list = lookup(fields, path).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

pub(crate) use file::file;
pub(crate) use git::changed_paths;
pub(crate) use text::{template, text};
pub(crate) use tree::tree;
pub(crate) use value::{named, value};
