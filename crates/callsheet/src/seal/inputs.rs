//! What a prompt was made from, as values: recipe, input, options, and what the disk answered.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RootPaths, damaged};
use crate::document::Given;
use crate::inputs::{Bodies, Disk, Readings};
use crate::manifest::RecipeRecord;
use crate::redact::{Key, Level, Rule, Rules};
use crate::tokens::Encoding;
use crate::{Budget, Error, ErrorKind, Fingerprint, Inputs, Options, Recipe};

/// The name and version of the shape of sealed inputs.
pub(super) const SCHEMA: &str = "callsheet.inputs/1";

/// What a prompt was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedInputs {
    /// The name and version of this shape.
    pub schema: String,
    /// The recipe.
    recipe: SealedRecipe,
    /// The input document as compact JSON.
    input: Fingerprint,
    /// How it was composed.
    options: SealedOptions,
    /// The folder that could be read, where there was one, and the size above which a file was refused; the folder is
    /// [`super::ROOT`], unless the prompt itself names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<(String, u64)>,
    /// The sources that the composing program brought; what they gave cannot be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    /// Whether composing again gives the same bytes; pseudonyms in the place of secrets can stand in the way.
    pub replays: bool,
    /// Whether pseudonyms stand in the place of secrets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) scrubbed: bool,
    /// What the disk answered.
    pub readings: Readings,
    /// The texts of recipe and input.
    #[serde(skip)]
    texts: Bodies,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedRecipe {
    name: String,
    home: String,
    files: BTreeMap<String, Fingerprint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<usize>,
    encoding: Encoding,
    count_tokens: bool,
    redact: Level,
    /// The rules of the project, which come to the built-in ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    redact_rules: Vec<Rule>,
    /// What each of several documents gave to the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<Given>,
}

impl SealedInputs {
    pub(super) fn of(
        recipe: &Recipe,
        input: &Value,
        inputs: &Inputs,
        options: &Options,
    ) -> Result<Self, Error> {
        let readings = match &inputs.root {
            Some(root) => root.disk().readings().ok_or_else(|| {
                Error::new(
                    ErrorKind::BadInput,
                    "only what was read from a watched disk can be sealed",
                )
            })?,
            None => Readings::default(),
        };
        let mut texts = Bodies::new();
        let mut add = |text: &str| {
            super::add(&mut texts, text);
            Fingerprint::of(text)
        };
        let files = recipe.folder().iter();
        let files = files.map(|(name, text)| (name.clone(), add(text)));
        Ok(Self {
            schema: SCHEMA.to_owned(),
            recipe: SealedRecipe {
                name: recipe.name.clone(),
                home: recipe.home.clone(),
                files: files.collect(),
            },
            input: add(&input.to_string()),
            options: SealedOptions {
                bytes: options.budget.bytes,
                tokens: options.budget.tokens,
                encoding: options.encoding,
                count_tokens: options.count_tokens,
                redact: options.redact,
                redact_rules: options.redact_rules.own().to_vec(),
                inputs: options.recorded_inputs(options.redactor(recipe).as_ref()),
            },
            root: inputs.root.as_ref().map(|root| {
                let path = root.path().to_string_lossy().into_owned();
                (path, root.max_file_bytes())
            }),
            sources: inputs.sources.keys().cloned().collect(),
            replays: true,
            scrubbed: false,
            readings,
            texts,
        })
    }

    /// Returns the texts that this names, where they are at hand.
    pub(super) fn bodies(&self) -> Bodies {
        let mut bodies = self.texts.clone();
        let files = self.readings.bodies().iter();
        bodies.extend(files.map(|(name, bytes)| (*name, bytes.clone())));
        bodies
    }

    pub(super) fn with_bodies(mut self, bodies: Bodies) -> Self {
        self.readings = self.readings.with_bodies(bodies.clone());
        self.texts = bodies;
        self
    }

    /// Returns the fingerprints of all texts that this names.
    pub fn named(&self) -> BTreeSet<Fingerprint> {
        let recipe = self.recipe.files.values().copied();
        let read = self.readings.files().map(|(_, _, body)| body);
        let observed = self.readings.observed().map(|(_, body)| body);
        let named = recipe.chain(read).chain(observed);
        named.chain([self.input]).collect()
    }

    /// Returns every file that was read: its path relative to the root, or absolute where it lies elsewhere.
    pub fn files(&self) -> BTreeSet<String> {
        let root = self.root.as_ref().map_or("", |(root, _)| root.as_str());
        let files = self.readings.files();
        files
            .filter_map(|(folder, path, _)| {
                let whole = format!("{}/{path}", folder?);
                let inner = whole.strip_prefix(root);
                let inner = inner.and_then(|inner| inner.strip_prefix('/'));
                Some(inner.map_or(whole.clone(), str::to_owned))
            })
            .collect()
    }

    /// Returns the paths of the root that was sealed.
    pub(super) fn root_paths(&self) -> RootPaths {
        RootPaths::new(self.root.iter().map(|(root, _)| root))
    }

