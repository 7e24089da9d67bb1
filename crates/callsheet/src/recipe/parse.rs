//! From the files of a folder to a checked recipe.
//!
//! Every problem names `file:line`, what was found and what is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::de;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::file::{CommonFile, LayerFile, RecipeFile};
use super::frame;
use super::message::messages;
use super::{Condition, Derived, Folder, Frame, Layer, Notice, RECIPE_FILE, Recipe, Shape};
use crate::document::keep_digits;
use crate::error::line_of;
use crate::outside::{self, ALLOW_OUTSIDE, PROMPTS_DIR};
use crate::prepare::Preparation;
use crate::schema::Schema;
use crate::section::{Priority, Trust, Volatility};
use crate::source::{self, Source};
use crate::template::TemplateSet;
use crate::{Error, ErrorKind, Fingerprint};

/// Frames that every recipe has without saying so.
const COMMON: &str = include_str!("../../recipes/common.toml");

/// The frame around what `git status` prints.
const GIT_STATUS: &str = "git_status";

/// A layer of this name would look like frame in a source map.
const RESERVED: &str = "frame";

/// The recipe file with what is needed to name places in it.
pub(super) struct RecipeReader<'a> {
    file: String,
    text: &'a str,
    shown: &'a str,
}

impl RecipeReader<'_> {
    pub(super) fn bad(&self, span: Range<usize>, detail: impl Into<String>) -> Error {
        Error::new(ErrorKind::BadRecipe, detail).at(&self.file, line_of(self.text, span.start))
    }

    fn toml<T: de::DeserializeOwned>(&self) -> Result<T, Error> {
        toml::from_str(self.text)
            .map_err(|error| Error::toml(ErrorKind::BadRecipe, &self.file, self.text, &error))
    }

    fn condition(&self, text: Option<Spanned<String>>) -> Result<Option<Condition>, Error> {
        text.map(|text| {
            let line = line_of(self.text, text.span().start);
            Condition::parse(text.get_ref(), &self.file, line)
        })
        .transpose()
    }
}

pub(super) fn parse(name: &str, shown: &str, folder: Folder) -> Result<Recipe, Error> {
    let file = format!("{shown}/{RECIPE_FILE}");
    let text = folder.get(RECIPE_FILE).ok_or_else(|| {
        Error::new(ErrorKind::BadRecipe, "the folder has no such file").at(&file, None)
    })?;
    let reader = RecipeReader { file, text, shown };
    let recipe: RecipeFile = reader.toml()?;
    let mut common = common(shown)?;
    common.frames.extend(recipe.frames);
    let frames = common.frames;
    check_sizes(&reader, &frames, &recipe.separator)?;

    let templates = templates(&folder, shown)?;
    let schema = schema(&reader, recipe.schema.as_ref(), &folder)?;
    let schema = with_defaults(&reader, schema, recipe.defaults)?;
    if recipe.layers.is_empty() {
        let detail = "`layers` is empty; a recipe needs at least one `[[layers]]`";
        return Err(reader.bad(0..0, detail));
    }
    check_frame(&reader, recipe.frame.as_ref(), &frames)?;
    let prepare = prepare(&reader, recipe.prepare, &frames)?;
    if recipe.shape == Shape::Messages {
        no_text_outside_messages(&reader, recipe.frame.as_ref(), &recipe.layers)?;
    }
    check_empty(&reader, recipe.empty.as_ref(), &recipe.layers)?;
    let messages = messages(
        &reader,
        recipe.shape,
        recipe.messages,
        &recipe.layers,
        &frames,
    )?;
    let layers = layers(&reader, name, recipe.layers, &templates, &frames)?;
    let files = folder.iter();
    let hashed = files.map(|(name, text)| (name.as_str(), text.as_bytes()));
    Ok(Recipe {
        name: name.to_owned(),
        home: shown.to_owned(),
        description: recipe.description,
        shape: recipe.shape,
        prepare,
        separator: recipe.separator,
        missing: recipe.missing,
        frame: recipe.frame.map(Spanned::into_inner),
        unique: reader.condition(recipe.unique)?,
        single_system: reader.condition(recipe.single_system)?,
        marker: recipe.marker.unwrap_or(common.marker),
        redact: recipe.redact,
        denies: recipe.denies,
        warning: recipe.warning,
        error: recipe.error,
        empty: recipe.empty.map(Spanned::into_inner),
        messages,
        layers,
        templates,
        schema,
        fingerprint: Fingerprint::of_named(hashed),
        frames,
        folder,
        derived: Derived::default(),
    })
}

