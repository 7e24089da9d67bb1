//! The one flow: input → recipe → sources → sections → budget → prompt → bytes.

mod budget;
mod document;
mod framing;
mod gather;
mod handed_over;
mod limits;
mod message;
mod render;
mod room;

use serde_json::{Map, Value};

pub use budget::Budget;
pub(crate) use document::SCHEMA as COMPOSITION;
pub(crate) use document::document;
pub(crate) use handed_over::as_messages;
pub(crate) use message::Cut;
pub use message::Message;
pub use render::Prompt;

use self::limits::Measured;
use self::room::Room;
use crate::check;
use crate::document::Given;
use crate::inputs::{Disk, Root};
use crate::manifest::{BodyRecords, BudgetRecord, Manifest};
use crate::observe::Observer;
use crate::omission::Omission;
use crate::prepare::Prepared;
use crate::reading::Reading;
use crate::recipe::{Recipe, Shape};
use crate::redact::{Key, Level, Redactor, Rules, Secrets};
use crate::seal::MOST_BYTES;
use crate::source::Sources;
use crate::source_map::SourceMap;
use crate::template::Diagnostic;
use crate::tokens::Encoding;
use crate::{Error, ErrorKind, Event, Fingerprint};

/// What a composition may look at besides its input.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inputs {
    /// The folder that may be read, where there is one.
    pub root: Option<Root>,
    /// Sources that layers call by name.
    pub sources: Sources,
    /// What looks at the repository and runs commands, where the program brings one.
    pub observer: Option<Box<dyn Observer>>,
    /// How many bytes a prompt may have besides its files.
    most_bytes: u64,
}

impl Inputs {
    /// Fails if more was read than can be sealed, where it is.
    fn check_size(&self) -> Result<(), Error> {
        let disk = self.root.as_ref().map(Root::disk);
        disk.map_or(Ok(()), Disk::check_size)
    }

    /// Makes the inputs of a project folder, without further sources.
    pub fn new(root: Root) -> Self {
        Self {
            root: Some(root),
            ..Self::nowhere()
        }
    }

    /// Makes inputs without any folder, for recipes that read no files.
    pub fn nowhere() -> Self {
        Self {
            root: None,
            sources: Sources::new(),
            observer: None,
            most_bytes: MOST_BYTES,
        }
    }

    /// Adds what looks at the repository and runs commands.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }
}

/// How a prompt is composed, apart from what goes into it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What may be spent.
    pub budget: Budget,
    /// The vocabulary for token counts.
    pub encoding: Encoding,
    /// Whether tokens are counted even where no budget or limit asks for them.
    pub count_tokens: bool,
    /// Which secrets become pseudonyms, even where the recipe asks for less.
    pub redact: Level,
    /// The key of these pseudonyms.
    pub redact_key: Key,
    /// What is taken for a secret.
    pub redact_rules: Rules,
    /// What each of several documents gave to the input, for the record.
    pub inputs: Vec<Given>,
}

impl Options {
    /// Returns what takes secrets out of the prompt of a recipe, where somebody asks for it.
    pub(crate) fn redactor(&self, recipe: &Recipe) -> Option<Redactor> {
        let level = self.redact.max(recipe.redact);
        level.redactor(self.redact_key, &self.redact_rules)
    }

    /// Returns what each of several documents gave, without the secrets that names of fields may be.
    pub(crate) fn recorded_inputs(&self, redactor: Option<&Redactor>) -> Vec<Given> {
        let clean = |text: &str| match redactor {
            Some(redactor) => redactor.text(text).into_owned(),
            None => text.to_owned(),
        };
        self.inputs.iter().map(|given| given.map(clean)).collect()
    }

    /// Returns an error without the secrets that it may name.
    fn redacted(&self, recipe: &Recipe, error: Error) -> Error {
        match self.redactor(recipe) {
            Some(redactor) => redactor.error(error),
            None => error,
        }
    }
}

/// A composed prompt with everything that explains it.
#[derive(Debug)]
pub struct Composition {
    /// The sections that made it, in order, and the tools; their bodies are in the text.
    pub prompt: Prompt,
    /// The exact bytes that are handed over: a text, or messages as compact JSON.
    pub text: String,
    /// Where each of these bytes came from.
    pub source_map: SourceMap,
    /// The record of the composition.
    pub manifest: Manifest,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// The tools that the policy of the input denies: names, and patterns with `*`.
    pub denied: Vec<String>,
    /// What must not be in anything that is kept of it.
    pub(crate) secrets: Secrets,
}

/// What a prompt says, without the record that explains it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Draft {
    /// The exact bytes that are handed over.
    pub text: String,
    /// What a person should hear of.
    pub events: Vec<Event>,
    /// What was asked for and is not in the prompt.
    pub omissions: Vec<Omission>,
}

