//! Trigrams: the terms of the inverted index, which are the groups of three characters that a text has.
//!
//! How often a text has a trigram, for its length, is part of the term, rounded up to a tier: a tiered index. So the best
//! matches of a common word are found by asking for the highest tiers first, without reading every text that has it.

use super::words::words;

/// The highest tier; each of them is a term to ask for.
pub(super) const TIERS: usize = 11;

/// A text has a word of the lowest tier once in so many words, or less often.
const RARE: u64 = 512;

/// So many words more count for every text, so that a short one is not the best for having a word once.
const MORE: u64 = 64;

/// The tier of what is not ranked, because it is only found exactly.
pub(super) const UNRANKED: usize = 0;

/// Of so many trigrams of a text each is asked for, and of more some: what is found is read anyway.
const SAMPLES: usize = 6;

/// Returns the tier of a text of so many words that has a word so often: the logarithm of its share, to the base 1.5. So two
/// times are better than once, and three better than two.
pub(super) fn tier(count: usize, words: usize) -> usize {
    let (mut often, mut length, mut tier) = (count as u64 * RARE, words as u64 + MORE, 1);
    while often > length && tier < TIERS {
        (often, length, tier) = (often * 2, length * 3, tier + 1);
    }
    tier
}

/// Returns some of a list, the first and the last among them.
pub(super) fn samples<T: Copy>(list: &[T]) -> impl Iterator<Item = T> {
    let count = list.len().min(SAMPLES);
    (0..count).map(move |nth| list[nth * (list.len() - 1) / (count - 1).max(1)])
}

/// Returns a text in lower case, character by character, so that every substring of it becomes a substring of that.
pub(super) fn lower(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Returns the trigrams of a text in their order, each as a number: a character has 21 bits.
pub(super) fn of_text(text: &str) -> Vec<u64> {
    let last = |trigram: &mut u64, c| {
        *trigram = (*trigram << 21 | u64::from(u32::from(c))) & (u64::MAX >> 1);
        Some(*trigram)
    };
    lower(text).scan(0, last).skip(2).collect()
}

/// Returns the first and the last trigram of a word, or how it begins after two spaces where it has fewer than three characters.
pub(super) fn of_word(word: &str) -> Vec<u64> {
    match of_text(word)[..] {
        [] => of_text(&format!("  {word}")),
        [first, .., last] => vec![first, last],
        [only] => vec![only],
    }
}

/// Returns the terms of a text in a project.
pub(super) fn terms(project: i64, text: &str, is_ranked: bool) -> Vec<u32> {
    let (mut trigrams, mut length) = (of_text(text), 0);
    for (_, word) in words(text) {
        let beginning: String = "  ".chars().chain(word.chars().take(2)).collect();
        trigrams.extend(of_text(&beginning));
        length += 1;
    }
    trigrams.sort_unstable();
    let term = |same: &[u64]| match tier(same.len(), length) {
        tier if is_ranked => term(project, tier, same[0]),
        _ => term(project, UNRANKED, same[0]),
    };
    let mut terms: Vec<u32> = trigrams.chunk_by(u64::eq).map(term).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns the terms of trigrams in a tier and in all above it.
pub(super) fn wanted(project: i64, trigrams: &[u64], lowest: usize) -> Vec<Vec<u32>> {
    let tiers = |trigram| (lowest..=TIERS).map(move |tier| term(project, tier, trigram));
    samples(trigrams).map(|one| tiers(one).collect()).collect()
}

/// Returns the term of a trigram in a tier: a hash of 31 bits, which no other project has but by chance.
fn term(project: i64, tier: usize, trigram: u64) -> u32 {
    let place = mix(project.cast_unsigned() << 4 | tier as u64);
    (mix(trigram ^ place) >> 33) as u32
}

/// Spreads a number over all bits, the same way on every machine: the finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