    /// Puts [`super::ROOT`] in the place of the root, and in that of its path in the input; tells whether the input has
    /// changed.
    ///
    /// `input` is the sealed input, which whoever sealed it has at hand and nobody has to parse again.
    pub(super) fn hide(&mut self, paths: &RootPaths, mut input: Value) -> bool {
        if let Some((root, _)) = &mut self.root {
            *root = paths.hide(root).into_owned();
        }
        for given in &mut self.options.inputs {
            *given = given.map(|text| paths.hide(text).into_owned());
        }
        self.readings.hide(paths);
        paths.hide_value(&mut input) && self.change(&input, |_| false)
    }

    /// Does the same, and takes the path out of all texts, too.
    pub(super) fn hide_everywhere(&mut self, paths: &RootPaths) {
        let input = self.input().unwrap_or_default();
        self.hide(paths, input);
        let input = self.input().unwrap_or_default();
        self.change(&input, |text| match paths.hide(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(hidden) => {
                *text = hidden;
                true
            }
        });
    }

    /// Tells whether secrets became pseudonyms when it was composed, as far as the caller asked for it.
    pub fn is_redacted(&self) -> bool {
        self.options.redact != Level::Off
    }

    /// Returns what a manifest says of the recipe, whose texts are among `bodies`.
    pub(super) fn recipe_record(&self, bodies: &Bodies) -> RecipeRecord {
        let files = self.recipe.files.iter();
        let texts: Vec<(&str, &[u8])> = files
            .filter_map(|(name, body)| Some((name.as_str(), &**bodies.get(body)?)))
            .collect();
        RecipeRecord {
            name: self.recipe.name.clone(),
            fingerprint: Fingerprint::of_named(texts),
        }
    }

    /// Tells whether pseudonyms stand in what was sealed.
    pub(super) fn is_scrubbed(&self) -> bool {
        self.scrubbed
    }

    /// Returns what each of several documents gave to the input.
    pub(super) fn given(&self) -> &[Given] {
        &self.options.inputs
    }

    /// Returns the fingerprint of the input document.
    pub fn input_name(&self) -> Fingerprint {
        self.input
    }

    /// Returns the input document.
    pub fn input(&self) -> Result<Value, Error> {
        self.input_in(&self.texts)
    }

    /// Returns the input document, whose text is among `bodies`.
    pub(super) fn input_in(&self, bodies: &Bodies) -> Result<Value, Error> {
        crate::document::json(super::text_in(bodies, self.input)?)
            .map_err(|error| damaged(format!("the input is not valid JSON: {error}")))
    }

    /// Puts other texts in the place of the input and of files that `change` changes; tells whether any did.
    pub(super) fn change(&mut self, input: &Value, change: impl Fn(&mut String) -> bool) -> bool {
        let text = input.to_string();
        let mut any = Fingerprint::of(&text) != self.input;
        self.texts.remove(&self.input);
        self.input = Fingerprint::of(&text);
        super::add(&mut self.texts, &text);
        for body in self.recipe.files.values_mut() {
            let old = self.texts.get(body).map(|bytes| bytes.to_vec());
            let text = old.and_then(|bytes| String::from_utf8(bytes).ok());
            let Some(mut text) = text else { continue };
            if change(&mut text) {
                self.texts.remove(body);
                *body = Fingerprint::of(&text);
                super::add(&mut self.texts, &text);
                any = true;
            }
        }
        any | self.readings.change(|bytes| {
            let mut text = String::from_utf8(bytes.to_vec()).ok()?;
            change(&mut text).then(|| text.into_bytes())
        })
    }

    /// Returns the recipe.
    pub fn recipe(&self) -> Result<Recipe, Error> {
        let files = self.recipe.files.iter();
        let folder = files
            .map(|(name, body)| Ok((name.clone(), super::text_in(&self.texts, *body)?.to_owned())));
        let folder = folder.collect::<Result<_, Error>>()?;
        Recipe::parse(&self.recipe.name, &self.recipe.home, folder)
    }

    /// Returns what composing again may look at.
    pub(super) fn world(&self) -> Result<Inputs, Error> {
        if let Some(source) = self.sources.first() {
            let detail = format!("the source `{source}` belongs to the program that composed");
            return Err(Error::new(ErrorKind::BadInput, detail));
        }
        let Some((root, max_file_bytes)) = &self.root else {
            return Ok(Inputs::nowhere());
        };
        let root = Disk::sealed(self.readings.clone()).open(PathBuf::from(root))?;
        Ok(Inputs::new(root.with_max_file_bytes(*max_file_bytes)))
    }

    /// Returns how it was composed; secrets are pseudonyms already, so that no key matters.
    pub(super) fn options(&self) -> Result<Options, Error> {
        let options = &self.options;
        Ok(Options {
            budget: Budget {
                bytes: options.bytes,
                tokens: options.tokens,
            },
            encoding: options.encoding,
            count_tokens: options.count_tokens,
            redact: options.redact,
            redact_key: Key::default(),
            redact_rules: Rules::with(options.redact_rules.clone())?,
            inputs: options.inputs.clone(),
        })
    }
}
