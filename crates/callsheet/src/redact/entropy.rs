//! The rule that guesses: long runs of characters that look random.
//!
//! It runs only where somebody asks for it, and after the formats of the table, so that a known secret keeps its kind.
//! Words, paths, identifiers, UUIDs and labelled fingerprints are no secrets. All numbers are whole ones, so that the
//! same text has the same secrets on every machine, and every byte is looked at a bounded number of times.

mod label;
mod words;

use std::ops::Range;

use super::rules::Hit;

/// The kind of what this rule finds.
const KIND: &str = "entropy";

/// A candidate has at least as many characters.
const SHORTEST: usize = 20;

/// A candidate of hexadecimal digits only has at least as many of them.
const SHORTEST_HEX: usize = 32;

/// One bit of entropy; smaller amounts are fractions of it.
const BIT: u64 = 1 << FRACTION;

/// The binary digits after the point.
const FRACTION: u32 = 16;

/// The least entropy of one character: 3.7 bits.
const LEAST: u64 = 37 * BIT / 10;

/// The least entropy of one hexadecimal digit: 3 bits.
const LEAST_HEX: u64 = 3 * BIT;

/// What stands between the parts of paths and identifiers, and also in the alphabets of base64.
const SEPARATORS: [char; 4] = ['-', '_', '/', '+'];

/// Finds all texts that look random, in order and without overlap.
pub(super) fn find(text: &str) -> Vec<Hit<'static>> {
    let mut hits = Vec::new();
    let mut at = 0;
    for run in text.as_bytes().chunk_by(|a, b| in_run(*a) == in_run(*b)) {
        let range = at..at + run.len();
        at = range.end;
        if in_run(run[0]) && run.len() >= SHORTEST {
            search(text, range, &mut hits);
        }
    }
    hits
}

fn in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || SEPARATORS.contains(&char::from(byte))
}

/// Looks for secrets in a run: in all of it, or between its words.
fn search(text: &str, mut run: Range<usize>, hits: &mut Vec<Hit<'static>>) {
    if let ([.., b'\\'], b'n' | b'r' | b't') =
        (&text.as_bytes()[..run.start], text.as_bytes()[run.start])
    {
        // The letter of an escaped newline.
        run.start += 1;
    }
    let padding = padding(&text[run.end..]);
    let end = run.end;
    run = trimmed(text, run);
    if label::of_digest(text, run.start) || label::is_digest(&text[run.clone()]) {
        return;
    }
    for part in between_words(&text[run.clone()]) {
        let part = trimmed(text, run.start + part.start..run.start + part.end);
        if let Some(mut range) = secret(text, part) {
            if range.end == end {
                range.end += padding;
            }
            hits.push(Hit {
                kind: KIND,
                range,
                essence: None,
            });
        }
    }
}

/// Counts the `=` that fill up base64; one before a value is none of them.
fn padding(after: &str) -> usize {
    let count = after.bytes().take_while(|byte| *byte == b'=').count();
    let ends = !after
        .as_bytes()
        .get(count)
        .is_some_and(|byte| in_run(*byte));
    if ends && count <= 2 { count } else { 0 }
}

/// Takes separators off both ends: the marks of a diff, the slashes of a path.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let rest = text[range.clone()].trim_start_matches(SEPARATORS);
    let start = range.end - rest.len();
    start..start + rest.trim_end_matches(SEPARATORS).len()
}

/// Returns what is left of a run where its words are cut out, in order.
fn between_words(run: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    for piece in run.split(SEPARATORS) {
        let end = at + piece.len();
        // The name of a commit in an address is no part of what follows it.
        let hex = piece.len() >= SHORTEST_HEX && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex || words::is_word(piece) {
            parts.push(from..at);
            from = end;
        }
        if hex {
            parts.push(at..end);
        }
        at = end + 1;
    }
    parts.push(from..run.len());
    parts
}

/// Returns the secret that a part of a run is, if it looks like one.
fn secret(text: &str, part: Range<usize>) -> Option<Range<usize>> {
    let range = literal(text, part.clone()).unwrap_or(part);
    let found = &text[range.clone()];
    let mixed = found.bytes().any(|byte| byte.is_ascii_digit())
        && found.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !mixed || found.len() < SHORTEST || counts_up(found) || is_uuid(found) {
        return None;
    }
    let digits = found.bytes().filter(u8::is_ascii_hexdigit).count();
    let others = found.chars().filter(|c| SEPARATORS.contains(c)).count();
    let hex = digits + others == found.len();
    let random = if hex {
        digits >= SHORTEST_HEX && entropy(found) >= LEAST_HEX
    } else {
        words::letters_in_words(found) * 2 < found.len() && entropy(found) >= LEAST
    };
    (random && !label::excuses(text, range.start, hex)).then_some(range)
}

/// Returns the digits of a number such as `0x12ab_34cdu64`.
fn literal(text: &str, part: Range<usize>) -> Option<Range<usize>> {
    /// The length of `usize`.
    const LONGEST_TYPE: usize = 5;
    let rest = text[part.clone()].strip_prefix("0x")?;
    let start = part.end - rest.len();
    let tail = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '_');
    (tail.len() <= LONGEST_TYPE).then(|| start..part.end - tail.len())
}

/// Tells whether a text is mostly a sequence, such as an alphabet.
fn counts_up(text: &str) -> bool {
    let bytes = text.as_bytes();
    let steps = bytes
        .windows(2)
        .filter(|pair| pair[0].abs_diff(pair[1]) <= 1);
    steps.count() * 2 >= bytes.len()
}

/// Tells whether a text is a UUID: a name, which is seldom secret.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split(['-', '_']).map(str::len);
    let hex = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_');
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(hex)
}

/// Tells whether a text has at least so many bits of entropy in each character.
pub(super) fn reaches(text: &str, bits: f64) -> bool {
    // From whole numbers on, every machine has the same result.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rule has between none and eight bits"
    )]
    let least = (bits * BIT as f64) as u64;
    entropy(text) >= least
}

/// Returns the Shannon entropy of one character, in fractions of a bit.
fn entropy(text: &str) -> u64 {
    let mut counts = [0_u64; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length: u64 = counts.iter().sum();
    if length == 0 {
        return 0;
    }
    let repeated = counts.iter().filter(|count| **count > 1);
    let known: u64 = repeated.map(|count| count * log2(*count)).sum();
    log2(length).saturating_sub(known / length)
}

/// Returns the binary logarithm of a number from 1 up, in fractions of a bit, rounded down.
fn log2(number: u64) -> u64 {
    /// The digits after the point of the number that is squared; its square has to fit.
    const POINT: u32 = 31;
    let whole = number.ilog2();
    let mut rest = if whole <= POINT {
        number << (POINT - whole)
    } else {
        number >> (whole - POINT)
    };
    let mut log = u64::from(whole);
    for _ in 0..FRACTION {
        rest = (rest * rest) >> POINT;
        let digit = rest >> (POINT + 1);
        rest >>= digit;
        log = (log << 1) | digit;
    }
    log
}

#[cfg(test)]
mod tests;
