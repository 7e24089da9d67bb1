//! Cache plans: how much of a prompt a provider's cache can keep, and what stands in its way.
//!
//! A cache keeps the longest beginning that two prompts share, so text that changes often belongs behind text that
//! does not. A plan looks at one prompt and what its layers declare, or at two prompts and what really changed. It
//! computes from texts and spans alone and reads nothing.

mod advice;
mod clock;
mod declared;
mod divergence;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use advice::{Advice, Step};
pub use declared::{CacheRecord, OutOfOrder};
pub use divergence::{ByteOrigin, Divergence};

pub(crate) use declared::declared;

use crate::compose::COMPOSITION;
use crate::manifest::SectionRecord;
use crate::reading::Reading;
use crate::source_map::MapSpan;
use crate::tokens::Encoding;
use crate::{Composition, Fingerprint, Volatility, recipe};

/// The name and version of the shape of a plan.
const SCHEMA: &str = "callsheet.cache/1";

/// A prompt as a cache sees it.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The exact bytes.
    pub text: String,
    /// Whether its recipe is one of the project, whose layers can be moved.
    pub own: bool,
    /// Its sections, in order; none are known of a plain text.
    pub sections: Vec<CachedSection>,
    /// Where its bytes came from; nothing is known of a plain text.
    pub spans: Vec<MapSpan>,
}

/// A section as a cache sees it.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct CachedSection {
    /// The layer it fills.
    pub layer: String,
    /// The name of the layer, or the path of the file.
    pub name: String,
    /// What its text came from, such as `input:FIELD`; empty if that is not known.
    #[serde(default)]
    pub source: String,
    /// The first byte of its body.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// How often it is declared to change.
    pub volatility: Volatility,
}

impl CachedSection {
    /// Returns the name that people read.
    pub fn label(&self) -> String {
        label(&self.layer, &self.name)
    }
}

/// Returns the name of a section that people read: that of its layer, and its own where that is another.
pub(crate) fn label(layer: &str, name: &str) -> String {
    if layer == name {
        layer.to_owned()
    } else {
        format!("{layer}: {name}")
    }
}

impl From<&SectionRecord> for CachedSection {
    fn from(section: &SectionRecord) -> Self {
        Self {
            layer: section.layer.clone(),
            name: section.name.clone(),
            source: section.source.clone(),
            start: section.start,
            end: section.end,
            volatility: section.volatility,
        }
    }
}

/// Tells whether a recipe is not one that comes with the library.
fn is_own(name: &str, fingerprint: Option<Fingerprint>) -> bool {
    match recipe::built_in(name) {
        Some(Ok(recipe)) => fingerprint.is_some_and(|found| found != recipe.fingerprint),
        _ => true,
    }
}

impl From<&Composition> for Side {
    fn from(composition: &Composition) -> Self {
        let (recipe, sections) = (
            &composition.manifest.recipe,
            composition.manifest.sections.iter(),
        );
        Self {
            text: composition.text.clone(),
            own: is_own(&recipe.name, Some(recipe.fingerprint)),
            sections: sections.map(CachedSection::from).collect(),
            spans: composition.source_map.spans.clone(),
        }
    }
}

impl Side {
    /// Makes the side of a text of which nothing else is known.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Reads a side from the document of a composition; anything else is not one.
    pub fn from_document(document: &Value) -> Option<Self> {
        if document.get("schema")? != COMPOSITION {
            return None;
        }
        let text = document
            .get("text")
            .or_else(|| document.get("system_prompt"))?
            .as_str()?
            .to_owned();
        let sections: Vec<CachedSection> = Vec::deserialize(document.get("sections")?).ok()?;
        let inside = |start: usize, end: usize| text.get(start..end).is_some();
        if !sections.iter().all(|part| inside(part.start, part.end)) {
            return None;
        }
        // Without a whole map, origins are unknown and everything else still holds.
        let spans = document
            .get("spans")
            .and_then(|spans| Vec::<MapSpan>::deserialize(spans).ok())
            .filter(|spans| spans.iter().all(|span| inside(span.start, span.end)))
            .unwrap_or_default();
        let recipe = document.get("recipe").and_then(Value::as_str);
        Some(Self {
            text,
            own: recipe.is_some_and(|name| is_own(name, None)),
            sections,
            spans,
        })
    }

    fn is_plain(&self) -> bool {
        self.sections.is_empty() && self.spans.is_empty()
    }

    /// Returns all sections, with a number that tells equal names apart.
    fn keyed_parts(&self) -> impl Iterator<Item = (&CachedSection, usize)> {
        let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        self.sections.iter().map(move |part| {
            let nth = seen.entry((&part.layer, &part.name)).or_default();
            *nth += 1;
            (part, *nth)
        })
    }

    /// Returns the bodies of all sections under a key that tells equal names apart.
    fn keyed(&self) -> BTreeMap<(&str, &str, usize), &str> {
        let bodies = self.keyed_parts().map(|(part, nth)| {
            let key = (part.layer.as_str(), part.name.as_str(), nth);
            (key, &self.text[part.start..part.end])
        });
        bodies.collect()
    }
}

