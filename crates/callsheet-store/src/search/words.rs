//! Words: what counts as one, how often a query finds its words in a text, and how well that matches.

use super::trigram::{self, lower};

/// Returns the words of a text, with where they stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let mut next = 0;
    let words = text.split_inclusive(is_between).map(move |word| {
        let at = next;
        next += word.len();
        (at, word.trim_end_matches(is_between))
    });
    words.filter(|(_, word)| !word.is_empty())
}

/// Returns the words of a text in lower case, with a space before each of them.
fn spaced(text: &str) -> String {
    let spaced = |(_, word)| std::iter::once(' ').chain(lower(word));
    words(text).flat_map(spaced).collect()
}

/// What is searched: all of these phrases, each a list of words that follow each other, the last one possibly a beginning.
pub(super) struct Query {
    /// As they stand in a text that is spaced.
    phrases: Vec<String>,
}

impl Query {
    /// Reads a query; what stands together without a space is one phrase. Nothing if there is no word.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut phrases: Vec<String> = text.split_whitespace().map(spaced).collect();
        phrases.retain(|phrase| !phrase.is_empty());
        (!phrases.is_empty()).then_some(Self { phrases })
    }

    /// Returns for each phrase trigrams that a text has at least as often as the phrase.
    pub(super) fn trigrams(&self) -> Vec<Vec<u64>> {
        let of = |phrase: &String| phrase.split(' ').flat_map(trigram::of_word).collect();
        self.phrases.iter().map(of).collect()
    }

    /// Returns how well a text matches: the sum of the tiers in which it has the phrases. Nothing if it lacks one.
    ///
    /// How rare a word is among all texts does not count: each text that is found has all of them.
    pub(super) fn score(&self, text: &str) -> Option<usize> {
        let spaced = spaced(text);
        let words = spaced.matches(' ').count();
        let tiers = self.phrases.iter().map(|phrase| {
            let count = spaced.matches(phrase.as_str()).count();
            (count > 0).then(|| trigram::tier(count, words))
        });
        tiers.sum()
    }

    /// Returns where the first of the words stands in a text, or begins a word.
    pub(super) fn find_in(&self, text: &str) -> Option<usize> {
        let first = self.phrases[0].split(' ').nth(1)?;
        let begins = |word: &str| lower(word).collect::<String>().starts_with(first);
        words(text).find_map(|(at, word)| begins(word).then_some(at))
    }
}
