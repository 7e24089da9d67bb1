//! Seals: a prompt with everything that explains it and everything that makes it again.
//!
//! A seal is four documents (manifest, source map, layout, inputs) and the texts that they name by fingerprint: bodies
//! of sections, tools, files, templates, the recipe, the input. It needs no project and no machine: [`Seal::text`]
//! puts the exact bytes together, [`Seal::check`] proves that nothing was changed, [`Seal::replay`] composes again.

mod check;
mod inputs;
mod layout;
mod parsed;
mod paths;
mod replay;
mod scrub;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use check::Fault;
pub use inputs::SealedInputs;
pub use parsed::Parsed;
pub use paths::{ROOT, RootPaths};
pub use replay::{Difference, Replay};

use self::layout::Layout;
use self::parsed::handed_over;
use crate::compose::{as_messages, compose_again, document};
use crate::inputs::Bodies;
use crate::manifest::{Manifest, SectionRecord};
use crate::reading::Reading;
use crate::recipe::Shape;
use crate::source_map::SourceMap;
use crate::{Composition, Error, ErrorKind, Fingerprint, Inputs, Options, Recipe};

/// The most bytes that a sealed prompt may have, and that may be read for it.
pub const MOST_BYTES: u64 = 512 << 20;

/// The documents of a seal, in the order in which they are named everywhere.
pub const DOCUMENTS: [&str; 4] = ["manifest", "source-map", "layout", "inputs"];

/// A prompt with everything that explains it and makes it again.
///
/// ```
/// use callsheet::inputs::Disk;
/// use callsheet::{Inputs, Options, Seal, compose, recipe};
/// use serde_json::json;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("hello.txt"), "Hello.")?;
/// let inputs = Inputs::new(Disk::watched().open(folder.path())?);
/// let recipe = recipe::built_in("pack").unwrap()?;
/// let (input, options) = (json!({"globs": ["*.txt"]}), Options::default());
/// let composition = compose(recipe, &input, &inputs, &options)?;
/// let seal = Seal::of(&composition, recipe, &input, &inputs, &options)?;
/// drop(folder);
///
/// assert_eq!(seal.text()?, composition.text);
/// assert!(seal.check().is_empty());
/// assert!(seal.replay()?.differences.is_empty(), "without the folder");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Seal {
    /// The documents as compact JSON, in the order of [`DOCUMENTS`].
    pub documents: [String; 4],
    /// The texts that they name.
    pub bodies: Bodies,
}

/// What a composition tells of itself: its manifest and its source map, as they are sealed.
struct ManifestAndMap {
    source_map: SourceMap,
    documents: [String; 2],
}

impl ManifestAndMap {
    fn of(composition: &Composition) -> Self {
        let map = &composition.source_map;
        let source_map = match composition.prompt.shape {
            Shape::Messages => map.folded(&composition.text),
            Shape::Text | Shape::System => map.clone(),
        };
        Self {
            documents: [compact(&composition.manifest), compact(&source_map)],
            source_map,
        }
    }

    /// Tells whether one of the paths is named.
    fn names(&self, paths: &RootPaths) -> bool {
        let mut documents = self.documents.iter();
        documents.any(|text| paths.are_in(text.as_bytes()))
    }
}

/// Tells whether composing again gave the same prompt and lost nothing more; details may name other paths.
fn is_same(again: &Composition, composition: &Composition) -> bool {
    let lost = |one: &Composition| {
        let omissions = one.manifest.omissions.iter();
        omissions.map(|lost| lost.reason).collect::<Vec<_>>()
    };
    again.text == composition.text && lost(again) == lost(composition)
}

impl Seal {
    /// Seals a composition; its inputs must have come from a disk that is watched.
    ///
    /// Where the root of the project is does not go into a seal: [`ROOT`] stands in its place, unless the prompt itself
    /// prints that path.
    pub fn of(
        composition: &Composition,
        recipe: &Recipe,
        input: &Value,
        inputs: &Inputs,
        options: &Options,
    ) -> Result<Self, Error> {
        let (seal, _) = Self::with_parsed(composition, recipe, input, inputs, options)?;
        Ok(seal)
    }

