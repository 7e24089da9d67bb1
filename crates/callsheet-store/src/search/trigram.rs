//! Trigrams: what the index knows of a text, which is the groups of three characters that it has.
//!
//! How often a text has a trigram is part of what is indexed, rounded down to a tier. So the best matches of a common word
//! are found by asking for the highest tiers first, without reading every text that has it.

use std::collections::{BTreeSet, HashMap};

use super::words::words;

/// Three characters, or how a word begins.
pub(super) type Gram = u64;

/// How little one more of a word counts where there are many; the usual `k1` of BM25.
const SATURATION: f64 = 1.2;

/// How much a long text has to make up for; the usual `b` of BM25.
const LENGTH: f64 = 0.75;

/// How many words make a text of the usual length.
const USUAL_WORDS: f64 = 200.0;

/// Where the tiers end, by the score of one word: the higher, the fewer texts are in a tier.
const ENDS: [f64; 8] = [1.0, 1.25, 1.5, 1.65, 1.75, 1.85, 1.95, f64::INFINITY];

/// How many tiers there are.
pub(super) const TIERS: usize = ENDS.len();

/// Stands for the tier of whatever is found by its exact text alone.
const NO_TIER: usize = TIERS;

/// Marks how a word begins among the grams: with one character, or with two. Three characters take 63 bits.
const BEGINS: Gram = 1 << 63;
const TWO: Gram = 1 << 62;

/// Returns the score of a word that a text of so many words has so often: BM25, with a fixed length for the usual text.
#[expect(clippy::cast_precision_loss, reason = "nobody counts so many words")]
pub(super) fn saturation(count: usize, words: usize) -> f64 {
    let count = count as f64;
    let length = 1.0 - LENGTH + LENGTH * words as f64 / USUAL_WORDS;
    count * (SATURATION + 1.0) / (count + SATURATION * length)
}

/// Returns a score that whatever is in a tier or below it does not reach.
pub(super) fn end(tier: usize) -> f64 {
    ENDS[tier].min(SATURATION + 1.0)
}

/// Returns a text in lower case, character by character, so that every piece of it becomes a piece of that.
pub(super) fn lower(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Returns the trigrams of a text, one after the other.
pub(super) fn of_text(text: &str) -> impl Iterator<Item = Gram> {
    let (mut seen, mut gram) = (0, 0);
    lower(text).filter_map(move |c| {
        // A character has 21 bits, so that three of them fit.
        gram = (gram << 21 | u64::from(u32::from(c))) & !BEGINS;
        seen = (seen + 1).min(3);
        (seen == 3).then_some(gram)
    })
}

/// Returns what every text has that has a word, given in lower case.
pub(super) fn of_word(word: &str) -> Vec<Gram> {
    let trigrams: Vec<Gram> = of_text(word).collect();
    if trigrams.is_empty() {
        begin(word).into_iter().last().into_iter().collect()
    } else {
        trigrams
    }
}

/// Returns how a word begins: with one character, and with two.
fn begin(word: &str) -> Vec<Gram> {
    let mut chars = word.chars().map(|c| u64::from(u32::from(c)));
    let one = chars.next();
    let two = one.zip(chars.next());
    let two = two.map(|(one, two)| BEGINS | TWO | one << 21 | two);
    one.map(|one| BEGINS | one).into_iter().chain(two).collect()
}

/// Returns the hash of a gram in a tier, which no other project has but by chance.
fn hash(project: i64, tier: usize, gram: Gram) -> u32 {
    let place = mix(project.cast_unsigned() << 4 | tier as u64);
    (mix(gram ^ place) >> 32) as u32
}

/// Spreads a number over all bits, the same way on every machine: the finalizer of `SplitMix64`.
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Returns what is indexed of a text with words.
pub(super) fn hashes(project: i64, text: &str) -> BTreeSet<u32> {
    let mut counts: HashMap<Gram, usize> = HashMap::new();
    let mut count = |gram| *counts.entry(gram).or_default() += 1;
    of_text(text).for_each(&mut count);
    let mut length = 0;
    for (_, word) in words(text) {
        begin(&word).into_iter().for_each(&mut count);
        length += 1;
    }
    let hash = |(gram, count): (&Gram, &usize)| {
        let score = saturation(*count, length);
        let tier = ENDS.iter().position(|end| score < *end);
        hash(project, tier.unwrap_or(TIERS - 1), *gram)
    };
    counts.iter().map(hash).collect()
}

/// Returns what is indexed of a text that is only found exactly.
pub(super) fn exact_hashes(project: i64, text: &str) -> BTreeSet<u32> {
    of_text(text)
        .map(|gram| hash(project, NO_TIER, gram))
        .collect()
}

/// How many grams of a text the index is asked for; what it finds is read anyway.
const ASKED: usize = 8;

/// Returns some of the grams of a text, spread over all of it.
fn spread(grams: &[Gram]) -> impl Iterator<Item = Gram> {
    let count = grams.len().min(ASKED);
    (0..count).map(move |nth| grams[nth * (grams.len() - 1) / (count - 1).max(1)])
}

/// What is asked for: of each of these lists, a passage has at least one hash.
pub(super) type Wanted = Vec<Vec<u32>>;

/// Asks for what has grams in a tier or above it.
pub(super) fn wanted(project: i64, grams: &[Gram], lowest: usize) -> Wanted {
    let tiers = |gram| {
        (lowest..TIERS)
            .map(|tier| hash(project, tier, gram))
            .collect()
    };
    spread(grams).map(tiers).collect()
}

/// Asks for what is only found exactly.
pub(super) fn exact_wanted(project: i64, grams: &[Gram]) -> Wanted {
    spread(grams)
        .map(|gram| vec![hash(project, NO_TIER, gram)])
        .collect()
}
