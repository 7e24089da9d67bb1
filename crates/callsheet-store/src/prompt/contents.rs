//! What a seal holds: its texts, those around their boundaries, what each is in the prompt, and what went in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet::manifest::Manifest;
use callsheet::seal::Parsed;
use callsheet::{Fingerprint, Seal};

use crate::body::Keys;
use crate::role::{BOUNDARY, FRAME, INPUT, SECTION, TOOL};
use crate::{pack, passage};

/// What a seal holds, by what it is in the prompt.
pub(super) struct Contents<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) texts: BTreeMap<Fingerprint, CarriedText>,
    /// The input document.
    pub(super) input: Fingerprint,
    /// The names of everything that went in.
    pub(super) sources: BTreeSet<String>,
}

/// A text that a prompt carries, and what it is in it.
pub(super) struct CarriedText {
    pub(super) text: Arc<[u8]>,
    pub(super) roles: i64,
    /// The place in prompts whose last text it may be kept as a delta against.
    pub(super) place: Option<String>,
}

impl<'a> Contents<'a> {
    /// Looks into a seal and its documents.
    pub(super) fn of(seal: &Seal, parsed: &'a Parsed) -> Result<Self, callsheet::Error> {
        let Parsed {
            manifest, inputs, ..
        } = parsed;
        let mut contents = Self {
            texts: BTreeMap::new(),
            input: inputs.input_name(),
            sources: sources(parsed),
            manifest,
        };
        let recipe = &manifest.recipe.name;
        for (_, path, body) in inputs.readings.files() {
            contents.add_at(seal, body, INPUT, || format!("file/{path}"));
        }
        for body in inputs.named() {
            contents.add(seal, body, INPUT);
        }
        let place = || format!("{recipe}/input");
        contents.add_at(seal, inputs.input_name(), INPUT, place);
        for tool in &manifest.tools {
            contents.add(seal, *tool, TOOL);
        }
        for section in &manifest.sections {
            let place = || format!("{recipe}/{}", section.label());
            contents.add_at(seal, section.fingerprint, SECTION, place);
        }
        let (text, places) = seal.to_read_parsed(parsed)?;
        if manifest.sections.is_empty() {
            if !text.is_empty() {
                contents.insert(text.into_bytes().into(), FRAME);
            }
            return Ok(contents);
        }
        for around in passage::around_boundaries(&text, &places) {
            contents.insert(around.as_bytes().into(), BOUNDARY);
        }
        Ok(contents)
    }

    fn add(&mut self, seal: &Seal, name: Fingerprint, role: i64) -> Option<&mut CarriedText> {
        let text = seal.bodies.get(&name)?;
        let carried = self.texts.entry(name).or_insert_with(|| CarriedText {
            text: Arc::clone(text),
            roles: 0,
            place: None,
        });
        carried.roles |= role;
        Some(carried)
    }

    /// Adds a text with its place, which short texts do not need.
    fn add_at(&mut self, seal: &Seal, name: Fingerprint, role: i64, place: impl Fn() -> String) {
        let carried = self.add(seal, name, role);
        if let Some(carried) = carried.filter(|carried| carried.text.len() >= pack::LEAST) {
            carried.place = Some(place());
        }
    }

    /// Adds a text that the seal does not have by itself.
    fn insert(&mut self, text: Arc<[u8]>, role: i64) {
        let (name, place) = (Fingerprint::of(&text), None);
        let roles = 0;
        let carried = self
            .texts
            .entry(name)
            .or_insert(CarriedText { text, roles, place });
        carried.roles |= role;
    }

    /// Returns what a prompt carries, and as what.
    pub(super) fn roles(&self) -> BTreeMap<Fingerprint, i64> {
        let texts = self.texts.iter();
        texts
            .map(|(name, carried)| (*name, carried.roles))
            .collect()
    }

    /// Returns the longest section that came from the input.
    pub(super) fn longest(&self, keys: &Keys) -> Option<(i64, &[u8])> {
        let sections = self.manifest.sections.iter();
        let given = sections.filter(|section| section.source.starts_with("input:"));
        let longest = given.max_by_key(|section| section.bytes)?;
        let carried = self.texts.get(&longest.fingerprint)?;
        Some((*keys.get(&longest.fingerprint)?, &carried.text))
    }
}

/// Returns the names of everything that went into a prompt: what its bytes came from, and every file that was read.
fn sources(parsed: &Parsed) -> BTreeSet<String> {
    let spans = parsed.source_map.spans.iter();
    let sections = parsed.manifest.sections.iter();
    let named = spans.map(|span| span.source.as_str());
    let named = named.chain(sections.map(|section| section.source.as_str()));
    let named = named.filter(|name| name.starts_with("file:") || name.starts_with("template:"));
    let read = parsed.inputs.files().into_iter();
    let read = read.map(|path| format!("file:{path}"));
    // Most are named several times.
    let named: BTreeSet<&str> = named.collect();
    let all = named.into_iter().map(str::to_owned).chain(read);
    // The character NUL cannot be stored in a name.
    all.map(|name| {
        if name.contains('\0') {
            name.replace('\0', "\u{fffd}")
        } else {
            name
        }
    })
    .collect()
}
