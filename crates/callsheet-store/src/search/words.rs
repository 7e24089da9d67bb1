//! Words: what counts as one, how often a query finds its words in a text, and how well that matches.

use super::trigram::{self, Gram};

/// Returns the words of a text in lower case, with where they stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut from = 0;
    text.split(|c: char| !c.is_alphanumeric())
        .filter_map(move |word| {
            let at = from;
            from = at + word.len();
            // Over the character that ended the word.
            from += text[from..].chars().next().map_or(0, char::len_utf8);
            (!word.is_empty()).then(|| (at, trigram::lower(word).collect()))
        })
}

/// Returns a text as words, with a space before each of them and one at the end.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for (_, word) in words(text) {
        out.push(' ');
        out.push_str(&word);
    }
    out.push(' ');
    out
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
        let phrases = phrases.map(|phrase| phrase.trim_end().to_owned());
        Self {
            phrases: phrases.filter(|phrase| !phrase.is_empty()).collect(),
        }
    }

    /// Tells whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Returns for each phrase what a text has at least as often as the phrase.
    pub(super) fn grams(&self) -> Vec<Vec<Gram>> {
        let words = |phrase: &String| {
            phrase
                .split_whitespace()
                .flat_map(trigram::of_word)
                .collect()
        };
        self.phrases.iter().map(words).collect()
    }

    /// Returns how well a text matches, by BM25; nothing if it lacks a phrase.
    ///
    /// How rare a word is among all texts does not count: each text that is found has all of them.
    pub(super) fn score(&self, text: &str) -> Option<f64> {
        let spaced = spaced(text);
        let words = spaced.matches(' ').count() - 1;
        let mut score = 0.0;
        for phrase in &self.phrases {
            let count = spaced.matches(phrase.as_str()).count();
            if count == 0 {
                return None;
            }
            score += trigram::saturation(count, words);
        }
        Some(score)
    }

    /// Returns where the first of the words stands in a text.
    pub(super) fn find_in(&self, text: &str) -> Option<usize> {
        let wanted = |word: &str| {
            let mut firsts = self
                .phrases
                .iter()
                .filter_map(|phrase| phrase.split(' ').nth(1));
            firsts.any(|first| word.starts_with(first))
        };
        words(text).find(|(_, word)| wanted(word)).map(|(at, _)| at)
    }
}