/// Composes the prompt of a recipe for an input.
///
/// The input is checked against the schema of the recipe, prepared, and assembled.
pub fn compose(
    recipe: &Recipe,
    input: &Value,
    inputs: &Inputs,
    options: &Options,
) -> Result<Composition, Error> {
    let fields = checked(recipe, input, options)?;
    let prepared = prepare(recipe, fields, inputs, options)?;
    assemble(recipe, prepared, inputs, options)
}

/// Composes the text of a prompt, for callers that need no record of it.
///
/// Text, events and omissions are those of [`compose`]. No fingerprint is taken of files and prompt, which is most of the
/// work of a composition that is one large file.
pub fn draft(
    recipe: &Recipe,
    input: &Value,
    inputs: Inputs,
    options: &Options,
) -> Result<Draft, Error> {
    let inputs = Inputs {
        root: inputs.root.map(Root::unrecorded),
        ..inputs
    };
    let fields = checked(recipe, input, options)?;
    let prepared = prepare(recipe, fields, &inputs, options)?;
    let redactor = options.redactor(recipe);
    let assembled = put_together(recipe, prepared, &inputs, options, redactor.as_ref());
    let assembled = assembled.map_err(|error| redacted(redactor.as_ref(), error))?;
    Ok(Draft {
        text: assembled.text,
        events: assembled.events,
        omissions: assembled.omissions,
    })
}

/// Composes the prompt of a recipe for an input of which fields may be unused, as when it was sealed.
pub(crate) fn compose_again(
    recipe: &Recipe,
    input: &Value,
    inputs: &Inputs,
    options: &Options,
) -> Result<Composition, Error> {
    let fields = recipe.check(input);
    let fields = fields.map_err(|error| options.redacted(recipe, error))?;
    let prepared = prepare(recipe, fields, inputs, options)?;
    assemble(recipe, prepared, inputs, options)
}

/// Returns the fields of an input that fits the recipe, all of which it uses.
fn checked(recipe: &Recipe, input: &Value, options: &Options) -> Result<Map<String, Value>, Error> {
    let fields = recipe.check(input).and_then(|fields| {
        let used = recipe.check_use(input);
        match used {
            Ok(()) => Ok(fields),
            Err(unused) => Err(match asked_for(recipe, fields, options) {
                Some(asked) => unused.because(asked.headline()),
                None => unused,
            }),
        }
    });
    fields.map_err(|error| options.redacted(recipe, error))
}

/// Returns the error of a template that asks for what the input does not have, which says in which line of which file.
///
/// No file is read for it and no command is run.
fn asked_for(recipe: &Recipe, fields: Map<String, Value>, options: &Options) -> Option<Error> {
    let nowhere = Inputs::nowhere();
    let prepared = prepare(recipe, fields, &nowhere, options).ok()?;
    let error = put_together(recipe, prepared, &nowhere, options, None).err()?;
    (error.kind() == ErrorKind::BadTemplate).then_some(error)
}

fn prepare(
    recipe: &Recipe,
    fields: Map<String, Value>,
    inputs: &Inputs,
    options: &Options,
) -> Result<Prepared, Error> {
    let functions = &recipe.prepare;
    let prepared = functions.run(fields, recipe, inputs, &options.redact_rules);
    let prepared = prepared.and_then(|prepared| inputs.check_size().map(|()| prepared));
    prepared.map_err(|error| options.redacted(recipe, error))
}

/// Assembles the prompt of a recipe from prepared values.
pub(crate) fn assemble(
    recipe: &Recipe,
    prepared: Prepared,
    inputs: &Inputs,
    options: &Options,
) -> Result<Composition, Error> {
    let redactor = options.redactor(recipe);
    let redactor = redactor.as_ref();
    let assembled = put_together(recipe, prepared, inputs, options, redactor)
        .map_err(|error| redacted(redactor, error))?;
    Ok(assembled.recorded(recipe, options, redactor))
}

fn redacted(redactor: Option<&Redactor>, error: Error) -> Error {
    match redactor {
        Some(redactor) => redactor.error(error),
        None => error,
    }
}

/// A prompt that is finished and of which nothing is on record yet.
struct Assembled {
    prompt: Prompt,
    bodies: BodyRecords,
    text: String,
    source_map: SourceMap,
    /// The tokens of the text, where they were counted.
    tokens: Option<usize>,
    fields: Map<String, Value>,
    events: Vec<Event>,
    omissions: Vec<Omission>,
    secrets: Secrets,
}

