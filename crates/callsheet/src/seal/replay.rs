//! Composing again from what was sealed, and saying what became different.

use serde::Serialize;

use super::{RootPaths, Seal, SealedInputs, damaged};
use crate::compose::compose_again;
use crate::manifest::{ENGINE, Manifest, SectionRecord};
use crate::redact::{Key, Level, Rules};
use crate::{Composition, Error, Options};

/// A prompt that was composed again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// What this engine makes of the sealed inputs.
    pub composition: Composition,
    /// What is not as it was.
    pub differences: Vec<Difference>,
}

/// Something that is not as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The section, or what stands around sections.
    pub what: String,
    /// What became of it: `changed`, `added`, `removed`.
    pub change: &'static str,
    /// Why, as far as it can be told.
    pub why: String,
}

impl Replay {
    /// Tells whether the bytes are the same.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }
}

impl SealedInputs {
    /// Composes a prompt from what was sealed, and seals that.
    fn compose(&self, options: &Options) -> Result<Seal, Error> {
        let (recipe, input, world) = (self.recipe()?, self.input()?, self.world()?);
        let composition = compose_again(&recipe, &input, &world, options)?;
        Seal::of(&composition, &recipe, &input, &world, options)
    }
}

impl Seal {
    /// Composes the prompt again from what was sealed, without any project, and compares.
    pub fn replay(&self) -> Result<Replay, Error> {
        let sealed = self.inputs()?;
        let (recipe, input) = (sealed.recipe()?, sealed.input()?);
        let composition = compose_again(&recipe, &input, &sealed.world()?, &sealed.options()?)?;
        let differences = if self.text()? == composition.text {
            self.beside(&composition)?
        } else {
            self.differences(&composition)?
        };
        Ok(Replay {
            composition,
            differences,
        })
    }

    /// Returns the seal of the same prompt without its secrets: composed again, with pseudonyms in their place.
    pub fn redacted(&self, level: Level, key: Key, rules: &Rules) -> Result<Self, Error> {
        self.composes_again()?;
        let sealed = self.inputs()?;
        let options = sealed.options()?;
        let options = Options {
            redact: level.max(options.redact),
            redact_key: key,
            redact_rules: rules.clone(),
            ..options
        };
        sealed.compose(&options)
    }

    /// Returns the seal of the same prompt without the path of its project: composed again, with [`super::ROOT`] in its
    /// place. There is none if nothing of this seal names the path.
    pub fn without_paths(&self, paths: &RootPaths) -> Result<Option<Self>, Error> {
        let own = self.inputs()?.root_paths();
        let all = [paths, &own];
        if !self.names(&all)? {
            return Ok(None);
        }
        self.composes_again()?;
        let mut sealed = self.inputs()?;
        for paths in all {
            sealed.hide_everywhere(paths);
        }
        let hidden = sealed.compose(&sealed.options()?)?;
        if hidden.manifest()?.losses().count() > self.manifest()?.losses().count() {
            return Err(damaged(
                "it names the directory of the project from outside of it, as in `../NAME/file`",
            ));
        }
        if hidden.names(&all)? {
            return Err(damaged(
                "it prints the path of the project, put together from parts",
            ));
        }
        Ok(Some(hidden))
    }

    /// Tells whether any part of this seal holds one of the paths.
    fn names(&self, all: &[&RootPaths]) -> Result<bool, Error> {
        let rendered = self.text()?;
        let documents = self.documents.iter().map(String::as_bytes);
        let bodies = self.bodies.values().map(|body| &**body);
        let mut parts = documents.chain(bodies).chain([rendered.as_bytes()]);
        Ok(parts.any(|part| all.iter().any(|paths| paths.are_in(part))))
    }

    /// Fails unless composing again gives the same prompt.
    fn composes_again(&self) -> Result<(), Error> {
        match self.replay()?.differences.first() {
            None => Ok(()),
            Some(Difference { what, change, why }) => Err(damaged(format!(
                "{what} is {change} when composed again: {why}"
            ))),
        }
    }

