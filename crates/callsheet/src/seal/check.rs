//! Proof that a seal is what it was: every fingerprint is derived again.

use std::fmt;

use super::parsed::handed_over;
use super::{DOCUMENTS, Parsed, Seal, body_of, inputs, reading};
use crate::manifest::{self, Manifest};
use crate::recipe::Shape;
use crate::source_map;
use crate::{Error, Fingerprint};

/// Something in a seal that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What is at fault: a document, or a text.
    pub what: String,
    /// What is wrong with it.
    pub detail: String,
}

impl Fault {
    fn new(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.detail)
    }
}

impl Seal {
    /// Derives every fingerprint again and returns what does not hold.
    ///
    /// That the documents themselves are the sealed ones is told by [`Seal::fingerprint`].
    pub fn check(&self) -> Vec<Fault> {
        match self.parsed() {
            Ok(parsed) => self.check_parsed(&parsed),
            Err(error) => vec![Fault::new("documents", error.detail())],
        }
    }

    /// Does what [`Seal::check`] does; `parsed` are the documents of this seal.
    pub fn check_parsed(&self, parsed: &Parsed) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self
            .bodies
            .iter()
            .filter(|(name, bytes)| Fingerprint::of(bytes) != **name)
            .map(|(name, _)| Fault::new(format!("text {name}"), "hash mismatch"))
            .collect();
        let missing = parsed.named().into_iter();
        let missing = missing.filter(|name| !self.bodies.contains_key(name));
        faults.extend(missing.map(|name| Fault::new(format!("text {name}"), "it is not there")));
        for found in [self.check_prompt(parsed), self.check_inputs(parsed)] {
            match found {
                Ok(more) => faults.extend(more),
                Err(error) => faults.push(Fault::new("documents", error.detail())),
            }
        }
        faults
    }

    fn check_prompt(&self, parsed: &Parsed) -> Result<Vec<Fault>, Error> {
        let Parsed {
            manifest,
            source_map: map,
            layout,
            ..
        } = parsed;
        let mut faults = Vec::new();
        let schemas = [
            (0, &*manifest.schema, manifest::SCHEMA),
            (1, map.schema.as_str(), source_map::SCHEMA),
        ];
        for (index, found, known) in schemas {
            if found != known {
                let detail = format!("its schema is `{found}`, not `{known}`");
                faults.push(Fault::new(DOCUMENTS[index], detail));
            }
        }
        let unknown = layout.unknown_schema();
        faults.extend(unknown.map(|detail| Fault::new(DOCUMENTS[2], detail)));
        let told = self.told_text(layout, manifest)?;
        let shape = Some(layout.cut.shape).filter(|_| !layout.is_of_contents());
        faults.extend(self.check_sections(manifest, &told, shape.unwrap_or_default()));
        if !map.covers(&told) {
            faults.push(Fault::new(DOCUMENTS[1], "it does not cover the text"));
        }
        let text = handed_over(layout, &told);
        if Fingerprint::of(&*text) != manifest.fingerprint || text.len() != manifest.bytes {
            faults.push(Fault::new("prompt", "it is not what the manifest says"));
        }
        Ok(faults)
    }

    fn check_inputs(&self, parsed: &Parsed) -> Result<Vec<Fault>, Error> {
        let inputs = &parsed.inputs;
        if inputs.schema != inputs::SCHEMA {
            let detail = format!(
                "its schema is `{}`, not `{}`",
                inputs.schema,
                inputs::SCHEMA
            );
            return Ok(vec![Fault::new(DOCUMENTS[3], detail)]);
        }
        inputs.input_in(&self.bodies)?;
        // A recipe that held secrets is sealed without them, and has another fingerprint.
        let recipe = &parsed.manifest.recipe;
        if inputs.is_scrubbed() || inputs.recipe_record(&self.bodies) == *recipe {
            return Ok(Vec::new());
        }
        let detail = "its recipe is not the one that was sealed";
        Ok(vec![Fault::new(DOCUMENTS[0], detail)])
    }

    /// Checks that each section stands where the manifest says; its text is among the bodies, which are proven by themselves.
    fn check_sections(&self, manifest: &Manifest, text: &str, shape: Shape) -> Vec<Fault> {
        let reading = reading(shape, text);
        let sections = manifest.sections.iter();
        let moved = sections.filter(|section| {
            let there = text.get(section.start..section.end).is_some();
            let body = self.bodies.get(&section.fingerprint);
            !there
                || body.map(|body| &**body)
                    != Some(body_of(reading.as_ref(), text, section).as_bytes())
                || section.bytes != section.end - section.start
        });
        moved
            .map(|section| {
                let what = format!("section `{}`", section.label());
                Fault::new(what, "it is not where the manifest says")
            })
            .collect()
    }
}
