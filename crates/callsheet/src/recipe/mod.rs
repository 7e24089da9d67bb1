//! Recipes: which layers make up a prompt, in which order, role and shape.
//!
//! A recipe is data: a folder with a `recipe.toml` and the templates it names. Nothing here reads a file or a clock,
//! so a recipe and its inputs always compose to the same text.

mod builtin;
mod condition;
mod file;
mod find;
mod frame;
mod limit;
mod message;
mod parse;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use builtin::{FOR_TASKS, built_in, built_in_names, built_in_sample};
pub use condition::Condition;
pub use find::{Found, RECIPES, find, is_name, is_own, known, read};
pub(crate) use frame::Frame;
pub(crate) use frame::fence_len;
pub use frame::{Escape, suffixes};
pub use limit::Limit;
pub(crate) use limit::Notice;

use self::uses::Uses;
use crate::document;
use crate::freetext::strict;
use crate::omission::Reason;
use crate::prepare::Preparation;
use crate::redact::Level;
use crate::schema::Schema;
use crate::section::{Priority, Role, Trust, Volatility};
use crate::source::Source;
use crate::template::{Missing, TemplateSet};
use crate::{Error, ErrorKind, Fingerprint};

/// The name of the file that makes a folder a recipe.
pub const RECIPE_FILE: &str = "recipe.toml";

/// The name of the file with a sample input. It is not a part of the recipe: no prompt depends on it.
pub const SAMPLE_FILE: &str = "sample.yaml";

/// The JSON Schema of that file: editors complete and check by it. What refers to another place, such as the name of a frame,
/// is known to [`Recipe::parse`] alone.
pub const SCHEMA: &str = include_str!("../../schemas/recipe.json");

/// The form in which a prompt is handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One text.
    #[default]
    Text,
    /// A system prompt with a list of tools.
    System,
    /// A list of messages: one for each section, and one for the layers that make a message together.
    Messages,
}

/// The files of a recipe folder, by name.
pub type Folder = BTreeMap<String, String>;

/// Which layers make up a prompt, and how they are put together.
#[derive(Debug)]
pub struct Recipe {
    /// The name it is called by.
    pub name: String,
    /// Its folder, as a user would name it.
    pub home: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The form of the result.
    pub shape: Shape,
    /// The functions that make values for layers.
    pub prepare: Preparation,
    /// What stands between sections.
    pub separator: String,
    /// What happens to placeholders without a value.
    pub(crate) missing: Missing,
    /// The frame around the whole prompt, by name.
    pub(crate) frame: Option<String>,
    /// When tags get a suffix that occurs in no body.
    pub(crate) unique: Option<Condition>,
    /// When all system messages are joined into one, for a prompt of messages.
    pub(crate) single_system: Option<Condition>,
    /// What stands where a section was cut.
    pub(crate) marker: String,
    /// Which secrets become pseudonyms.
    pub redact: Level,
    /// The input field that says which tools are denied.
    pub(crate) denies: Option<String>,
    /// Above this an event is raised.
    pub(crate) warning: Option<Limit>,
    /// Above this there is no prompt.
    pub error: Option<Limit>,
    /// The event for a prompt without any section.
    pub(crate) empty: Option<Notice>,
    /// The messages that several layers make together, by name.
    pub(crate) messages: BTreeMap<String, MessageRule>,
    /// The layers, in order.
    pub layers: Vec<Layer>,
    /// The templates of the folder.
    pub templates: TemplateSet,
    /// The shape of the input.
    pub schema: Schema,
    /// The fingerprint of all files of the folder.
    pub fingerprint: Fingerprint,
    frames: BTreeMap<String, Frame>,
    folder: Folder,
    derived: Derived,
}

/// What is worked out from a recipe when it is asked for.
#[derive(Debug, Default)]
struct Derived {
    uses: OnceLock<Uses>,
    tags: OnceLock<Arc<BTreeSet<String>>>,
}

/// A message that several layers make together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageRule {
    /// The frame around all its sections, by name.
    pub(crate) frame: Option<String>,
    /// Whether it is there even without any section.
    pub(crate) always: bool,
}

/// A slot of a recipe.
#[derive(Debug)]
#[non_exhaustive]
pub struct Layer {
    /// The name, unique in the recipe.
    pub name: String,
    /// Who its sections are from.
    pub role: Role,
    /// When it is there at all.
    pub when: Option<Condition>,
    /// Where its text comes from.
    pub source: Box<dyn Source>,
    /// The frame around each section, by name.
    pub frame: Option<String>,
    /// The frame around all its sections, by name.
    pub list: Option<String>,
    /// The message that it makes together with the layers next to it, by name.
    pub message: Option<String>,
    /// Whether its sections may give way.
    pub priority: Priority,
    /// How often they change.
    pub volatility: Volatility,
    /// Whether they are our own.
    pub trust: Trust,
    /// Whether they may be cut at a line end.
    pub may_cut: bool,
    /// Whether the prompt can do without it: what is absent is no loss then.
    pub optional: bool,
    /// Whether its template may print values as they are: the recipe says that it is our own.
    pub raw: bool,
    /// What its section is called, where it makes no more than one.
    pub section: String,
}

impl Layer {
    /// Tells whether there can be no prompt where what the layer asks for is refused for this reason.
    pub(crate) fn must_have(&self, reason: Reason) -> bool {
        self.priority == Priority::Required && !(self.optional && reason.is_absence())
    }
}

