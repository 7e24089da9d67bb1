//! Trigrams: the terms of the inverted index, which are the groups of three characters that a text has.
//!
//! What a text would score for a trigram is part of the term, rounded up to a tier: a tiered index. So the best matches of a
//! common word are found by asking for the highest tiers first, without reading every text that has it.

use super::words::words;

/// How little one more of a word counts where there are many; the usual `k1` of BM25.
const K1: f64 = 1.2;

/// How much a long text has to make up for; the usual `b` of BM25.
const B: f64 = 0.75;

/// How many words make a text of the usual length. It is fixed, so that no new text moves another into another tier.
const USUAL_WORDS: f64 = 200.0;

/// How many tiers there are; each of them is a term to ask for.
pub(super) const TIERS: usize = 11;

/// How much more often a text of a tier has a word, for its length, than one of the tier below. So two times are always better than
/// once, and three better than two.
const STEP: f64 = 1.5;

/// How often, for its length, a text of the lowest tier has a word at most.
const LOWEST: f64 = 0.4;

/// The tier of what has no score, because it is only found exactly.
pub(super) const UNRANKED: usize = 0;

/// Of so many trigrams of a text each is asked for, and of more some: what is found is read anyway.
const SAMPLES: usize = 4;

/// Returns the tier of a text of so many words that has a word so often.
#[expect(clippy::cast_precision_loss, reason = "nobody counts so many words")]
pub(super) fn tier(count: usize, words: usize) -> usize {
    let often = count as f64 / (K1 * (1.0 - B + B * words as f64 / USUAL_WORDS));
    (1..TIERS)
        .find(|tier| often <= most_often(*tier))
        .unwrap_or(TIERS)
}

/// Returns the score of a word by BM25, which is the same for all texts of a tier.
pub(super) fn score(tier: usize) -> f64 {
    let often = most_often(tier);
    (K1 + 1.0) * often / (1.0 + often)
}

/// Returns how often, for its length, a text of a tier has a word at most.
fn most_often(tier: usize) -> f64 {
    (1..tier).fold(LOWEST, |most, _| most * STEP)
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

/// Returns trigrams of how a word begins, after two spaces; they find words of one or two characters.
fn of_beginning(word: &str) -> impl Iterator<Item = u64> {
    of_text(&format!("  {word}")).into_iter().take(2)
}

/// Returns what every text has that has a word which begins like this.
pub(super) fn of_word(word: &str) -> Vec<u64> {
    let within = of_text(word);
    if within.is_empty() {
        of_beginning(word).collect()
    } else {
        within
    }
}

/// Returns the terms of a text in a project.
pub(super) fn terms(project: i64, text: &str, is_ranked: bool) -> Vec<u32> {
    let (mut trigrams, mut length) = (of_text(text), 0);
    for (_, word) in words(text) {
        trigrams.extend(of_beginning(&word));
        length += 1;
    }
    trigrams.sort_unstable();
    let term = |same: &[u64]| {
        let tier = if is_ranked {
            tier(same.len(), length)
        } else {
            UNRANKED
        };
        term(project, tier, same[0])
    };
    let mut terms: Vec<u32> = trigrams.chunk_by(u64::eq).map(term).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns the terms of trigrams in a tier and in all above it.
pub(super) fn wanted(project: i64, trigrams: &[u64], lowest: usize) -> Vec<Vec<u32>> {
    let terms = |trigram| {
        (lowest..=TIERS)
            .map(|tier| term(project, tier, trigram))
            .collect()
    };
    samples(trigrams).map(terms).collect()
}

/// Returns the term of a trigram in a tier: a hash of 31 bits, which no other project has but by chance.
fn term(project: i64, tier: usize, trigram: u64) -> u32 {
    let place = mix(project.cast_unsigned() << 4 | tier as u64);
    (mix(trigram ^ place) >> 33) as u32
}

/// Spreads a number over all bits, the same way on every machine: the finalizer of `SplitMix64`.
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
