//! The texts of a prompt: packed, kept, and read again before anybody hears of it.

use std::collections::BTreeMap;

use callsheet::Fingerprint;

use super::contents::{Contents, Part};
use crate::body::{self, Keys, NewBody, SlotName, Slots};
use crate::db::Tx;
use crate::project::Project;
use crate::{StoreError, pack};

/// How many texts are kept at once.
const ROWS: usize = 256;

/// How many bytes of texts are kept or read at once, if a single one has not more.
const PIECE: usize = 4 << 20;

/// A text under its name.
type Text<'t> = (&'t Fingerprint, &'t Part);

/// Keeps the texts of a prompt that are not there, and returns the keys of all.
pub(super) fn put(
    tx: &mut dyn Tx,
    project: &Project,
    contents: &Contents<'_>,
) -> Result<Keys, StoreError> {
    let slots = Slots {
        project: project.key,
    };
    let names: Vec<Fingerprint> = contents.texts.keys().copied().collect();
    let mut keys = body::find_all(tx, &names)?;
    // The input comes last: it often holds what has become a section.
    let new = contents.texts.iter();
    let new = new.filter(|(name, _)| !keys.contains_key(name));
    let (input, others): (Vec<Text<'_>>, Vec<_>) =
        new.partition(|(name, _)| **name == contents.input);
    for some in pieces(&others, ROWS) {
        keys.extend(put_some(tx, slots, some, None)?);
    }
    if !input.is_empty() {
        let held = match contents.longest(&keys) {
            Some((key, text)) if body::is_alone(tx, key)? => Some((key, text)),
            _ => None,
        };
        keys.extend(put_some(tx, slots, &input, held)?);
    }
    Ok(keys)
}

/// Keeps some texts, each as a delta against what was in its place before, or against `held`, where that is smaller.
fn put_some(
    tx: &mut dyn Tx,
    slots: Slots,
    texts: &[Text<'_>],
    held: Option<(i64, &[u8])>,
) -> Result<Keys, StoreError> {
    let slot = |part: &Part| {
        let place = part.place.as_deref();
        let place = place.filter(|_| part.text.len() >= pack::LEAST);
        place.map(SlotName::of)
    };
    let used: Vec<Option<SlotName>> = texts.iter().map(|(_, part)| slot(part)).collect();
    let names: Vec<SlotName> = used.iter().flatten().copied().collect();
    let bases = slots.bases(tx, &names)?;
    let mut packed = Vec::with_capacity(texts.len());
    let mut placed = BTreeMap::new();
    for ((name, part), slot) in texts.iter().zip(used) {
        let base = slot.and_then(|slot| bases.get(&slot));
        let base = base.filter(|base| base.whole.is_none());
        let base = base.map(|base| (base.key, base.text.as_slice()));
        let alone = pack::alone(&part.text);
        let text = NewBody::new(**name, &part.text, alone, base.into_iter().chain(held));
        placed.extend(slot.zip(text.as_base()));
        packed.push(text);
    }
    let keys = body::insert(tx, packed)?;
    let placed = placed.iter();
    let placed = placed.filter_map(|(slot, name)| Some((*slot, *keys.get(name)?)));
    slots.set(tx, &placed.collect())?;
    Ok(keys)
}

/// Reads the texts of a prompt, and fails unless they are what was sealed.
pub(super) fn read_again(tx: &mut dyn Tx, contents: &Contents<'_>) -> Result<(), StoreError> {
    let texts: Vec<Text<'_>> = contents.texts.iter().collect();
    for some in pieces(&texts, usize::MAX) {
        let names: Vec<Fingerprint> = some.iter().map(|(name, _)| **name).collect();
        body::get_all(tx, &names)?;
    }
    Ok(())
}

/// Cuts texts into pieces of at most so many.
fn pieces<'s, 't>(mut texts: &'s [Text<'t>], most: usize) -> impl Iterator<Item = &'s [Text<'t>]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = texts.iter().take(most).take_while(|(_, part)| {
            bytes += part.text.len();
            bytes <= PIECE
        });
        let count = fitting.count().max(1).min(texts.len());
        let (some, rest) = texts.split_at(count);
        texts = rest;
        (!some.is_empty()).then_some(some)
    })
}
