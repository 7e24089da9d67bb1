//! The documents of a seal as values.
//!
//! A prompt of many sections has long documents, so whoever asks a seal more than one thing parses them once.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::layout::Layout;
use super::{Seal, SealedInputs, listed, reading};
use crate::manifest::Manifest;
use crate::source_map::{MapSpan, SourceMap};
use crate::{Error, Fingerprint};

/// The documents of a seal as values; [`Seal::parsed`] makes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The manifest as it was sealed.
    pub manifest: Manifest,
    /// The source map as it was sealed, without a span for every escape of messages.
    pub source_map: SourceMap,
    pub(super) layout: Layout,
    /// What the prompt was made from, without the texts that it names.
    pub inputs: SealedInputs,
}

impl Parsed {
    /// Returns the fingerprints of all texts that the documents name.
    pub fn named(&self) -> BTreeSet<Fingerprint> {
        named(&self.manifest, &self.inputs)
    }
}

/// Returns the fingerprints of all texts that a manifest and inputs name.
pub(super) fn named(manifest: &Manifest, inputs: &SealedInputs) -> BTreeSet<Fingerprint> {
    let mut named = inputs.named();
    named.extend(manifest.sections.iter().map(|section| section.fingerprint));
    named.extend(&manifest.tools);
    named
}

impl Seal {
    /// Parses all documents.
    pub fn parsed(&self) -> Result<Parsed, Error> {
        Ok(Parsed {
            manifest: self.manifest()?,
            source_map: self.source_map()?,
            layout: self.layout()?,
            inputs: self.document_at(3)?,
        })
    }

    /// Returns the prompt as people read it, and where the bodies of its sections stand in that.
    ///
    /// `parsed` are the documents of this seal.
    pub fn to_read_parsed(&self, parsed: &Parsed) -> Result<(String, Vec<Range<usize>>), Error> {
        self.read_as(&parsed.layout, &parsed.manifest)
    }

    pub(super) fn read_as(
        &self,
        layout: &Layout,
        manifest: &Manifest,
    ) -> Result<(String, Vec<Range<usize>>), Error> {
        let text = self.told_text(layout, manifest)?;
        let sections = manifest.sections.iter();
        let sections = sections.map(|section| section.start..section.end);
        let shape = Some(layout.cut.shape).filter(|_| !layout.is_of_contents());
        let Some(reading) = reading(shape.unwrap_or_default(), &text) else {
            let sections = sections.collect();
            return Ok((text, sections));
        };
        let read = |place: Range<usize>| reading.to_read(place.start)..reading.to_read(place.end);
        Ok((reading.text().to_owned(), sections.map(read).collect()))
    }

    /// Returns the text that manifest and source map speak of.
    pub(super) fn told_text(&self, layout: &Layout, manifest: &Manifest) -> Result<String, Error> {
        layout.text(manifest, |name| self.body(name))
    }
}

/// Returns the exact bytes that were handed over, of the text that manifest and source map speak of.
pub(super) fn handed_over<'t>(layout: &Layout, told: &'t str) -> Cow<'t, str> {
    if !layout.is_of_contents() {
        return told.into();
    }
    let frame = SourceMap {
        spans: vec![MapSpan::frame(0..told.len())],
        ..SourceMap::default()
    };
    listed(layout, told, frame).0.into()
}
