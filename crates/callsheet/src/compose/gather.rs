//! From layers to sections: conditions, then sources, in the order of the recipe.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Inputs;
use super::room::Room;
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
    room: &mut Room,
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
                left_out: &prepared.left_out,
                traces: &traces,
                shared: &shared,
                mounts: prepared.mounts.as_ref(),
                root: inputs.root.as_ref(),
                sources: &inputs.sources,
                observer: inputs.observer.as_deref(),
                before: &before,
            };
            layer.source.gather(layer, &world, &mut out)?;
            room.take_bodies(&out.sections, recipe)?;
            if let Some(mounts) = &prepared.mounts {
                mounts.name(&mut out.sections);
            }
        }
        if layer.optional {
            out.omissions.iter_mut().for_each(Omission::make_optional);
        }
        before.insert(layer.name.clone(), out);
    }
    let mut all = Gathered {
        omissions: lacking(recipe, prepared),
        ..Gathered::default()
    };
    for layer in &recipe.layers {
        if let Some(mut out) = before.remove(&layer.name) {
            all.sections.append(&mut out.sections);
            all.omissions.append(&mut out.omissions);
            all.events.append(&mut out.events);
        }
    }
    Ok(all)
}

/// Returns what added fields do not have, with the layers that read them; what nobody reads is not missed.
fn lacking(recipe: &Recipe, prepared: &Prepared) -> Vec<Omission> {
    let mut readers: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let lacking = prepared.lacking.iter().filter_map(|(field, omission)| {
        let reader = readers
            .entry(field)
            .or_insert_with(|| reader(recipe, field));
        Some(Omission {
            layer: (*reader)?.to_owned(),
            ..omission.clone()
        })
    });
    lacking.collect()
}

/// Returns the name of the first layer that reads a field, something in it or what it is in.
fn reader<'a>(recipe: &'a Recipe, field: &str) -> Option<&'a str> {
    let within = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let touches = |path: &str| within(path, field) || within(field, path);
    let mut layers = recipe.layers.iter();
    let found = layers.find(|layer| match layer.source.reads(&recipe.templates) {
        Some(reads) => reads.iter().any(|read| touches(&read.path)),
        // What cannot be told may well read it.
        None => true,
    });
    found.map(|layer| layer.name.as_str())
}