impl Recipe {
    /// Reads a recipe from the files of its folder; `shown` is the folder as a user would name it.
    ///
    /// ```
    /// use callsheet::Recipe;
    /// use callsheet::recipe::Folder;
    ///
    /// let toml = "[[layers]]\nname = \"task\"\ntext = \"Go.\"\n";
    /// let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    /// let recipe = Recipe::parse("mine", "callsheet/recipes/mine", folder)?;
    /// assert_eq!(recipe.layers[0].name, "task");
    ///
    /// let wrong = Folder::from([("recipe.toml".to_owned(), toml.replace("text", "txt"))]);
    /// let error = Recipe::parse("mine", "callsheet/recipes/mine", wrong).unwrap_err();
    /// assert!(error.to_string().starts_with("callsheet/recipes/mine/recipe.toml:3: unknown field `txt`"));
    /// # Ok::<(), callsheet::Error>(())
    /// ```
    pub fn parse(name: &str, shown: &str, folder: Folder) -> Result<Self, Error> {
        parse::parse(name, shown, folder)
    }

    /// Returns the recipe file, as a user would name it.
    pub fn file(&self) -> String {
        format!("{}/{RECIPE_FILE}", self.home)
    }

    /// Returns the files of the folder as they were written.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Checks an input against the schema and fills in its defaults.
    pub fn check(&self, input: &Value) -> Result<Map<String, Value>, Error> {
        document::check_depth(input)?;
        self.schema.apply(input)
    }

    /// Fails for fields of an input that nothing in the recipe uses, and for values of which it can make nothing.
    pub(crate) fn check_use(&self, input: &Value) -> Result<(), Error> {
        // What functions read has a schema; one that is closed has found everything.
        if !self.prepare.is_empty() && self.schema.is_closed() {
            return Ok(());
        }
        let uses = self.derived.uses.get_or_init(|| Uses::of(self));
        let fields = input.as_object();
        fields.map_or(Ok(()), |fields| uses.check(fields, &self.name))
    }

    /// Tells whether a limit on tokens is set for an input.
    pub(crate) fn limits_tokens(&self, fields: &Map<String, Value>) -> bool {
        let limits = [&self.warning, &self.error];
        limits
            .into_iter()
            .flatten()
            .any(|limit| limit.tokens(fields).is_some())
    }

    /// Returns the frame that a name, in which `{{field}}` may stand, names.
    pub(crate) fn frame_of(
        &self,
        name: Option<&str>,
        fields: &Map<String, Value>,
    ) -> Result<&Frame, Error> {
        let Some(name) = name else {
            return Ok(&frame::NONE);
        };
        self.frame(&crate::source::fill(name, fields))
    }

    /// Returns the frame of a name.
    pub(crate) fn frame(&self, name: &str) -> Result<&Frame, Error> {
        self.frames.get(name).ok_or_else(|| {
            let detail = format!("no frame named `{name}` in recipe `{}`", self.name);
            Error::new(ErrorKind::BadRecipe, detail)
                .expecting(name, self.frames.keys())
                .at(self.file(), None)
        })
    }

    /// Returns the names of the tags that templates, texts and frames have: values make none of them.
    pub(crate) fn tags(&self) -> &Arc<BTreeSet<String>> {
        self.derived.tags.get_or_init(|| {
            let texts = self.layers.iter().filter_map(|layer| layer.source.text());
            let texts = texts.flat_map(strict::tag_names);
            let frames = self.frames_in_use().flat_map(Frame::tags);
            let all = self.templates.tags().chain(texts).chain(frames);
            Arc::new(all.map(str::to_owned).collect())
        })
    }

    /// Returns the frames that layers may stand in; where the input has a say, that is any.
    fn frames_in_use(&self) -> impl Iterator<Item = &Frame> {
        let layers = self.layers.iter();
        let layers = layers.flat_map(|layer| [layer.frame.as_deref(), layer.list.as_deref()]);
        let messages = self.messages.values().map(|rule| rule.frame.as_deref());
        let named = layers.chain(messages).chain([self.frame.as_deref()]);
        let named: BTreeSet<&str> = named.flatten().collect();
        let any = named.iter().any(|name| name.contains("{{"));
        let frames = self.frames.iter();
        frames.filter_map(move |(name, frame)| {
            (any || named.contains(name.as_str())).then_some(frame)
        })
    }

    /// Returns what the frames around a layer have before its text, in whole lines.
    pub(crate) fn before(
        &self,
        layer: &Layer,
        fields: &Map<String, Value>,
    ) -> Result<String, Error> {
        let message = layer
            .message
            .as_ref()
            .and_then(|name| self.messages.get(name));
        let around = message.map_or(&self.frame, |rule| &rule.frame);
        let mut before = String::new();
        for name in [around, &layer.list, &layer.frame] {
            before.push_str(self.frame_of(name.as_deref(), fields)?.lines_before());
        }
        Ok(before)
    }

    /// Returns what stands between texts in a frame.
    pub(crate) fn separator_in<'a>(&'a self, frame: &'a Frame) -> &'a str {
        frame.separator.as_deref().unwrap_or(&self.separator)
    }

    /// Returns the name of the first layer that prints a field, or the name of the field where none does.
    pub(crate) fn layer_of<'a>(&'a self, field: &'a str) -> &'a str {
        let prints = |layer: &&Layer| {
            let reads = layer.source.reads(&self.templates).unwrap_or_default();
            reads.iter().any(|read| read.path == field)
        };
        let layer = self.layers.iter().find(prints);
        layer.map_or(field, |layer| &layer.name)
    }
}
