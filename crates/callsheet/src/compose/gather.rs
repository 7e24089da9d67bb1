//! From layers to sections: conditions, then sources, in the order of the recipe.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Inputs;
use crate::Error;
use crate::omission::Omission;
use crate::prepare::Prepared;
use crate::recipe::{Layer, Recipe};
use crate::source::{Gathered, World};
use crate::template::Shared;

/// Gathers all layers whose condition holds.
///
/// A layer that looks at another (a tree of its files) is gathered after it, and still stands in its own place.
pub(super) fn gather(
    recipe: &Recipe,
    prepared: &mut Prepared,
    inputs: &Inputs,
) -> Result<Gathered, Error> {
    let traces = Arc::new(std::mem::take(&mut prepared.traces));
    let mut before = BTreeMap::new();
    let shared = Shared::default();
    let (late, early): (Vec<&Layer>, Vec<&Layer>) = recipe
        .layers
        .iter()
        .partition(|layer| layer.source.after().is_some());
    for layer in early.into_iter().chain(late) {
        let mut out = Gathered::default();
        let holds = layer
            .when
            .as_ref()
            .map_or(Ok(true), |when| when.holds_with(&prepared.fields, &shared))?;
        if holds {
            let world = World {
                recipe,
                fields: &prepared.fields,
                pieces: &prepared.pieces,
                traces: &traces,
                shared: &shared,
                root: inputs.root.as_ref(),
                sources: &inputs.sources,
                observer: inputs.observer.as_deref(),
                before: &before,
            };
            layer.source.gather(layer, &world, &mut out)?;
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