    /// Returns what differs although the bytes do not: the tools that go with them, and what is told of them.
    fn beside(&self, now: &Composition) -> Result<Vec<Difference>, Error> {
        let then = self.manifest()?;
        let differ = then.tools != now.manifest.tools;
        let mut differences: Vec<Difference> = differ.then(|| tools(&then)).into_iter().collect();
        // Another engine may record more, and seals of contents have other places; pseudonyms were secrets when this was
        // recorded.
        let comparable = !self.layout()?.is_of_contents() && !self.inputs()?.is_scrubbed();
        if then.engine == ENGINE && comparable {
            let records = [
                ("the manifest", then == now.manifest),
                (
                    "the source map",
                    self.explained()?.source_map.spans == now.source_map.spans,
                ),
            ];
            let changed = records.into_iter().filter(|(_, same)| !same);
            differences.extend(changed.map(|(what, _)| Difference {
                what: what.to_owned(),
                change: "changed",
                why: engines(&then),
            }));
        }
        Ok(differences)
    }

    fn differences(&self, now: &Composition) -> Result<Vec<Difference>, Error> {
        let then = self.manifest()?;
        let pairs = pairs(&then.sections, &now.manifest.sections).into_iter();
        let compared =
            pairs.filter_map(|(before, after)| compare(&then, &now.manifest, before, after));
        let mut differences: Vec<Difference> = compared.collect();
        if then.tools != now.manifest.tools {
            differences.push(tools(&then));
        }
        if differences.is_empty() {
            differences.push(Difference {
                what: "the frame around the sections".to_owned(),
                change: "changed",
                why: engines(&then),
            });
        }
        Ok(differences)
    }
}

fn tools(then: &Manifest) -> Difference {
    Difference {
        what: "the tools".to_owned(),
        change: "changed",
        why: engines(then),
    }
}

type Pair<'a> = (Option<&'a SectionRecord>, Option<&'a SectionRecord>);

/// Pairs sections by layer and name, in the order of the sealed ones; what is new comes last.
fn pairs<'a>(old: &'a [SectionRecord], new: &'a [SectionRecord]) -> Vec<Pair<'a>> {
    let mut left: Vec<&SectionRecord> = new.iter().collect();
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for section in old {
        let same = |other: &&SectionRecord| other.label() == section.label();
        let after = left.iter().position(same).map(|index| left.remove(index));
        pairs.push((Some(section), after));
    }
    pairs.extend(left.into_iter().map(|section| (None, Some(section))));
    pairs
}

fn compare(
    then: &Manifest,
    now: &Manifest,
    before: Option<&SectionRecord>,
    after: Option<&SectionRecord>,
) -> Option<Difference> {
    let (section, change, why) = match (before, after) {
        (Some(old), Some(new)) if old.fingerprint == new.fingerprint => return None,
        (Some(old), Some(new)) if old.source_fingerprint == new.source_fingerprint => {
            let why = format!("the same `{}` gives another text", old.source);
            (old, "changed", why)
        }
        (Some(old), Some(_)) => {
            let why = format!("`{}` is another text", old.source);
            (old, "changed", why)
        }
        (Some(old), None) => (old, "removed", left_out(old, now)),
        (None, Some(new)) => (new, "added", left_out(new, then)),
        (None, None) => return None,
    };
    Some(Difference {
        what: format!("section `{}`", section.label()),
        change,
        why: format!("{why}; {}", engines(then)),
    })
}

/// Returns why a section is not in a prompt, where its manifest tells.
fn left_out(section: &SectionRecord, manifest: &Manifest) -> String {
    let mut omissions = manifest.omissions.iter();
    let omission =
        omissions.find(|omission| omission.layer == section.layer && omission.name == section.name);
    omission.map_or_else(
        || format!("layer `{}` gives other sections", section.layer),
        crate::Omission::sentence,
    )
}

fn engines(then: &Manifest) -> String {
    if then.engine == ENGINE {
        format!("the engine is the same, {ENGINE}: something was changed since, or this is a bug")
    } else {
        format!("sealed by engine {}, this is {ENGINE}", then.engine)
    }
}
