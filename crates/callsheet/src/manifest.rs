//! Manifests: the record of a composition.
//!
//! Everything in it follows from the inputs alone, so the same composition has the same manifest.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cache::{self, CacheRecord, CachedSection};
use crate::compose::Prompt;
use crate::document::Given;
use crate::omission::Omission;
use crate::reading::Reading;
use crate::recipe::Recipe;
use crate::redact::{self, Redaction};
use crate::section::{Priority, Role, Section, Trust, Volatility};
use crate::source_map::{SectionPlace, SourceMap};
use crate::tokens::{self, Encoding};
use crate::{Event, Fingerprint};

/// The name and version of the shape of a manifest.
pub(crate) const SCHEMA: &str = "callsheet.manifest/1";

/// The version of the engine that made a prompt.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// The record of a composition: every section's fingerprint, source and size, and what gave way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The name and version of this shape.
    pub schema: Cow<'static, str>,
    /// The version of the engine.
    pub engine: Cow<'static, str>,
    /// The recipe.
    pub recipe: RecipeRecord,
    /// The fingerprint of the checked input.
    pub input: Fingerprint,
    /// What each of several documents gave to the input, the later ones over the earlier ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Given>,
    /// The fingerprint of the exact bytes that are handed over.
    pub fingerprint: Fingerprint,
    /// The number of these bytes.
    pub bytes: usize,
    /// The number of tokens, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// The vocabulary of the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// What might be spent.
    pub budget: BudgetRecord,
    /// The sections that are in the prompt, in order.
    pub sections: Vec<SectionRecord>,
    /// The tools that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Fingerprint>,
    /// What a provider's cache can keep, by declared volatility.
    pub cache: CacheRecord,
    /// The secrets that became pseudonyms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<Redaction>,
    /// What was asked for and is not in the prompt.
    pub omissions: Vec<Omission>,
    /// What a person should hear of.
    pub events: Vec<Event>,
}

/// Which recipe made a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecipeRecord {
    /// The name.
    pub name: String,
    /// The fingerprint of all its files.
    pub fingerprint: Fingerprint,
}

/// What a prompt might cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetRecord {
    /// The bytes, where they were limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// The tokens, where they were limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// A section in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SectionRecord {
    /// The layer it fills.
    pub layer: String,
    /// The name of the layer, or the path of the file.
    pub name: String,
    /// Who it is from.
    pub role: Role,
    /// What its text came from.
    pub source: String,
    /// The fingerprint of that whole thing.
    pub source_fingerprint: Fingerprint,
    /// The first byte of its body in the bytes that are handed over.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// How many bytes these are.
    pub bytes: usize,
    /// The number of tokens of its body, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// The fingerprint of its body as it reads, without the escapes that a message has.
    pub fingerprint: Fingerprint,
    /// Whether it is our own.
    pub trust: Trust,
    /// How often it changes.
    pub volatility: Volatility,
    /// The number by which it may give way; nothing means it is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

impl SectionRecord {
    /// Returns the name that people read: that of the layer, and its own where that is another.
    pub fn label(&self) -> String {
        cache::label(&self.layer, &self.name)
    }
}

/// What is recorded of bodies before they go into the text.
pub(crate) struct BodyRecords {
    fingerprints: Vec<Fingerprint>,
    redactions: Vec<Redaction>,
}

impl BodyRecords {
    pub(crate) fn of(sections: &[Section]) -> Self {
        // A file that is printed whole is not hashed twice.
        let fingerprint = |section: &Section| {
            if !section.escape.changes_bodies() && section.body.is_whole(&section.source) {
                return section.source.fingerprint;
            }
            Fingerprint::of(section.printed().text())
        };
        Self {
            fingerprints: sections.iter().map(fingerprint).collect(),
            redactions: redact::records(sections),
        }
    }
}

impl Manifest {
    pub(crate) fn new(
        recipe: &Recipe,
        input: Fingerprint,
        prompt: &Prompt,
        bodies: BodyRecords,
        (handed_over, map): (&str, &SourceMap),
    ) -> Self {
        let sections = prompt.sections.iter().zip(bodies.fingerprints);
        let mut sections: Vec<_> = sections.zip(&map.places).collect();
        // Joined messages stand in another order than the layers.
        sections.sort_by_key(|(_, place)| place.framed.start);
        Self {
            schema: Cow::Borrowed(SCHEMA),
            engine: Cow::Borrowed(ENGINE),
            recipe: RecipeRecord {
                name: recipe.name.clone(),
                fingerprint: recipe.fingerprint,
            },
            input,
            inputs: Vec::new(),
            fingerprint: Fingerprint::of(handed_over),
            bytes: handed_over.len(),
            tokens: None,
            encoding: None,
            budget: BudgetRecord::default(),
            sections: sections
                .into_iter()
                .map(|((section, body), place)| record(section, body, place.body.clone()))
                .collect(),
            tools: prompt
                .tools
                .iter()
                .map(|tool| Fingerprint::of(tool.to_string()))
                .collect(),
            cache: CacheRecord::default(),
            redactions: bodies.redactions,
            omissions: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Puts the sections, which are in the order of `places`, where they stand in other bytes, and in the order there.
    pub(crate) fn place(&mut self, places: &[SectionPlace]) {
        for (section, place) in self.sections.iter_mut().zip(places) {
            section.start = place.body.start;
            section.end = place.body.end;
            section.bytes = place.body.len();
        }
        self.sections.sort_by_key(|section| section.start);
    }

    /// Adds what a cache can keep of the text that the sections stand in.
    pub(crate) fn plan(&mut self, text: &str, map: &SourceMap) {
        let parts: Vec<CachedSection> = self.sections.iter().map(CachedSection::from).collect();
        self.cache = cache::declared(text, &parts, &map.spans);
    }

    /// Adds the tokens of the prompt that the sections stand in, and of every section.
    pub fn count(&mut self, encoding: Encoding, prompt: &str) {
        let tokens = Reading::of(prompt).all_tokens(encoding);
        self.counted(encoding, prompt, tokens);
    }

    /// Adds the tokens of a prompt that were counted before, and those of every section.
    pub(crate) fn counted(&mut self, encoding: Encoding, prompt: &str, tokens: usize) {
        let reading = Reading::of(prompt);
        self.tokens = Some(tokens);
        self.encoding = Some(encoding);
        for section in &mut self.sections {
            let body = reading.slice(section.start..section.end);
            section.tokens = Some(tokens::count(encoding, body));
        }
    }

    /// Returns what was asked for and got lost, without what declared rules leave out.
    pub fn losses(&self) -> impl Iterator<Item = &Omission> {
        self.omissions.iter().filter(|omission| omission.is_loss())
    }
}

fn record(section: &Section, fingerprint: Fingerprint, body: Range<usize>) -> SectionRecord {
    SectionRecord {
        layer: section.layer.clone(),
        name: section.name.clone(),
        role: section.role,
        source: section.source.to_string(),
        source_fingerprint: section.source.fingerprint,
        start: body.start,
        end: body.end,
        bytes: body.len(),
        tokens: None,
        fingerprint,
        trust: section.trust,
        volatility: section.volatility,
        priority: match section.priority {
            Priority::Required => None,
            Priority::Optional(number) => Some(number),
        },
    }
}
