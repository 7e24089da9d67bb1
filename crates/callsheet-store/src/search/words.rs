//! Words: what counts as one, how often a query finds its words in a text, and how well that matches.

use super::trigram;

/// Returns the words of a text in lower case, with where they stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let mut next = 0;
    text.split_inclusive(is_between).filter_map(move |piece| {
        let at = next;
        next += piece.len();
        let word = piece.trim_end_matches(is_between);
        (!word.is_empty()).then(|| (at, trigram::lower(word).collect()))
    })
}

/// Returns the words of a text, as [`words`] does, with a space before each of them.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 1);
    let mut is_between = true;
    for c in text.chars() {
        if c.is_alphanumeric() {
            if is_between {
                spaced.push(' ');
            }
            spaced.extend(c.to_lowercase());
        }
        is_between = !c.is_alphanumeric();
    }
    spaced
}

/// What is searched: all of these phrases, each a list of words that follow each other, the last one possibly a beginning.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// As they stand in a text that is spaced.
    phrases: Vec<String>,
}

impl Query {
    /// Reads a query; what stands together without a space is one phrase.
    pub(super) fn parse(text: &str) -> Self {
        let phrases = text.split_whitespace().map(spaced);
        Self {
            phrases: phrases.filter(|phrase| !phrase.is_empty()).collect(),
        }
    }

    /// Tells whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Returns for each phrase trigrams that a text has at least as often as the phrase.
    pub(super) fn trigrams(&self) -> Vec<Vec<u64>> {
        let of = |phrase: &String| {
            phrase
                .split_whitespace()
                .flat_map(trigram::of_word)
                .collect()
        };
        self.phrases.iter().map(of).collect()
    }

    /// Returns how well a text matches, by BM25; nothing if it lacks a phrase.
    ///
    /// How rare a word is among all texts does not count: each text that is found has all of them.
    pub(super) fn score(&self, text: &str) -> Option<f64> {
        let spaced = spaced(text);
        let words = spaced.matches(' ').count();
        let scores = self.phrases.iter().map(|phrase| {
            let count = spaced.matches(phrase.as_str()).count();
            (count > 0).then(|| trigram::score(trigram::tier(count, words)))
        });
        scores.sum()
    }

    /// Returns where the first of the words stands in a text.
    pub(super) fn find_in(&self, text: &str) -> Option<usize> {
        let firsts: Vec<&str> = self
            .phrases
            .iter()
            .filter_map(|phrase| phrase.split(' ').nth(1))
            .collect();
        let mut words = words(text);
        let found = words.find(|(_, word)| firsts.iter().any(|first| word.starts_with(first)));
        found.map(|(at, _)| at)
    }
}
