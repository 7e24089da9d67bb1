//! The search for secrets: keywords first, then the expressions of the rules whose keywords are there.
//!
//! What stands directly before and behind a secret decides whether it is one. A pseudonym is never searched again.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::Regex;

use super::block::{self, Marker};
use super::{Entry, Rule, Rules, Table, placeholder};
use crate::redact::{CLOSE, OPEN, entropy};

/// So often the search begins anew inside of what touches a letter, before it goes on behind it.
const MOST_TOUCHED: usize = 16;

/// So many bytes before a keyword a match may begin.
const BEFORE: usize = 1 << 10;

/// So many bytes behind a keyword are searched, and what follows up to the next space; a match that goes further is
/// followed to its end.
const BEHIND: usize = 4 << 10;

/// The longest pseudonym.
const LONGEST_PSEUDONYM: usize = 96;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::redact) struct Hit<'r> {
    pub(in crate::redact) kind: &'r str,
    pub(in crate::redact) range: Range<usize>,
    /// What makes the secret the one it is, where that is not its text: a key is the same one however its lines are
    /// broken and indented.
    pub(in crate::redact) essence: Option<String>,
}

/// The keyword search, with the rule of each keyword; the last word of it is the beginning of a pseudonym.
pub(super) struct Keywords {
    search: AhoCorasick,
    rules: Vec<usize>,
}

impl Keywords {
    /// Makes the search; one that is too large for memory would find nothing, and a test makes sure that ours is not.
    pub(super) fn of(rules: &[Rule]) -> Option<Self> {
        let words = rules
            .iter()
            .enumerate()
            .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (at, word.as_str())));
        let (rules, mut words): (Vec<usize>, Vec<&str>) = words.unzip();
        words.push(OPEN);
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .ok()?;
        Some(Self { search, rules })
    }
}

impl Rules {
    /// Finds all secrets of a text, in order and without overlap.
    pub(in crate::redact) fn find(&self, text: &str) -> Vec<Hit<'_>> {
        self.table().find(text)
    }
}

impl Table {
    /// Finds all secrets of a text, in order and without overlap.
    pub(super) fn find(&self, text: &str) -> Vec<Hit<'_>> {
        let Some(keywords) = &self.keywords else {
            return Vec::new();
        };
        let mut near = vec![Vec::new(); self.entries.len()];
        let mut pseudonyms = Vec::new();
        for found in keywords.search.find_overlapping_iter(text) {
            match keywords.rules.get(found.pattern().as_usize()) {
                Some(rule) => widen(&mut near[*rule], found.range(), text),
                None => pseudonyms.extend(pseudonym(text, found.start())),
            }
        }
        let mut hits = Vec::new();
        for (entry, mut near) in self.entries.iter().zip(near) {
            if entry.rule.keywords.is_empty() || entry.rule.block && !near.is_empty() {
                near.clear();
                near.push(0..text.len());
            }
            entry.search(text, &near, &mut hits);
        }
        let hits = hits.into_iter().flat_map(|hit| apart(hit, &pseudonyms));
        merged(hits.collect())
    }
}

/// Adds what is near a keyword to what is searched; keywords come in the order of their ends.
fn widen(near: &mut Vec<Range<usize>>, keyword: Range<usize>, text: &str) {
    let start = text.floor_char_boundary(keyword.start.saturating_sub(BEFORE));
    let end = (keyword.end + BEHIND).min(text.len());
    let space = || {
        let rest = &text.as_bytes()[end..];
        end + rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len())
    };
    match near.last_mut() {
        Some(last) if end <= last.end => {}
        Some(last) if start <= last.end => last.end = space(),
        _ => near.push(start..space()),
    }
}

impl Entry {
    /// Finds the secrets of one rule in parts of a text.
    fn search<'r>(&'r self, text: &str, near: &[Range<usize>], hits: &mut Vec<Hit<'r>>) {
        let Some(expression) = self.expression().filter(|_| !near.is_empty()) else {
            return;
        };
        if self.rule.block {
            let blocks = block::find(text, &markers(expression, text));
            hits.extend(blocks.into_iter().map(|block| Hit {
                kind: &self.rule.id,
                range: block.range,
                essence: Some(block.essence),
            }));
            return;
        }
        let mut from = 0;
        for part in near {
            from = self.search_part(expression, text, from.max(part.start)..part.end, hits);
        }
    }

    /// Finds the secrets of a part of a text; returns where the search for others may go on.
    fn search_part<'r>(
        &'r self,
        expression: &Regex,
        text: &str,
        part: Range<usize>,
        hits: &mut Vec<Hit<'r>>,
    ) -> usize {
        let (mut from, mut until, mut touched) = (part.start, part.end, (0, 0));
        while from <= until
            && let Some(found) = expression.captures_at(&text.as_bytes()[..until], from)
        {
            let Some(whole) = found.get(0) else {
                break;
            };
            if whole.end() == until && until < text.len() {
                until = text
                    .ceil_char_boundary(whole.start().max(from) + 2 * (until - from).max(BEHIND));
                continue;
            }
            let group = found.iter().skip(1).flatten().next();
            let secret = group.unwrap_or(whole);
            let secret =
                text.floor_char_boundary(secret.start())..text.ceil_char_boundary(secret.end());
            // Where there is a group, the rest of the expression says what stands before it.
            let before = group.is_none() && touches_before(text, secret.start);
            if !secret.is_empty() && !before && !touches_after(text, secret.end) {
                if self.rule.accepts(&text[secret.clone()], group.is_some()) {
                    hits.push(Hit {
                        kind: &self.rule.id,
                        range: secret,
                        essence: None,
                    });
                }
                from = whole.end().max(from + 1);
                continue;
            }
            // The next one may begin inside, but not before these letters and digits end: they would touch it too.
            let rest = &text.as_bytes()[secret.start..];
            let letters = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric());
            let again = touched.0 == whole.end();
            touched = (whole.end(), if again { touched.1 + 1 } else { 0 });
            from = if touched.1 < MOST_TOUCHED {
                secret.start + letters.count().max(1)
            } else {
                whole.end()
            };
        }
        from
    }
}

