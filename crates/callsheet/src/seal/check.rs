//! Proof that a seal is what it was: every fingerprint is derived again.

use std::fmt;

use super::{DOCUMENTS, Seal, body_of, inputs, reading};
use crate::manifest::{self, Manifest};
use crate::recipe::Shape;
use crate::source_map;
use crate::{Error, Fingerprint};

/// Something in a seal that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let mut faults: Vec<Fault> = self
            .bodies
            .iter()
            .filter(|(name, bytes)| Fingerprint::of(bytes) != **name)
            .map(|(name, _)| Fault::new(format!("text {name}"), "its fingerprint is another"))
            .collect();
        let found = [self.check_prompt(), self.check_named(), self.check_inputs()];
        for found in found {
            match found {
                Ok(more) => faults.extend(more),
                Err(error) => faults.push(Fault::new("documents", error.detail())),
            }
        }
        faults
    }

    fn check_prompt(&self) -> Result<Vec<Fault>, Error> {
        let (manifest, map, layout) = (self.manifest()?, self.source_map()?, self.layout()?);
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
        let told = self.told_text(&layout)?;
        let shape = Some(layout.cut.shape).filter(|_| !layout.is_of_contents());
        faults.extend(check_sections(&manifest, &told, shape.unwrap_or_default()));
        if !map.covers(&told) {
            faults.push(Fault::new(DOCUMENTS[1], "it does not cover the text"));
        }
        let text = self.text()?;
        if Fingerprint::of(&text) != manifest.fingerprint || text.len() != manifest.bytes {
            faults.push(Fault::new("prompt", "it is not what the manifest says"));
        }
        Ok(faults)
    }

    fn check_named(&self) -> Result<Vec<Fault>, Error> {
        let missing = self.named()?.into_iter();
        let missing = missing.filter(|name| !self.bodies.contains_key(name));
        Ok(missing
            .map(|name| Fault::new(format!("text {name}"), "it is not there"))
            .collect())
    }

    fn check_inputs(&self) -> Result<Vec<Fault>, Error> {
        let inputs = self.inputs()?;
        if inputs.schema != inputs::SCHEMA {
            let detail = format!(
                "its schema is `{}`, not `{}`",
                inputs.schema,
                inputs::SCHEMA
            );
            return Ok(vec![Fault::new(DOCUMENTS[3], detail)]);
        }
        inputs.input()?;
        let manifest = self.manifest()?;
        // A recipe that held secrets is sealed without them, and has another fingerprint.
        if inputs.is_scrubbed() || inputs.recipe_record() == manifest.recipe {
            return Ok(Vec::new());
        }
        let detail = "its recipe is not the one that was sealed";
        Ok(vec![Fault::new(DOCUMENTS[0], detail)])
    }
}

fn check_sections(manifest: &Manifest, text: &str, shape: Shape) -> Vec<Fault> {
    let reading = reading(shape, text);
    let sections = manifest.sections.iter();
    let moved = sections.filter(|section| {
        let there = text.get(section.start..section.end).is_some();
        !there
            || Fingerprint::of(body_of(reading.as_ref(), text, section)) != section.fingerprint
            || section.bytes != section.end - section.start
    });
    moved
        .map(|section| {
            let what = format!("section `{}`", section.label());
            Fault::new(what, "it is not where the manifest says")
        })
        .collect()
}
