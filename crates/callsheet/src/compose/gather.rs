//! From layers to sections: conditions, then sources, in the order of the recipe.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Inputs;
use crate::Error;
use crate::omission::Omission;
use crate::prepare::Prepared;
use crate::recipe::{Layer, Recipe};
use crate::source::{Gathered, World};

/// Gathers all layers whose condition holds.
///
/// A layer that looks at another (a tree of its files) is gathered after it, and still stands in its own place.
pub(super) fn gather(
    recipe: &Recipe,
    prepared: &mut Prepared,
    inputs: &Inputs,
) -> Result<Gathered, Error> {
    let mut before = BTreeMap::new();
    let traces = Arc::new(std::mem::take(&mut prepared.traces));
    let (late, early): (Vec<&Layer>, Vec<&Layer>) = recipe
        .layers
        .iter()
        .partition(|layer| layer.source.after().is_some());
    for layer in early.into_iter().chain(late) {
        let mut out = Gathered::default();
        let holds = layer
            .when
            .as_ref()
            .map_or(Ok(true), |when| when.holds(&prepared.fields))?;
        if holds {
            let world = World {
                recipe,
                fields: &prepared.fields,
                pieces: &prepared.pieces,
                traces: &traces,
                mounts: prepared.mounts.as_ref(),
                root: inputs.root.as_ref(),
                sources: &inputs.sources,
                observer: inputs.observer.as_deref(),
                before: &before,
            };
            layer.source.gather(layer, &world, &mut out)?;
            if let Some(mounts) = &prepared.mounts {
                mounts.name(&mut out.sections);
            }
        }
        if layer.optional {
            out.omissions.iter_mut().for_each(Omission::make_optional);
        }
        before.insert(layer.name.clone(), out);
    }
    let mut all = Gathered::default();
    for layer in &recipe.layers {
        if let Some(mut out) = before.remove(&layer.name) {
            all.sections.append(&mut out.sections);
            all.omissions.append(&mut out.omissions);
            all.events.append(&mut out.events);
        }
    }
    Ok(all)
}

/// Returns what functions left out of fields, each with the first layer in the prompt that prints its field.
pub(super) fn left_out(
    recipe: &Recipe,
    prepared: &mut Prepared,
    gathered: &Gathered,
) -> Vec<Omission> {
    let there = |layer: &&Layer| {
        gathered
            .sections
            .iter()
            .any(|section| section.layer == layer.name)
    };
    let left_out = std::mem::take(&mut prepared.left_out).into_iter();
    left_out
        .map(|(field, omission)| {
            let prints = |layer: &&Layer| {
                let reads = layer.source.reads(&recipe.templates).unwrap_or_default();
                reads
                    .iter()
                    .any(|read| read.path.split('.').next() == Some(&field))
            };
            let layer = recipe.layers.iter().filter(there).find(prints);
            let layer = layer.map_or(field.clone(), |layer| layer.name.clone());
            Omission { layer, ..omission }
        })
        .collect()
}