impl Rule {
    /// Looks at what the expression cannot say.
    fn accepts(&self, secret: &str, is_group: bool) -> bool {
        let has = |is: fn(&u8) -> bool| secret.bytes().any(|byte| is(&byte));
        let mixed = !self.mixed || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        let random = self
            .entropy
            .is_none_or(|least| entropy::reaches(secret, least));
        mixed && random && !(is_group && placeholder::is_one(secret))
    }
}

fn markers(expression: &Regex, text: &str) -> Vec<Marker> {
    let found = expression.find_iter(text.as_bytes());
    found
        .map(|found| Marker {
            range: text.floor_char_boundary(found.start())..text.ceil_char_boundary(found.end()),
            ends: found.as_bytes().windows(3).any(|part| part == b"END"),
        })
        .collect()
}

/// Tells whether a letter or digit stands directly before a secret; one that belongs to an escape does not count.
fn touches_before(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let starts = bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let before = &bytes[..at];
    starts && before.last().is_some_and(u8::is_ascii_alphanumeric) && !ends_in_escape(before)
}

/// Tells whether a text ends in an escaped character: `\n`, `\x3d`, `\u003d`, `\075`, `%3D`, `=3D`, or a colour.
fn ends_in_escape(text: &[u8]) -> bool {
    let hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let octal = |digits: &[u8]| digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    match text {
        [
            ..,
            b'\\',
            b'a' | b'b' | b'e' | b'f' | b'n' | b'r' | b't' | b'v' | b'0',
        ] => true,
        [.., b'%', a, b] | [.., b'%', b'2', b'5', a, b] if hex(&[*a, *b]) => true,
        [.., b'\\', b'x', a, b] if hex(&[*a, *b]) => true,
        [.., b'\\', a, b, c] if octal(&[*a, *b, *c]) => true,
        [.., b'\\', b'u', a, b, c, d] if hex(&[*a, *b, *c, *d]) => true,
        [.., b'=', b'3', b'D'] => true,
        [.., b'm'] => ends_in_colour(text),
        _ => false,
    }
}

/// Tells whether a text ends in the colour of a terminal, such as `[1;31m`.
fn ends_in_colour(text: &[u8]) -> bool {
    let codes = text.iter().rev().skip(1).take(16);
    let codes = codes.take_while(|byte| byte.is_ascii_digit() || **byte == b';');
    text[..text.len() - 1 - codes.count()].ends_with(b"[")
}

/// Tells whether a letter or digit stands directly behind a secret.
fn touches_after(text: &str, at: usize) -> bool {
    let letter_at = |at: usize| {
        text.as_bytes()
            .get(at)
            .is_some_and(u8::is_ascii_alphanumeric)
    };
    at > 0 && letter_at(at) && letter_at(at - 1)
}

/// Returns the pseudonym that begins at a place of a text.
fn pseudonym(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?.strip_prefix(OPEN)?;
    let near = &rest[..rest.floor_char_boundary(LONGEST_PSEUDONYM)];
    let (inner, _) = near.split_once(CLOSE)?;
    let (kind, hash) = inner.split_once(':')?;
    let of_kind = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_one = kind.bytes().all(of_kind)
        && hash.len() == 4
        && hash.bytes().all(|it| it.is_ascii_hexdigit());
    is_one.then(|| start..start + OPEN.len() + inner.len() + CLOSE.len())
}

/// Returns what of a hit is not within a pseudonym.
fn apart<'r>(hit: Hit<'r>, pseudonyms: &[Range<usize>]) -> Vec<Hit<'r>> {
    let first = pseudonyms.partition_point(|it| it.end <= hit.range.start);
    let within = pseudonyms[first..]
        .iter()
        .take_while(|it| it.start < hit.range.end);
    let mut parts = Vec::new();
    let mut from = hit.range.start;
    for pseudonym in within {
        parts.push(from..pseudonym.start.max(from));
        from = pseudonym.end;
    }
    if parts.is_empty() {
        return vec![hit];
    }
    parts.push(from..hit.range.end.max(from));
    let parts = parts.into_iter().filter(|range| !range.is_empty());
    let hits = parts.map(|range| Hit {
        kind: hit.kind,
        range,
        essence: None,
    });
    hits.collect()
}

/// Sorts hits and joins those that overlap, so that no part of a secret stays.
fn merged(mut hits: Vec<Hit<'_>>) -> Vec<Hit<'_>> {
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut out: Vec<Hit<'_>> = Vec::with_capacity(hits.len());
    for hit in hits {
        match out.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                if hit.range.end > last.range.end {
                    last.range.end = hit.range.end;
                    last.essence = None;
                }
            }
            _ => out.push(hit),
        }
    }
    out
}
