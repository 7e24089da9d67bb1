//! Texts that the input brings, and sources that the caller brings.

use std::sync::Arc;

use super::{Gathered, Kind, Read, Source, World, lookup};
use crate::Error;
use crate::omission::{Omission, Reason, Refusal};
use crate::recipe::Layer;
use crate::template::TemplateSet;
use crate::text::value_text;
use crate::trace::{Origin, OriginKind, Traced};

/// A field of the input, or the prepared texts of that name.
#[derive(Debug)]
struct ValueSource(String);

/// Makes the source of an input field, named by its dotted path.
pub(crate) fn value(path: &str) -> Box<dyn Source> {
    Box::new(ValueSource(path.to_owned()))
}

impl Source for ValueSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        if let Some(pieces) = world.pieces.get(&self.0) {
            let left_out = world.left_out.get(&self.0).into_iter().flatten();
            out.omissions.extend(left_out.map(|omission| Omission {
                layer: layer.name.clone(),
                ..omission.clone()
            }));
            for piece in pieces.iter().filter(|piece| !piece.body.is_blank()) {
                out.add(layer, &piece.name, piece.body.clone(), piece.source.clone());
            }
            return Ok(());
        }
        let Some(text) = lookup(world.fields, &self.0).and_then(value_text) else {
            out.refuse(layer, &self.0, Refusal::new(Reason::NoValue));
            return Ok(());
        };
        let known = world.traces.get(&self.0);
        let known = known.filter(|known| known.text() == text);
        if let Some((known, origin)) = known.and_then(|known| Some((known, known.origin()?))) {
            out.add_unless_blank(layer, known.clone(), Arc::clone(origin));
            return Ok(());
        }
        let origin = Origin::new(OriginKind::Input, &self.0, &text);
        out.add_unless_blank(layer, Traced::whole(text, &origin), origin);
        Ok(())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(vec![Read::new(&self.0, Kind::Any)])
    }
}

/// A source that the caller of the composition brings.
#[derive(Debug)]
struct NamedSource(String);

/// Makes the source that the caller calls by this name.
pub(crate) fn named(name: &str) -> Box<dyn Source> {
    Box::new(NamedSource(name.to_owned()))
}

impl Source for NamedSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let source = world.sources.get(&self.0).ok_or_else(|| {
            Error::unknown("source", &self.0, world.sources.keys()).at(world.recipe.file(), None)
        })?;
        source.gather(layer, world, out)
    }
}