fn put_together(
    recipe: &Recipe,
    mut prepared: Prepared,
    inputs: &Inputs,
    options: &Options,
    redactor: Option<&Redactor>,
) -> Result<Assembled, Error> {
    let mut room = Room::of(inputs.most_bytes);
    let mut gathered = gather::gather(recipe, &mut prepared, inputs, &mut room)?;
    inputs.check_size()?;
    // Before frames and budget, so that both see what is printed.
    let secrets = redactor.map_or_else(Secrets::default, |redactor| {
        redactor.prompt(&mut gathered.sections, &mut prepared.tools)
    });
    let fields = prepared.fields;
    let suffix = framing::frame(recipe, &fields, &mut gathered, &mut room)?;
    let told = recipe.templates.diagnostics().iter().map(Diagnostic::event);
    let mut events: Vec<Event> = told.chain(prepared.events).collect();
    events.append(&mut gathered.events);
    let mut omissions = prepared.omissions;
    omissions.append(&mut gathered.omissions);

    let prompt = Prompt::new(recipe, &fields, &suffix, gathered.sections, prepared.tools)?;
    let nothing_found = limits::nothing_found(recipe, &prompt);
    let (prompt, given_way) = budget::apply(recipe, prompt, options)?;
    omissions.extend(given_way);
    let (mut prompt, given_way) = limits::give_way(recipe, &fields, prompt, options, &mut events);
    omissions.extend(given_way);
    events.retain(|event| framing::still_holds(event, &prompt.sections));
    if let Some(mounts) = &prepared.mounts {
        mounts.guard(&prompt.sections)?;
    }
    let bodies = BodyRecords::of(&prompt.sections);
    let (text, source_map) = prompt.render_away();
    let cut = Cut::of(&prompt, &source_map);
    let counted =
        options.count_tokens || options.budget.tokens.is_some() || recipe.limits_tokens(&fields);
    let tokens = counted.then(|| Reading::of(&text).all_tokens(options.encoding));
    let measured = Measured::new(tokens, &cut, &text, options.encoding);
    limits::check(recipe, &fields, &measured, &mut events)?;
    events.extend(nothing_found.map(|notice| notice.event(&fields, &[])));
    if let Some(redactor) = redactor {
        redact_records(redactor, &mut omissions, &mut events);
    }
    Ok(Assembled {
        prompt,
        bodies,
        text,
        source_map,
        tokens,
        fields,
        events,
        omissions,
        secrets,
    })
}

impl Assembled {
    /// Puts on record what explains the prompt.
    fn recorded(
        self,
        recipe: &Recipe,
        options: &Options,
        redactor: Option<&Redactor>,
    ) -> Composition {
        let denied = check::denied(recipe, &self.fields);
        let input = Value::Object(self.fields);
        let input = redactor.map_or_else(
            || Fingerprint::of(input.to_string()),
            |redactor| redactor.fingerprint(&input),
        );
        let (text, map) = (self.text, self.source_map);
        let told = (&*text, &map);
        let mut manifest = Manifest::new(recipe, input, &self.prompt, self.bodies, told);
        manifest.plan(&text, &map);
        if let Some(tokens) = self.tokens {
            manifest.counted(options.encoding, &text, tokens);
        }
        manifest.budget = BudgetRecord {
            bytes: options.budget.bytes,
            tokens: options.budget.tokens,
        };
        manifest.inputs = options.recorded_inputs(redactor);
        manifest.omissions = self.omissions;
        manifest.events.clone_from(&self.events);
        Composition {
            prompt: self.prompt,
            text,
            source_map: map,
            manifest,
            events: self.events,
            denied,
            secrets: self.secrets,
        }
    }
}

fn redact_records(redactor: &Redactor, omissions: &mut [Omission], events: &mut [Event]) {
    for omission in omissions {
        redactor.omission(omission);
    }
    for event in events {
        redactor.event(event);
    }
}

impl Composition {
    /// Returns the fingerprint of the exact bytes.
    pub fn fingerprint(&self) -> Fingerprint {
        self.manifest.fingerprint
    }

    /// Returns the text that people read: the contents of messages one after the other, or the text as it is.
    pub fn plain(&self) -> String {
        if self.prompt.shape != Shape::Messages {
            return self.text.clone();
        }
        let contents: Vec<String> = self.messages().into_iter().map(|one| one.content).collect();
        contents.join(&self.prompt.outer.separator)
    }

    /// Returns the prompt as messages.
    ///
    /// In a recipe of messages every section is one; in any other, consecutive sections of one role are one message,
    /// and what stands between two messages belongs to neither.
    pub fn messages(&self) -> Vec<Message> {
        self.cut().messages(&self.text)
    }

    /// Returns everything about the prompt as one JSON document.
    pub fn document(&self) -> Value {
        let (map, tools) = (&self.source_map, &self.prompt.tools);
        document(&self.manifest, &map.spans, &self.cut(), &self.text, tools)
    }

    /// Returns how the text is cut into messages.
    pub(crate) fn cut(&self) -> Cut {
        Cut::of(&self.prompt, &self.source_map)
    }
}

#[cfg(test)]
mod tests;
