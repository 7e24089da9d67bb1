//! Seals: a prompt with everything that explains it and everything that makes it again.
//!
//! A seal is four documents (manifest, source map, layout, inputs) and the texts that they name by fingerprint: bodies
//! of sections, tools, files, templates, the recipe, the input. It needs no project and no machine: [`Seal::rendered`]
//! puts the exact bytes together, [`Seal::check`] proves that nothing was changed, [`Seal::replay`] composes again.

mod check;
mod inputs;
mod layout;
mod paths;
mod replay;
mod scrub;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use check::Fault;
pub use inputs::SealedInputs;
pub use paths::{ROOT, RootPaths};
pub use replay::{Difference, Replay};

use self::layout::Layout;
use crate::compose::document;
use crate::inputs::Bodies;
use crate::manifest::Manifest;
use crate::source_map::SourceMap;
use crate::{Composition, Error, ErrorKind, Fingerprint, Inputs, Options, Recipe, compose};

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
/// assert_eq!(seal.rendered()?, composition.rendered());
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
        let sealed = SealedInputs::of(recipe, input, inputs, options)?;
        let root = inputs.root.iter();
        let paths = RootPaths::new(root.flat_map(|root| [root.path(), root.real()]));
        let mut hidden = sealed.clone();
        let changed = hidden.hide(&paths);
        let told = [
            compact(&composition.manifest),
            compact(&composition.source_map),
        ];
        if !changed && !told.iter().any(|text| paths.are_in(text.as_bytes())) {
            return Ok(Self::put(composition, recipe, hidden, options));
        }
        // Fingerprints of the input and what is told of paths are those of composing without the real path.
        let again = hidden
            .input()
            .and_then(|input| compose(recipe, &input, &hidden.world()?, options));
        Ok(match again {
            Ok(again) if again.rendered() == composition.rendered() => {
                Self::put(&again, recipe, hidden, options)
            }
            _ => Self::put(composition, recipe, sealed, options),
        })
    }

    fn put(
        composition: &Composition,
        recipe: &Recipe,
        mut sealed: SealedInputs,
        options: &Options,
    ) -> Self {
        let mut bodies = Bodies::new();
        let (text, map) = (&composition.text, &composition.source_map);
        for section in &composition.manifest.sections {
            add(&mut bodies, &text[section.start..section.end]);
        }
        for tool in &composition.prompt.tools {
            add(&mut bodies, &tool.to_string());
        }
        let layout = Layout::of(text, composition.cut(), &composition.manifest);
        sealed.scrubbed = match options.redactor(recipe) {
            Some(redactor) => scrub::scrub(&mut sealed, &redactor, &composition.secrets),
            None => false,
        };
        let mut seal = Self {
            documents: [
                compact(&composition.manifest),
                compact(map),
                compact(&layout),
                String::new(),
            ],
            bodies,
        };
        // Pseudonyms are shorter than secrets, so a cap that counts characters may cut elsewhere.
        seal.put_inputs(&sealed);
        if sealed.scrubbed && seal.replay().is_ok_and(|replay| !replay.is_equal()) {
            sealed.replays = false;
            seal.put_inputs(&sealed);
        }
        seal
    }

    fn put_inputs(&mut self, sealed: &SealedInputs) {
        self.documents[3] = compact(sealed);
        self.bodies.extend(sealed.bodies());
    }

    /// Returns the fingerprint of the whole: no byte of it can change without another.
    pub fn fingerprint(&self) -> Fingerprint {
        let documents = self.documents.iter().map(String::as_bytes);
        Fingerprint::of_named(DOCUMENTS.into_iter().zip(documents))
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        self.document_at(0)
    }

    /// Returns the source map of the text.
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
        let manifest = self.manifest()?;
        let mut named = self.document_at::<SealedInputs>(3)?.named();
        named.extend(manifest.sections.iter().map(|section| section.fingerprint));
        named.extend(&manifest.tools);
        Ok(named)
    }

    /// Returns the text of all sections in order, which the source map is about.
    pub fn text(&self) -> Result<String, Error> {
        self.layout()?
            .text(&self.manifest()?, |name| self.body(name))
    }

    /// Returns the exact bytes that were handed over.
    pub fn rendered(&self) -> Result<String, Error> {
        let layout = self.layout()?;
        let text = layout.text(&self.manifest()?, |name| self.body(name))?;
        layout.check_cut(&text)?;
        Ok(match layout.cut.handed_over(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(messages) => messages,
        })
    }

    /// Returns everything about the prompt as one JSON document, the same that its composition had.
    pub fn document(&self) -> Result<Value, Error> {
        let (manifest, layout) = (self.manifest()?, self.layout()?);
        let text = layout.text(&manifest, |name| self.body(name))?;
        layout.check_cut(&text)?;
        let spans = self.source_map()?.spans;
        let tools = manifest.tools.iter().map(|name| {
            let text = self.body(*name)?;
            serde_json::from_str(text)
                .map_err(|error| damaged(format!("a tool is no JSON: {error}")))
        });
        let tools = tools.collect::<Result<Vec<Value>, Error>>()?;
        Ok(document(&manifest, &spans, &layout.cut, &text, &tools))
    }

    fn body(&self, name: Fingerprint) -> Result<&str, Error> {
        let bytes = self.bodies.get(&name).ok_or_else(|| not_there(name))?;
        std::str::from_utf8(bytes).map_err(|_| damaged(format!("the text {name} is no UTF-8")))
    }
}

fn add(bodies: &mut Bodies, text: &str) {
    bodies.insert(Fingerprint::of(text), text.as_bytes().into());
}

/// Returns a document without any space that could differ.
fn compact(document: &impl Serialize) -> String {
    // Our documents have text keys only; serialising them cannot fail.
    serde_json::to_string(document).unwrap_or_default()
}

fn not_there(name: Fingerprint) -> Error {
    damaged(format!("the text {name} is not there"))
}

fn damaged(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, detail)
}

#[cfg(test)]
mod tests;