    /// Does the same, and returns the documents as values, too, so that nobody has to parse what was just written.
    pub fn with_parsed(
        composition: &Composition,
        recipe: &Recipe,
        input: &Value,
        inputs: &Inputs,
        options: &Options,
    ) -> Result<(Self, Parsed), Error> {
        let mut hidden = SealedInputs::of(recipe, input, inputs, options)?;
        let root = inputs.root.iter();
        let paths = RootPaths::new(root.flat_map(|root| [root.path(), root.real()]));
        let changed = hidden.hide(&paths, input.clone());
        let told = ManifestAndMap::of(composition);
        // From outside, `../shop/a.md` is a file of the project only as long as that is the name of its directory.
        let mut asked = recipe.folder().values().map(Cow::from);
        let from_outside = asked.any(|text| text.contains("../")) || compact(input).contains("../");
        if !changed && !told.names(&paths) && !from_outside {
            return Ok(Self::put((composition, told), recipe, hidden, options));
        }
        // Fingerprints of the input and what is told of paths are those of composing without the real path.
        let without = Options {
            inputs: hidden.given().to_vec(),
            ..options.clone()
        };
        let again = hidden
            .input()
            .and_then(|input| compose_again(recipe, &input, &hidden.world()?, &without));
        Ok(match again {
            Ok(again) if is_same(&again, composition) => Self::put(
                (&again, ManifestAndMap::of(&again)),
                recipe,
                hidden,
                options,
            ),
            _ => {
                let sealed = SealedInputs::of(recipe, input, inputs, options)?;
                Self::put((composition, told), recipe, sealed, options)
            }
        })
    }

    /// Puts the parts of a seal together.
    fn put(
        (composition, told): (&Composition, ManifestAndMap),
        recipe: &Recipe,
        mut sealed: SealedInputs,
        options: &Options,
    ) -> (Self, Parsed) {
        sealed.scrubbed = match options.redactor(recipe) {
            Some(redactor) => scrub::scrub(&mut sealed, &redactor, &composition.secrets),
            None => false,
        };
        // Without its secrets, and before the sections: most of them are files, which are kept already.
        let mut bodies = sealed.bodies();
        let text = &composition.text;
        let reading = reading(composition.prompt.shape, text);
        for section in &composition.manifest.sections {
            let body = || body_of(reading.as_ref(), text, section).as_bytes().into();
            bodies.entry(section.fingerprint).or_insert_with(body);
        }
        for tool in &composition.prompt.tools {
            add(&mut bodies, &tool.to_string());
        }
        let layout = Layout::of(text, composition.cut(), &composition.manifest);
        let [manifest, map] = told.documents;
        let mut seal = Self {
            documents: [manifest, map, compact(&layout), compact(&sealed)],
            bodies,
        };
        // Pseudonyms are shorter than secrets, so a cap that counts characters may cut elsewhere.
        if sealed.scrubbed && seal.replay().is_ok_and(|replay| !replay.is_equal()) {
            sealed.replays = false;
            seal.documents[3] = compact(&sealed);
        }
        let parsed = Parsed {
            manifest: composition.manifest.clone(),
            // As it is read: its places and messages are those of the layout.
            source_map: SourceMap {
                places: Vec::new(),
                messages: Vec::new(),
                ..told.source_map
            },
            layout,
            inputs: sealed.with_bodies(Bodies::new()),
        };
        (seal, parsed)
    }

    /// Returns the fingerprint of the whole: no byte of it can change without another.
    pub fn fingerprint(&self) -> Fingerprint {
        let documents = self.documents.iter().map(String::as_bytes);
        Fingerprint::of_named(DOCUMENTS.into_iter().zip(documents))
    }

