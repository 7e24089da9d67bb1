//! Words: what counts as one, how often a search finds its words in a text, and what that is worth.

use super::sieve::groups;

/// How much more it is worth to have a word once more; the usual value.
const SATURATION: f64 = 1.2;

/// What the beginning of a word is worth.
const BEGUN: f64 = 0.25;

/// How much a long text has to make up for; the usual value.
const LENGTH: f64 = 0.75;

/// Returns the words of a text in lower case, with where they stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut from = 0;
    text.split(|c: char| !c.is_alphanumeric())
        .filter_map(move |word| {
            let at = from;
            from = at + word.len();
            // Over the character that ended the word.
            from += text[from..].chars().next().map_or(0, char::len_utf8);
            (!word.is_empty()).then(|| (at, word.to_lowercase()))
        })
}

/// Returns a text as words, with a space before each of them and one at the end.
pub(super) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for (_, word) in words(text) {
        out.push(' ');
        out.push_str(&word);
    }
    out.push(' ');
    out
}

/// What is searched: all of these, each a list of words that follow each other, the last one possibly a beginning.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// As they stand in a text that is spaced.
    phrases: Vec<String>,
}

/// How often each phrase of a query is in a text, and how many words the text has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    phrases: Vec<Count>,
    words: usize,
}

/// How often a phrase is in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    /// With all of its last word.
    whole: usize,
    /// With the beginning of a longer one.
    begun: usize,
}

/// How many texts there are, how many can have each phrase, and how long they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Usual {
    pub(super) texts: usize,
    pub(super) with: Vec<usize>,
    pub(super) words: f64,
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

    /// Returns for each phrase the groups of characters that a text needs to have it.
    pub(super) fn groups(&self) -> Vec<Vec<u64>> {
        let phrases = self.phrases.iter();
        phrases.map(|phrase| groups(phrase).collect()).collect()
    }

    /// Counts the phrases in a text; nothing if it lacks one.
    pub(super) fn counts(&self, text: &str) -> Option<Counts> {
        let spaced = spaced(text);
        let mut phrases = Vec::with_capacity(self.phrases.len());
        for phrase in &self.phrases {
            let mut count = Count::default();
            for (at, _) in spaced.match_indices(phrase.as_str()) {
                let is_whole = spaced[at + phrase.len()..].starts_with(' ');
                count.whole += usize::from(is_whole);
                count.begun += usize::from(!is_whole);
            }
            if count == Count::default() {
                return None;
            }
            phrases.push(count);
        }
        let words = spaced.matches(' ').count() - 1;
        Some(Counts { phrases, words })
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

impl Counts {
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Returns what a text is worth: more if it has the words often, is short, and few others have them.
    #[expect(clippy::cast_precision_loss, reason = "nobody counts so many words")]
    pub(super) fn worth(&self, usual: &Usual) -> f64 {
        let length = 1.0 - LENGTH + LENGTH * self.words as f64 / usual.words.max(1.0);
        let phrases = self.phrases.iter().zip(&usual.with);
        let worth = phrases.map(|(&count, &with)| {
            let (count, with) = (count.whole as f64 + count.begun as f64 * BEGUN, with as f64);
            let rarity = (1.0 + (usual.texts as f64 - with + 0.5) / (with + 0.5)).ln();
            rarity * count * (SATURATION + 1.0) / (count + SATURATION * length)
        });
        worth.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_with_their_places() {
        let found: Vec<_> = words("Fix src/login.rs, né?").collect();
        let expected = [(0, "fix"), (4, "src"), (8, "login"), (14, "rs"), (18, "né")];
        assert_eq!(found, expected.map(|(at, word)| (at, word.to_owned())));
        assert_eq!(spaced("a-B\n c"), " a b c ");
        assert_eq!(spaced(""), " ");
    }

    #[test]
    fn a_query_is_words_without_signs() {
        let query = Query::parse("login.rs \"quote' AND *");
        assert_eq!(query.phrases, [" login rs", " quote", " and"]);
        assert!(Query::parse(" .. * ").is_empty());
        assert_eq!(query.find_in("see the LOGIN page"), Some(8));
        assert_eq!(query.find_in("see the page"), None);
        assert_eq!(query.groups()[2], groups(" and").collect::<Vec<_>>());
    }

    #[test]
    fn all_phrases_have_to_be_there_and_are_counted() {
        let query = Query::parse("src/log fix");
        let counts = query
            .counts("Fix src/login.rs; src, login. Fixed: mysrc/log")
            .unwrap();
        let count = |whole, begun| Count { whole, begun };
        assert_eq!(counts.phrases, [count(0, 2), count(1, 1)]);
        assert_eq!(counts.words, 9);
        assert_eq!(
            query.counts("log src log fix fix").unwrap().phrases[1],
            count(2, 0)
        );
        assert_eq!(query.counts("fix src"), None);
        assert_eq!(query.counts(""), None);
    }

    #[test]
    fn often_short_and_rare_is_worth_more() {
        let usual = Usual {
            texts: 100,
            with: vec![3, 60],
            words: 50.0,
        };
        let worth = |one, other, words| {
            let count = |whole| Count { whole, begun: 0 };
            let phrases = vec![count(one), count(other)];
            Counts { phrases, words }.worth(&usual)
        };
        let begun = Counts {
            phrases: vec![Count { whole: 0, begun: 2 }, Count { whole: 1, begun: 0 }],
            words: 50,
        };
        assert!(worth(1, 1, 50) > begun.worth(&usual), "the whole word");
        assert!(worth(2, 1, 50) > worth(1, 1, 50));
        assert!(worth(1, 1, 20) > worth(1, 1, 50));
        assert!(worth(2, 1, 50) > worth(1, 2, 50), "the first is rarer");
    }
}
