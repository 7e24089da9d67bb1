//! The texts of a prompt: packed, kept, and read again before the prompt is acknowledged.

use std::collections::BTreeMap;

use callsheet::Fingerprint;

use super::contents::{CarriedText, Contents};
use crate::body::{self, BaseName, DeltaBases, Keys, NewBody};
use crate::db::Tx;
use crate::project::Project;
use crate::{StoreError, pack};

/// How many texts are kept at once.
const ROWS: usize = 256;

/// How many bytes of texts are kept or read at once, if a single one has not more.
const BATCH_BYTES: usize = 4 << 20;

/// A text under its name.
type Text<'t> = (&'t Fingerprint, &'t CarriedText);

/// Keeps the texts of a prompt that are not there, and returns the keys of all.
pub(super) fn put(
    tx: &mut dyn Tx,
    project: &Project,
    contents: &Contents<'_>,
) -> Result<Keys, StoreError> {
    let delta_bases = DeltaBases {
        project: project.key,
    };
    let names: Vec<Fingerprint> = contents.texts.keys().copied().collect();
    let mut keys = body::find_all(tx, &names)?;
    // The input comes last: it often holds what has become a section.
    let new = contents.texts.iter();
    let new = new.filter(|(name, _)| !keys.contains_key(name));
    let (input, others): (Vec<Text<'_>>, Vec<_>) =
        new.partition(|(name, _)| **name == contents.input);
    for some in batches(&others, ROWS, BATCH_BYTES) {
        keys.extend(put_some(tx, delta_bases, some, None)?);
    }
    if !input.is_empty() {
        let held = match contents.longest(&keys) {
            Some((key, text)) if body::is_alone(tx, key)? => Some((key, text)),
            _ => None,
        };
        keys.extend(put_some(tx, delta_bases, &input, held)?);
    }
    Ok(keys)
}

/// Keeps some texts, each as a delta against what was in its place before, or against `held`, where that is smaller.
fn put_some(
    tx: &mut dyn Tx,
    delta_bases: DeltaBases,
    texts: &[Text<'_>],
    held: Option<(i64, &[u8])>,
) -> Result<Keys, StoreError> {
    let base_name = |carried: &CarriedText| carried.place.as_deref().map(BaseName::of);
    let used: Vec<Option<BaseName>> = texts
        .iter()
        .map(|(_, carried)| base_name(carried))
        .collect();
    let names: Vec<BaseName> = used.iter().flatten().copied().collect();
    let bases = delta_bases.bases(tx, &names)?;
    let mut packed = Vec::with_capacity(texts.len());
    let mut placed = BTreeMap::new();
    for ((name, carried), base_name) in texts.iter().zip(used) {
        let base = base_name.and_then(|name| bases.get(&name));
        let base = base.filter(|base| base.whole.is_none());
        let base = base.map(|base| (base.key, base.text.as_slice()));
        let alone = pack::alone(&carried.text);
        let text = NewBody::new(**name, &carried.text, alone, base.into_iter().chain(held));
        placed.extend(base_name.zip(text.as_base()));
        packed.push(text);
    }
    let keys = body::insert(tx, &packed)?;
    let placed = placed.iter();
    let placed = placed.filter_map(|(base_name, name)| Some((*base_name, *keys.get(name)?)));
    delta_bases.set(tx, &placed.collect())?;
    Ok(keys)
}

/// Reads the texts of a prompt, and fails unless they are what was sealed.
pub(super) fn read_again(tx: &mut dyn Tx, contents: &Contents<'_>) -> Result<(), StoreError> {
    let texts: Vec<Text<'_>> = contents.texts.iter().collect();
    for some in batches(&texts, usize::MAX, BATCH_BYTES) {
        let names: Vec<Fingerprint> = some.iter().map(|(name, _)| **name).collect();
        body::read_again(tx, &names, |name| Some(&*contents.texts.get(name)?.text))?;
    }
    Ok(())
}

/// Cuts texts into batches of at most so many texts, and so many bytes if a single one has not more.
fn batches<'s, 't>(
    mut texts: &'s [Text<'t>],
    most: usize,
    bytes: usize,
) -> impl Iterator<Item = &'s [Text<'t>]> {
    std::iter::from_fn(move || {
        let mut size = 0;
        let fitting = texts.iter().take(most).take_while(|(_, carried)| {
            size += carried.text.len();
            size <= bytes
        });
        let count = fitting.count().max(1).min(texts.len());
        let (some, rest) = texts.split_at(count);
        texts = rest;
        (!some.is_empty()).then_some(some)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn batches_are_all_texts_in_their_order(sizes in prop::collection::vec(0..200_usize, 0..12), most in 1..5_usize) {
            let carried = |size: &usize| CarriedText { text: vec![0; *size].into(), roles: 0, place: None };
            let name = Fingerprint::of("");
            let texts: Vec<CarriedText> = sizes.iter().map(carried).collect();
            let texts: Vec<Text<'_>> = texts.iter().map(|carried| (&name, carried)).collect();
            let mut found = Vec::new();
            for some in batches(&texts, most, 100) {
                let sizes: Vec<usize> = some.iter().map(|(_, carried)| carried.text.len()).collect();
                prop_assert!(!some.is_empty() && some.len() <= most);
                prop_assert!(some.len() == 1 || sizes.iter().sum::<usize>() <= 100);
                found.extend(sizes);
            }
            prop_assert_eq!(found, sizes);
        }
    }
}