    /// Returns the manifest as it was sealed; [`Seal::explained`] has one that speaks of the exact bytes in any case.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        self.document_at(0)
    }

    /// Returns the source map as it was sealed, without a span for every escape of messages.
    pub fn source_map(&self) -> Result<SourceMap, Error> {
        self.document_at(1)
    }

    /// Returns what the prompt was made from.
    pub fn inputs(&self) -> Result<SealedInputs, Error> {
        let inputs: SealedInputs = self.document_at(3)?;
        let named = inputs.named();
        let bodies = named.into_iter().map(|name| {
            let bytes = self.bodies.get(&name);
            bytes
                .map(|bytes| (name, bytes.clone()))
                .ok_or_else(|| not_there(name))
        });
        let bodies = bodies.collect::<Result<Bodies, Error>>()?;
        Ok(inputs.with_bodies(bodies))
    }

    fn layout(&self) -> Result<Layout, Error> {
        self.document_at(2)
    }

    fn document_at<T: DeserializeOwned>(&self, index: usize) -> Result<T, Error> {
        serde_json::from_str(&self.documents[index])
            .map_err(|error| damaged(format!("the {} is malformed: {error}", DOCUMENTS[index])))
    }

    /// Returns the fingerprints of all texts that the documents name.
    pub fn named(&self) -> Result<BTreeSet<Fingerprint>, Error> {
        Ok(parsed::named(&self.manifest()?, &self.document_at(3)?))
    }

    /// Returns the exact bytes that were handed over.
    pub fn text(&self) -> Result<String, Error> {
        let layout = self.layout()?;
        let told = self.told_text(&layout, &self.manifest()?)?;
        Ok(match handed_over(&layout, &told) {
            Cow::Borrowed(_) => told,
            Cow::Owned(text) => text,
        })
    }

    /// Returns the exact bytes with what explains them.
    pub fn explained(&self) -> Result<Explained, Error> {
        let (layout, mut manifest, source_map) =
            (self.layout()?, self.manifest()?, self.source_map()?);
        let text = self.told_text(&layout, &manifest)?;
        if layout.cut.shape != Shape::Messages {
            return Ok(Explained {
                text,
                manifest,
                source_map,
            });
        }
        if !source_map.covers(&text) {
            return Err(damaged("the source map does not cover the text"));
        }
        if !layout.is_of_contents() {
            return Ok(Explained {
                source_map: source_map.unfolded(&text),
                text,
                manifest,
            });
        }
        let mut sections = manifest.sections.iter();
        if !sections.all(|section| text.get(section.start..section.end).is_some()) {
            return Err(damaged(
                "the manifest has sections that are not in the text",
            ));
        }
        let (text, source_map) = listed(&layout, &text, source_map.placing(&manifest));
        manifest.place(&source_map.places);
        manifest.plan(&text, &source_map);
        Ok(Explained {
            text,
            manifest,
            source_map,
        })
    }

    /// Returns the prompt as people read it, and where the bodies of its sections stand in that.
    pub fn to_read(&self) -> Result<(String, Vec<Range<usize>>), Error> {
        self.read_as(&self.layout()?, &self.manifest()?)
    }

    /// Returns everything about the prompt as one JSON document, the same that its composition had.
    pub fn document(&self) -> Result<Value, Error> {
        let cut = self.layout()?.cut;
        let Explained {
            text,
            manifest,
            source_map,
        } = self.explained()?;
        let tools = manifest.tools.iter().map(|name| {
            let text = self.body(*name)?;
            crate::document::json(text)
                .map_err(|error| damaged(format!("a tool is not valid JSON: {error}")))
        });
        let tools = tools.collect::<Result<Vec<Value>, Error>>()?;
        Ok(document(&manifest, &source_map.spans, &cut, &text, &tools))
    }

    fn body(&self, name: Fingerprint) -> Result<&str, Error> {
        text_in(&self.bodies, name)
    }
}

/// The exact bytes of a sealed prompt with what explains them.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The bytes that were handed over.
    pub text: String,
    /// The record of the composition, with the places of sections in these bytes.
    pub manifest: Manifest,
    /// Where each of the bytes came from.
    pub source_map: SourceMap,
}

/// Returns messages that were sealed as their contents in the form in which they were handed over.
fn listed(layout: &Layout, text: &str, map: SourceMap) -> (String, SourceMap) {
    let map = SourceMap {
        messages: layout.cut.placed.clone(),
        ..map
    };
    as_messages(text, &map, layout.cut.single_system.as_deref())
}

/// Returns the reading of messages; a text is what it is.
fn reading(shape: Shape, text: &str) -> Option<Reading<'_>> {
    (shape == Shape::Messages).then(|| Reading::of(text))
}

/// Returns the body of a section, as it reads.
fn body_of<'a>(
    reading: Option<&'a Reading<'_>>,
    text: &'a str,
    section: &SectionRecord,
) -> &'a str {
    let place = section.start..section.end;
    match reading {
        Some(reading) => reading.slice(place),
        None => &text[place],
    }
}

fn add(bodies: &mut Bodies, text: &str) {
    let name = Fingerprint::of(text);
    bodies.entry(name).or_insert_with(|| text.as_bytes().into());
}

/// Returns a document without any space that could differ.
fn compact(document: &impl Serialize) -> String {
    // Our documents have text keys only; serialising them cannot fail.
    serde_json::to_string(document).unwrap_or_default()
}

fn text_in(bodies: &Bodies, name: Fingerprint) -> Result<&str, Error> {
    let bytes = bodies.get(&name).ok_or_else(|| not_there(name))?;
    std::str::from_utf8(bytes).map_err(|_| damaged(format!("the text {name} is not UTF-8")))
}

fn not_there(name: Fingerprint) -> Error {
    damaged(format!("the text {name} is not there"))
}

fn damaged(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, detail)
}

#[cfg(test)]
mod tests;
