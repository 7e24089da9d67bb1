//! Words: what counts as one, how often a query finds its words in a text, and how well that matches.

use memchr::memmem;

use super::trigram;

/// Returns the words of a text in lower case, with a space before each of them.
pub(super) fn spaced(text: &str) -> String {
    let (mut spaced, mut is_within) = (String::with_capacity(text.len() + 1), false);
    for c in text.chars() {
        let was_within = std::mem::replace(&mut is_within, c.is_alphanumeric());
        if is_within && !was_within {
            spaced.push(' ');
        }
        match c {
            _ if !is_within => {}
            // Almost all are, and they need not be looked up in a table.
            _ if c.is_ascii() => spaced.push(c.to_ascii_lowercase()),
            _ => spaced.extend(c.to_lowercase()),
        }
    }
    spaced
}

/// What is searched: all of these phrases, each a list of words that follow each other, the last one possibly a beginning.
pub(super) struct Query {
    /// As they stand in a text that is spaced.
    pub(super) phrases: Vec<String>,
}

impl Query {
    /// Reads a query; what stands together without a space is one phrase. Nothing if there is no word.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut phrases: Vec<String> = text.split_whitespace().map(spaced).collect();
        phrases.retain(|phrase| !phrase.is_empty());
        (!phrases.is_empty()).then_some(Self { phrases })
    }

    /// Returns how well a text matches: the sum of the tiers in which it has the phrases. Nothing if it lacks one.
    ///
    /// How rare a word is among all texts does not count: each text that is found has all of them.
    pub(super) fn score(&self, text: &str) -> Option<usize> {
        let spaced = spaced(text);
        let words = memchr::memchr_iter(b' ', spaced.as_bytes()).count();
        let tiers = self.phrases.iter().map(|phrase| {
            let count = memmem::find_iter(spaced.as_bytes(), phrase).count();
            (count > 0).then(|| trigram::tier(count, words))
        });
        tiers.sum()
    }

    /// Returns where the first of the words stands in a text, or begins a word.
    pub(super) fn find_in(&self, text: &str) -> Option<usize> {
        let first = self.phrases[0].split(' ').nth(1)?;
        let length = first.chars().count();
        let begins = |at: &usize| {
            let lower = text[*at..].chars().flat_map(char::to_lowercase);
            first.chars().eq(lower.take(length)) && !text[..*at].ends_with(char::is_alphanumeric)
        };
        text.char_indices().map(|(at, _)| at).find(begins)
    }
}
