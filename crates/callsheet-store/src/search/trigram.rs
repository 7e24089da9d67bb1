//! The terms of the inverted index: trigrams, which are the groups of three characters that a text has, and longer n-grams where
//! a word begins.
//!
//! How often a text has an n-gram, for its length, is part of the term, rounded up to a tier: a tiered index. So the best
//! matches of a common word are found by asking for the highest tiers first, without reading every text that has it.

use super::words::spaced;

/// The highest tier; each of them is a term to ask for.
pub(super) const TIERS: usize = 11;

/// A text has a word of the lowest tier once in so many words, or less often.
const RARE: u64 = 512;

/// So many words more count for every text, so that a short one is not the best for having a word once.
const MORE: u64 = 64;

/// The tier of what is not ranked, because it is only found exactly.
const UNRANKED: usize = 0;

/// Of so many n-grams each is asked for, and of more some: what is found is read anyway.
pub(super) const SAMPLES: usize = 6;

/// Returns the tier of a text of so many words that has a word so often: the logarithm of its share, to the base 1.5. So two
/// times are better than once, and three better than two.
pub(super) fn tier(count: usize, words: usize) -> usize {
    let (mut often, mut length, mut tier) = (count as u64 * RARE, words as u64 + MORE, 1);
    while often > length && tier < TIERS {
        (often, length, tier) = (often * 2, length * 3, tier + 1);
    }
    tier
}

/// Returns the hash of an n-gram.
fn hash(gram: &[char]) -> u64 {
    let add = |hash, c: &char| mix(hash ^ u64::from(u32::from(*c)));
    gram.iter().fold(0, add)
}

/// Returns so few bits of a hash that texts have them in common: a term that one text alone has takes ten times the room of one more
/// text that has a term.
fn short_hash(gram: &[char]) -> u64 {
    hash(gram) >> 50
}

/// Returns the trigrams of a text in lower case. Each character becomes lower case by itself, so that those of a substring are
/// among those of the text.
fn of_text(text: &str) -> Vec<u64> {
    let lower: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    lower.windows(3).map(hash).collect()
}

/// Returns prefixes of a word: its first character, its first two, and its first four.
fn prefixes(word: &[char]) -> impl Iterator<Item = u64> {
    let lengths = [1, 2, 4].into_iter();
    lengths.filter_map(|length| word.get(..length).map(short_hash))
}

/// Returns where one word follows another in a spaced text: two characters before the space and three after it. That tells words
/// side by side from words of the same text.
fn pairs(spaced: &[char]) -> impl Iterator<Item = u64> {
    let windows = spaced.windows(6).skip(1);
    windows.filter(|window| window[2] == ' ').map(short_hash)
}

/// Returns the terms of a text in a project.
pub(super) fn terms(project: i64, text: &str, is_ranked: bool) -> Vec<u32> {
    let spaced: Vec<char> = spaced(text).chars().collect();
    let (mut grams, mut length) = (of_text(text), 0);
    for word in spaced.split(|c| *c == ' ').skip(1).filter(|_| is_ranked) {
        grams.extend(prefixes(word));
        length += 1;
    }
    grams.sort_unstable();
    let ranked = |same: &[u64]| match tier(same.len(), length) {
        tier if is_ranked => term(project, tier, same[0]),
        _ => term(project, UNRANKED, same[0]),
    };
    let mut terms: Vec<u32> = grams.chunk_by(u64::eq).map(ranked).collect();
    terms.extend(pairs(&spaced).map(|gram| term(project, UNRANKED, gram)));
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns lists of terms, of each of which a text has one that has a phrase in a tier or above. Of many phrases less is asked for.
pub(super) fn of_phrase(project: i64, phrase: &str, lowest: usize, most: usize) -> Vec<Vec<u32>> {
    let spaced: Vec<char> = phrase.chars().collect();
    let of_word = |word: &[char]| {
        let trigram = word.len().checked_sub(3).map(|last| hash(&word[last..]));
        let prefix = prefixes(word).last().filter(|_| word.len() != 3);
        prefix.into_iter().chain(trigram)
    };
    let words = spaced.split(|c| *c == ' ').skip(1);
    lists(
        project,
        &spaced,
        &words.flat_map(of_word).collect::<Vec<_>>(),
        lowest,
        most,
    )
}

/// Returns lists of terms, of each of which a text that has a substring has one.
pub(super) fn of_substring(project: i64, substring: &str) -> Vec<Vec<u32>> {
    let spaced: Vec<char> = spaced(substring).chars().collect();
    lists(project, &spaced, &of_text(substring), UNRANKED, SAMPLES)
}

/// Returns the terms of pairs of words, and those of up to `most` other n-grams in a tier and above, the first and the last among them.
fn lists(
    project: i64,
    spaced: &[char],
    grams: &[u64],
    lowest: usize,
    most: usize,
) -> Vec<Vec<u32>> {
    let pair = |gram| vec![term(project, UNRANKED, gram)];
    let mut lists: Vec<Vec<u32>> = pairs(spaced).map(pair).collect();
    let most = if lists.is_empty() { most } else { most / 2 };
    let count = grams.len().min(most.max(1));
    for nth in 0..count {
        let gram = grams[nth * (grams.len() - 1) / (count - 1).max(1)];
        lists.push(
            (lowest..=TIERS)
                .map(|tier| term(project, tier, gram))
                .collect(),
        );
    }
    lists
}

/// Returns the term of an n-gram in a tier: a hash of 31 bits, which no other project has but by chance.
fn term(project: i64, tier: usize, gram: u64) -> u32 {
    let place = mix(project.cast_unsigned() << 4 | tier as u64);
    (mix(gram ^ place) >> 33) as u32
}

/// Spreads a number over all bits, the same way on every machine: the finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests;