/// How much of a prompt a cache can keep, and why not more.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CachePlan {
    /// The name and version of this shape.
    pub schema: &'static str,
    /// The vocabulary of the token counts, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// The size of the one.
    pub a: Extent,
    /// The size of the other, where there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Extent>,
    /// What a cache keeps: the common beginning of two, or everything before the first declared change of one.
    pub prefix: Extent,
    /// The first section that is declared to change with the task or the turn.
    pub first_volatile_section: Option<String>,
    /// Where two prompts part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
    /// The sections: those of the one in order, then those that only the other has.
    pub sections: Vec<PlannedSection>,
    /// What somebody can do so that a cache keeps more.
    pub advice: Vec<Advice>,
}

/// A size in bytes, and in tokens where they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Extent {
    /// The number of bytes.
    pub bytes: usize,
    /// The number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// What becomes of a section.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlannedSection {
    /// The layer it fills.
    pub layer: String,
    /// The name of the layer, or the path of the file.
    pub name: String,
    /// How often it is declared to change.
    pub volatility: Volatility,
    /// What happened to it from the one to the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Whether the whole of it lies in what a cache keeps.
    pub kept: bool,
    /// Its size.
    #[serde(flatten)]
    pub extent: Extent,
}

/// What happened to a section from one prompt to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Its text is equal in both.
    Same,
    /// Its text differs.
    Changed,
    /// Only the other has it.
    Added,
    /// Only the one has it.
    Removed,
}

impl Change {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// Plans one prompt by what its layers declare, or two by what really changed as well.
///
/// Tokens are counted only where an encoding is given.
///
/// ```
/// use callsheet::cache::{Side, plan};
///
/// let (monday, tuesday) = (Side::plain("Be brief. Monday."), Side::plain("Be brief. Tuesday."));
/// assert_eq!(plan(&monday, Some(&tuesday), None).prefix.bytes, 10);
/// ```
pub fn plan(a: &Side, b: Option<&Side>, encoding: Option<Encoding>) -> CachePlan {
    if let Some(b) = b
        && a.is_plain() != b.is_plain()
    {
        // What is known of one alone cannot be compared.
        let (a, b) = (Side::plain(&a.text), Side::plain(&b.text));
        return plan(&a, Some(&b), encoding);
    }
    let extent = |side: &Side, range: Range<usize>| Extent {
        bytes: range.len(),
        tokens: encoding.map(|encoding| Reading::of(&side.text).tokens(encoding, range)),
    };
    let record = declared(&a.text, &a.sections, &a.spans);
    let prefix = b.map_or(record.stable_prefix_bytes, |b| {
        common_prefix(&a.text, &b.text)
    });
    CachePlan {
        schema: SCHEMA,
        encoding: encoding.map(Encoding::name),
        a: extent(a, 0..a.text.len()),
        b: b.map(|b| extent(b, 0..b.text.len())),
        prefix: extent(a, 0..prefix),
        divergence: b.and_then(|b| divergence::find(a, b, prefix)),
        sections: sections(a, b, prefix, &extent),
        advice: advice::advice(&record, a, b, &extent),
        first_volatile_section: record.first_volatile_section,
    }
}

fn sections(
    a: &Side,
    b: Option<&Side>,
    prefix: usize,
    extent: &impl Fn(&Side, Range<usize>) -> Extent,
) -> Vec<PlannedSection> {
    let (old, new) = (a.keyed(), b.map(Side::keyed));
    let row = |side: &Side, part: &CachedSection, change: Option<Change>| PlannedSection {
        layer: part.layer.clone(),
        name: part.name.clone(),
        volatility: part.volatility,
        change,
        kept: change != Some(Change::Added) && part.end <= prefix,
        extent: extent(side, part.start..part.end),
    };
    let mut rows: Vec<PlannedSection> = changes(a, new.as_ref(), Change::Removed)
        .map(|(part, change)| row(a, part, change))
        .collect();
    if let Some(b) = b {
        let added = changes(b, Some(&old), Change::Added);
        rows.extend(
            added
                .filter(|(_, change)| *change == Some(Change::Added))
                .map(|(part, change)| row(b, part, change)),
        );
    }
    rows
}

/// Returns the sections of a side with what became of them in `other`; `alone` is the word for those that it lacks.
fn changes<'a>(
    side: &'a Side,
    other: Option<&'a BTreeMap<(&str, &str, usize), &str>>,
    alone: Change,
) -> impl Iterator<Item = (&'a CachedSection, Option<Change>)> {
    side.keyed_parts().map(move |(part, nth)| {
        let key = (part.layer.as_str(), part.name.as_str(), nth);
        let change = other.map(|other| match other.get(&key) {
            Some(body) if **body == side.text[part.start..part.end] => Change::Same,
            Some(_) => Change::Changed,
            None => alone,
        });
        (part, change)
    })
}

/// Returns the length of the longest common beginning, on a character boundary.
pub fn common_prefix(one: &str, other: &str) -> usize {
    let shared = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    one.floor_char_boundary(shared)
}

#[cfg(test)]
mod tests;
