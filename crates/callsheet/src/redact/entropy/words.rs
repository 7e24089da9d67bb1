//! Words, as far as letters tell: what makes paths and identifiers differ from random text.
//!
//! There is no dictionary here. A word is what can be pronounced.

/// A shorter part of an identifier says nothing.
const SHORTEST: usize = 4;

/// A shorter part between separators says nothing.
const SHORTEST_PIECE: usize = 3;

/// More consonants in a row are hard to say.
const CONSONANTS: usize = 3;

/// Tells whether what stands between separators is a word, or words in camel case.
pub(super) fn is_word(piece: &str) -> bool {
    let bytes = piece.as_bytes();
    let Some((_, rest)) = bytes.split_first() else {
        return false;
    };
    if bytes.len() < SHORTEST_PIECE || !bytes.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let plain = rest.iter().all(u8::is_ascii_lowercase) || bytes.iter().all(u8::is_ascii_uppercase);
    plain || letters_in_words(piece) * 2 >= piece.len()
}

/// Counts the letters of a text that are in words.
pub(super) fn letters_in_words(text: &str) -> usize {
    let mut rest = text.as_bytes();
    let mut letters = 0;
    while !rest.is_empty() {
        let (hump, after) = rest.split_at(hump(rest));
        if is_pronounceable(hump) {
            letters += hump.len();
        }
        rest = after;
    }
    letters
}

/// Returns the length of the first hump of camel case: `get`, `User`, `HTTP` before `Error`; one for any other byte.
fn hump(text: &[u8]) -> usize {
    let upper = text.iter().take_while(|byte| byte.is_ascii_uppercase());
    let upper = upper.count();
    let lower = text[upper..]
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase());
    match (upper, lower.count()) {
        (0 | 1, lower) => (upper + lower).max(1),
        (upper, 0) => upper,
        // The last capital belongs to what follows.
        (upper, _) => upper - 1,
    }
}

fn is_pronounceable(hump: &[u8]) -> bool {
    let vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    hump.len() >= SHORTEST
        && hump.iter().any(vowel)
        && hump.split(vowel).all(|part| part.len() <= CONSONANTS)
}
