//! The part of a line that belongs to a key, and what may stand around it.

use std::ops::Range;

use super::Marker;
use super::pieces::{Piece, Pieces, slashes, words};

/// So many characters that look random belong to a key, whatever else stands in their line.
const SURELY: usize = 40;

/// So many that begin their line do, whatever follows them.
const LIKELY: usize = 12;

/// A key in one line has spaces between parts of so many characters.
const PART: usize = 24;

/// More consonants in a row are hard to say.
const CONSONANTS: usize = 3;

/// A longer line than this one is not looked at for what stands before its marker.
const LONGEST: usize = 512;

/// The part of a line that belongs to a key.
#[derive(Debug)]
pub(super) struct Content {
    /// Where it stands in the whole text.
    pub(super) range: Range<usize>,
    /// Itself, without escapes.
    pub(super) plain: String,
}

impl Content {
    /// Tells whether it could be a word.
    pub(super) fn is_word(&self) -> bool {
        is_word(self.plain.as_bytes())
    }
}

/// Tells whether letters could be a word.
fn is_word(bytes: &[u8]) -> bool {
    let rest = bytes.get(1..).unwrap_or_default();
    let letters = bytes.iter().all(u8::is_ascii_alphabetic);
    let plain = rest.iter().all(u8::is_ascii_lowercase) || rest.iter().all(u8::is_ascii_uppercase);
    let vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let spoken = bytes.split(vowel).all(|part| part.len() <= CONSONANTS);
    letters && plain && spoken && bytes.iter().any(vowel)
}

/// What stands around a marker in its line; the same may stand around the lines of its key.
#[derive(Debug)]
pub(super) struct Around<'t> {
    before: Vec<&'t str>,
    after: Vec<&'t str>,
    /// Signs directly before the marker that could be the beginning of a line of the key.
    glued: &'t str,
}

impl<'t> Around<'t> {
    pub(super) fn of(text: &'t str, marker: &Marker) -> Self {
        let near = text.floor_char_boundary(marker.range.start.saturating_sub(LONGEST));
        let before = Pieces::new(&text[..marker.range.start], near).last();
        let before = before.map_or("", |piece| piece.text);
        let near = text.ceil_char_boundary(marker.range.end + LONGEST);
        let after = Pieces::new(&text[..near], marker.range.end).next();
        let after = after.map_or("", |piece| piece.text);
        let glued = before.trim_end_matches(['+', '/', '=']);
        Self {
            before: words(before)
                .into_iter()
                .map(|word| &before[word])
                .collect(),
            after: words(after).into_iter().map(|word| &after[word]).collect(),
            glued: &before[glued.len()..],
        }
    }

    /// Tells whether a line is only what stands before a marker.
    pub(super) fn is_before(&self, piece: &Piece<'t>) -> bool {
        !self.before.is_empty() && are(piece.text, &words(piece.text), &self.before)
    }

    /// Returns the part of a line that belongs to the key.
    pub(super) fn content(&self, piece: &Piece<'t>) -> Option<Content> {
        let runs = runs(piece.text);
        let words = words(piece.text);
        let begins = |run: &Range<usize>| {
            let before = &words[..words.partition_point(|word| word.end <= run.start)];
            before.is_empty() || are(piece.text, before, &self.before)
        };
        let ends = |run: &Range<usize>| {
            let after = &words[words.partition_point(|word| word.start < run.end)..];
            after.is_empty() || are(piece.text, after, &self.after)
        };
        let random = |run: &Range<usize>| {
            let bytes = piece.text[run.clone()].as_bytes();
            bytes.iter().any(u8::is_ascii_uppercase)
                && bytes.iter().any(u8::is_ascii_lowercase)
                && bytes.iter().any(u8::is_ascii_digit)
        };
        let fits = |run: &&Range<usize>| {
            begins(run) && (ends(run) || run.len() >= LIKELY && random(run))
                || run.len() >= SURELY && random(run)
        };
        let run = runs.iter().rev().find(fits)?;
        let plain = plain(&piece.text[run.clone()]);
        let plain = plain.strip_prefix(self.glued).unwrap_or(&plain).to_owned();
        Some(Content {
            range: piece.start + run.start..piece.start + run.end,
            plain,
        })
    }
}

/// Tells whether the words of a text are these.
fn are(text: &str, words: &[Range<usize>], wanted: &[&str]) -> bool {
    let found = words.iter().map(|word| &text[word.clone()]);
    words.len() == wanted.len() && found.eq(wanted.iter().copied())
}

/// Returns the runs of base64 in a line.
fn runs(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while let Some((len, _)) = character(&bytes[at..]) {
            at += len;
        }
        if at == start {
            at += 1;
            continue;
        }
        let start = start + escape(&bytes[..start], &bytes[start..at]);
        let spaces = |part: &[u8]| part.iter().all(|byte| b" \t".contains(byte));
        // The parts of a key in one line are as long as its lines were, and the last one is shorter.
        let is_rest = || spaces(&bytes[at..]) && !is_word(&bytes[start..at]);
        match runs.last_mut() {
            Some(last)
                if last.len() >= PART
                    && spaces(&bytes[last.end..start])
                    && (at - start >= PART || is_rest()) =>
            {
                last.end = at;
            }
            _ if at > start => runs.push(start..at),
            _ => {}
        }
    }
    runs
}

/// Returns how many bytes of a run belong to an escape before it: `\t`, `%20`, or a colour of a terminal.
fn escape(before: &[u8], run: &[u8]) -> usize {
    match (before, run) {
        ([.., b'\\'], [b't' | b'n' | b'r', ..]) => 1,
        ([.., b'%'], [one, two, ..]) if one.is_ascii_hexdigit() && two.is_ascii_hexdigit() => 2,
        ([.., b'[' | b';'], _) => {
            let digits = run.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if run.get(digits) == Some(&b'm') {
                digits + 1
            } else {
                0
            }
        }
        _ => 0,
    }
}

/// Returns the character of base64 that begins a text, with the length that it takes, escaped or not.
fn character(text: &[u8]) -> Option<(usize, char)> {
    let sign = |code: &[u8]| match code {
        [b'2', b'b' | b'B'] => Some('+'),
        [b'2', b'f' | b'F'] => Some('/'),
        [b'3', b'd' | b'D'] => Some('='),
        _ => None,
    };
    match text {
        [byte, ..] if byte.is_ascii_alphanumeric() || b"+/=".contains(byte) => {
            Some((1, char::from(*byte)))
        }
        [b'\\', ..] => {
            let slashes = slashes(text);
            match &text[slashes..] {
                [b'/', ..] => Some((slashes + 1, '/')),
                [b'u', b'0', b'0', code @ ..] => Some((slashes + 5, sign(code.get(..2)?)?)),
                _ => None,
            }
        }
        [b'%', b'2', b'5', code @ ..] if sign(code.get(..2).unwrap_or_default()).is_some() => {
            Some((5, sign(code.get(..2)?)?))
        }
        [b'%', code @ ..] => Some((3, sign(code.get(..2)?)?)),
        _ => None,
    }
}

/// Returns a run without its escapes and spaces.
fn plain(run: &str) -> String {
    let bytes = run.as_bytes();
    let mut out = String::with_capacity(run.len());
    let mut at = 0;
    while at < bytes.len() {
        match character(&bytes[at..]) {
            Some((len, c)) => {
                out.push(c);
                at += len;
            }
            None => at += 1,
        }
    }
    out
}