fn common(shown: &str) -> Result<CommonFile, Error> {
    let reader = RecipeReader {
        file: "common.toml".to_owned(),
        text: COMMON,
        shown,
    };
    reader.toml()
}

fn templates(folder: &Folder, shown: &str) -> Result<TemplateSet, Error> {
    let markdown = folder.iter().filter(|(name, _)| name.ends_with(".md"));
    let markdown = markdown.map(|(name, text)| (name.clone(), text.clone().into_bytes()));
    let templates = TemplateSet::parse(markdown);
    match templates.include_cycle() {
        Some(cycle) => Err(cycle.of_kind(ErrorKind::BadRecipe).in_folder(shown)),
        None => Ok(templates),
    }
}

fn schema(
    reader: &RecipeReader<'_>,
    named: Option<&Spanned<String>>,
    folder: &Folder,
) -> Result<Schema, Error> {
    let Some(named) = named else {
        return Schema::parse(r#"{"type": "object"}"#, &reader.file);
    };
    let name = named.get_ref();
    let text = folder.get(name).ok_or_else(|| {
        let files = folder.keys().filter(|file| file.ends_with(".json"));
        reader
            .bad(
                named.span(),
                format!("no schema file `{name}` in the recipe's folder"),
            )
            .expecting(name, files)
    })?;
    Schema::parse(text, &format!("{}/{name}", reader.shown))
}

/// A frame stands around every text, and a separator between each two of them.
fn check_sizes(
    reader: &RecipeReader<'_>,
    frames: &BTreeMap<String, Frame>,
    separator: &str,
) -> Result<(), Error> {
    let too_long = |what: &str| {
        let detail = format!("{what} may have more than {} bytes", frame::MOST_BYTES);
        Err(Error::new(ErrorKind::BadRecipe, detail).at(&reader.file, None))
    };
    if separator.len() > frame::MOST_BYTES {
        return too_long("`separator`");
    }
    let mut frames = frames.iter();
    match frames.find(|(_, frame)| frame.most_bytes() > frame::MOST_BYTES) {
        Some((name, _)) => too_long(&format!("what frame `{name}` prints")),
        None => Ok(()),
    }
}

pub(super) fn check_frame(
    reader: &RecipeReader<'_>,
    named: Option<&Spanned<String>>,
    frames: &BTreeMap<String, Frame>,
) -> Result<(), Error> {
    match named {
        // A name with a placeholder is known only when there is an input.
        Some(named) if !named.get_ref().contains("{{") && !frames.contains_key(named.get_ref()) => {
            let name = named.get_ref();
            let error = reader.bad(named.span(), format!("no frame named `{name}`"));
            Err(error.expecting(name, frames.keys()))
        }
        _ => Ok(()),
    }
}

/// The frames that functions print with are there.
fn prepare(
    reader: &RecipeReader<'_>,
    named: Option<Spanned<Preparation>>,
    frames: &BTreeMap<String, Frame>,
) -> Result<Preparation, Error> {
    let Some(named) = named else {
        return Ok(Preparation::default());
    };
    match named.get_ref().lacks(|frame| frames.contains_key(frame)) {
        Some((frame, function)) => {
            let detail =
                format!("no frame named `{frame}`; the function `{function}` prints with it");
            Err(reader
                .bad(named.span(), detail)
                .expecting(frame, frames.keys()))
        }
        None => Ok(named.into_inner()),
    }
}

/// Puts the defaults of the recipe file in the place of those of its schema; none leads out of the project.
fn with_defaults(
    reader: &RecipeReader<'_>,
    mut schema: Schema,
    defaults: BTreeMap<String, Spanned<toml::Value>>,
) -> Result<Schema, Error> {
    let spans: BTreeMap<String, Range<usize>> = defaults
        .iter()
        .map(|(name, value)| (name.clone(), value.span()))
        .collect();
    let mut values: Map<String, Value> = defaults
        .into_iter()
        .map(|(name, value)| (name, json!(value.into_inner())))
        .collect();
    keep_digits(reader.text, &["defaults"], &mut values);
    for (name, value) in values {
        let span = spans.get(&name).cloned().unwrap_or_default();
        schema.set_default(&name, value).map_err(|error| {
            let detail = format!("`defaults`: {}", error.detail());
            reader.bad(span, detail).expecting(&name, error.allowed())
        })?;
    }
    let all = [ALLOW_OUTSIDE, PROMPTS_DIR].into_iter();
    let all = all.filter_map(|name| Some((name.to_owned(), schema.default_of(name)?.clone())));
    match outside::refusal(&all.collect()) {
        Some(detail) => Err(reader.bad(0..0, detail)),
        None => Ok(schema),
    }
}

/// The layers that an event about emptiness names are there.
fn check_empty(
    reader: &RecipeReader<'_>,
    notice: Option<&Spanned<Notice>>,
    layers: &[Spanned<LayerFile>],
) -> Result<(), Error> {
    let Some(notice) = notice else {
        return Ok(());
    };
    let known: BTreeSet<&String> = layers
        .iter()
        .map(|layer| layer.get_ref().name.get_ref())
        .collect();
    let unknown = |layer: &&String| !known.contains(layer);
    match notice.get_ref().layers.iter().find(unknown) {
        Some(layer) => {
            let error = reader.bad(notice.span(), format!("no layer named `{layer}`"));
            Err(error.expecting(layer, known))
        }
        None => Ok(()),
    }
}

/// What stands around several sections would be in no message.
fn no_text_outside_messages(
    reader: &RecipeReader<'_>,
    frame: Option<&Spanned<String>>,
    layers: &[Spanned<LayerFile>],
) -> Result<(), Error> {
    let alone = layers
        .iter()
        .map(Spanned::get_ref)
        .filter(|layer| layer.message.is_none());
    let lists = alone.filter_map(|layer| layer.list.as_ref());
    match frame.into_iter().chain(lists).next() {
        Some(frame) => Err(reader.bad(
            frame.span(),
            "a recipe of messages has no frame around several sections; every section is one message",
        )),
        None => Ok(()),
    }
}

fn layers(
    reader: &RecipeReader<'_>,
    recipe: &str,
    files: Vec<Spanned<LayerFile>>,
    templates: &TemplateSet,
    frames: &BTreeMap<String, Frame>,
) -> Result<Vec<Layer>, Error> {
    let mut seen = BTreeSet::new();
    let with_files: BTreeSet<String> = files
        .iter()
        .filter(|layer| layer.get_ref().files.is_some())
        .map(|layer| layer.get_ref().name.get_ref().clone())
        .collect();
    let mut layers = Vec::with_capacity(files.len());
    for layer in files {
        let span = layer.span();
        let layer = layer.into_inner();
        let name = layer.name.get_ref();
        if name.trim().is_empty() || name == RESERVED {
            let detail = format!("a layer cannot be named `{name}`");
            return Err(reader.bad(layer.name.span(), detail));
        }
        if !seen.insert(name.clone()) {
            let detail = format!("duplicate layer `{name}`; every layer needs a name of its own");
            return Err(reader.bad(layer.name.span(), detail));
        }
        if let Some(tree) = &layer.tree
            && !with_files.contains(tree.get_ref())
        {
            let found = tree.get_ref();
            let detail = format!("`tree` must name a layer with `files`, found `{found}`");
            return Err(reader
                .bad(tree.span(), detail)
                .expecting(found, &with_files));
        }
        check_frame(reader, layer.frame.as_ref(), frames)?;
        check_frame(reader, layer.list.as_ref(), frames)?;
        layers.push(resolve(reader, recipe, span, layer, templates)?);
    }
    Ok(layers)
}

fn resolve(
    reader: &RecipeReader<'_>,
    recipe: &str,
    span: Range<usize>,
    mut layer: LayerFile,
    templates: &TemplateSet,
) -> Result<Layer, Error> {
    let frame = frame_of(&mut layer);
    check_section(reader, &span, &layer)?;
    let asked = asked(&mut layer).map_err(|error| reader.bad(span.clone(), error.detail()))?;
    let name = layer.name.into_inner();
    let mut sources: Vec<(Box<dyn Source>, Volatility, Trust)> = Vec::new();
    if let Some(text) = layer.text {
        sources.push((
            source::text(recipe, &name, &text),
            Volatility::Constant,
            Trust::Own,
        ));
    }
    if let Some(template) = layer.template {
        let own = layer.trust == Some(Trust::Own);
        let source = template_source(reader, &template, own, templates)?;
        sources.push((source, Volatility::Constant, Trust::Own));
    }
    if let Some(field) = layer.value {
        sources.push((source::value(&field), Volatility::Task, Trust::Untrusted));
    }
    let of_project = |source: Box<dyn Source>| (source, Volatility::Project, Trust::Untrusted);
    let of_turn = |source: Box<dyn Source>| (source, Volatility::Turn, Trust::Untrusted);
    sources.extend(layer.file.map(|path| of_project(source::file(&path))));
    if let Some(files) = layer.files {
        let checked = files.check();
        checked.map_err(|error| reader.bad(span.clone(), error.detail()))?;
        sources.push(of_project(Box::new(files)));
    }
    let instructions = layer.instructions;
    sources.extend(instructions.map(|files| of_project(Box::new(files))));
    let tree = layer.tree.map(Spanned::into_inner);
    sources.extend(tree.map(|layer| of_project(source::tree(&layer))));
    sources.extend(asked.into_iter().map(of_turn));
    sources.extend(layer.source.map(|named| of_turn(source::named(&named))));
    let count = sources.len();
    let (Some((source, volatility, trust)), 1) = (sources.pop(), count) else {
        let detail = format!(
            "layer `{name}` has {count} sources; it needs exactly one of `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`"
        );
        return Err(reader.bad(span, detail));
    };
    Ok(Layer {
        role: layer.role,
        when: reader.condition(layer.when)?,
        source,
        frame,
        list: layer.list.map(Spanned::into_inner),
        message: layer.message.map(Spanned::into_inner),
        priority: layer
            .priority
            .map_or(Priority::Required, |priority| priority.0),
        volatility: layer.volatility.unwrap_or(volatility),
        trust: layer.trust.unwrap_or(trust),
        may_cut: layer.cut,
        optional: layer.optional,
        raw: layer.trust == Some(Trust::Own),
        section: layer.section.unwrap_or_else(|| name.clone()),
        name,
    })
}

/// Only a layer that makes one section can say what it is called.
fn check_section(
    reader: &RecipeReader<'_>,
    span: &Range<usize>,
    layer: &LayerFile,
) -> Result<(), Error> {
    let makes_one = layer.text.is_some() || layer.template.is_some() || layer.value.is_some();
    if layer.section.is_none() || makes_one {
        return Ok(());
    }
    let name = layer.name.get_ref();
    let detail = format!(
        "layer `{name}`: `section` is for `text`, `template` and `value`; the sections of others are called after files"
    );
    Err(reader.bad(span.clone(), detail))
}

/// Returns the source of a template that is there, and prints values as they are only where it may.
fn template_source(
    reader: &RecipeReader<'_>,
    named: &Spanned<String>,
    may_print_raw: bool,
    templates: &TemplateSet,
) -> Result<Box<dyn Source>, Error> {
    let name = named.get_ref();
    let Some(template) = templates.get(name) else {
        let known = templates.iter().map(|template| template.file.clone());
        let detail = format!("no template `{name}` in the recipe's folder");
        return Err(reader.bad(named.span(), detail).expecting(name, known));
    };
    match templates.raw_in(template).filter(|_| !may_print_raw) {
        Some(error) => Err(error.in_folder(reader.shown)),
        None => Ok(source::template(name)),
    }
}

/// Takes the frame out of a layer; a status has the block that agents know, unless the layer names another one.
fn frame_of(layer: &mut LayerFile) -> Option<String> {
    match (&layer.git_status, layer.frame.take()) {
        (Some(_), None) => Some(GIT_STATUS.to_owned()),
        (_, frame) => frame.map(Spanned::into_inner),
    }
}

/// Takes the sources out of a layer that look at the repository or run a command.
fn asked(layer: &mut LayerFile) -> Result<Vec<Box<dyn Source>>, Error> {
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    if let Some(status) = layer.git_status.take() {
        sources.push(Box::new(status));
    }
    if let Some(diff) = layer.git_diff.take() {
        diff.check()?;
        sources.push(Box::new(diff));
    }
    if let Some(files) = layer.git_files.take() {
        files.check()?;
        sources.push(Box::new(files));
    }
    if let Some(log) = layer.git_log.take() {
        log.check()?;
        sources.push(Box::new(log));
    }
    if let Some(command) = layer.command.take() {
        sources.push(Box::new(command));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
