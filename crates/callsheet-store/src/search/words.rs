//! Words: what counts as one, and how a search for them is said to each database.

use crate::db::Dialect;

/// The longest word that PostgreSQL takes, with room for its own use.
const LONGEST: usize = 1000;

/// Returns the words of a text in lower case, with where they stand.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut from = 0;
    text.split(|c: char| !c.is_alphanumeric())
        .filter_map(move |word| {
            let at = from;
            from = at + word.len();
            // Over the character that ended the word.
            from += text[from..].chars().next().map_or(0, char::len_utf8);
            (!word.is_empty()).then(|| (at, cut(word).to_lowercase()))
        })
}

fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(LONGEST)]
}

/// Returns a text as words with a space between them.
pub(super) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (_, word) in words(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
    }
    out
}

/// What is searched: all of these, each a list of words that follow each other, the last one possibly a beginning.
#[derive(Clone, Debug)]
pub(super) struct Query(Vec<Vec<String>>);

impl Query {
    /// Reads a query; what stands together without a space is one phrase.
    pub(super) fn parse(text: &str) -> Self {
        let phrases = text.split_whitespace();
        let phrases = phrases.map(|phrase| words(phrase).map(|(_, word)| word).collect());
        Self(
            phrases
                .filter(|words: &Vec<String>| !words.is_empty())
                .collect(),
        )
    }

    /// Returns the query in the words of a database; nothing if it has no words.
    pub(super) fn sql(&self, dialect: Dialect) -> Option<String> {
        let phrases = self.0.iter().map(|words| match dialect {
            // Words are letters and digits, so that quotes need no escape.
            Dialect::Sqlite => format!("\"{}\" *", words.join(" ")),
            Dialect::Postgres => {
                let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
                format!("({}:*)", words.join(" <-> "))
            }
        });
        let joint = match dialect {
            Dialect::Sqlite => " AND ",
            Dialect::Postgres => " & ",
        };
        let sql = phrases.collect::<Vec<_>>().join(joint);
        (!sql.is_empty()).then_some(sql)
    }

    /// Returns where the first of the words stands in a text; its beginning if none does.
    pub(super) fn first_in(&self, text: &str) -> usize {
        self.find_in(text).unwrap_or(0)
    }

    /// Returns where the first of the words stands in a text.
    pub(super) fn find_in(&self, text: &str) -> Option<usize> {
        let wanted = |word: &str| {
            let mut firsts = self.0.iter().filter_map(|words| words.first());
            firsts.any(|first| word.starts_with(first.as_str()))
        };
        words(text).find(|(_, word)| wanted(word)).map(|(at, _)| at)
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
        assert_eq!(spaced("a-B\n c"), "a b c");
        assert_eq!(spaced(""), "");
    }

    #[test]
    fn a_query_is_said_to_each_database_without_its_signs() {
        let query = Query::parse("login.rs \"quote' AND *");
        let sqlite = query.sql(Dialect::Sqlite).unwrap();
        assert_eq!(sqlite, "\"login rs\" * AND \"quote\" * AND \"and\" *");
        let postgres = query.sql(Dialect::Postgres).unwrap();
        assert_eq!(postgres, "('login' <-> 'rs':*) & ('quote':*) & ('and':*)");
        assert_eq!(Query::parse(" .. * ").sql(Dialect::Sqlite), None);
        assert_eq!(query.first_in("see the LOGIN page"), 8);
    }
}
