//! Reads compact JSON of messages, byte for byte; anything else is none.

use super::{Content, Run};
use crate::section::Role;

/// Returns the text of messages without escapes, where its bytes come from, and the contents.
pub(super) fn messages(prompt: &str) -> Option<(String, Vec<Run>, Vec<Content>)> {
    if !prompt.starts_with('[') {
        return None;
    }
    let mut scan = Scan {
        prompt,
        at: 0,
        text: String::with_capacity(prompt.len()),
        runs: vec![Run { prompt: 0, read: 0 }],
        contents: Vec::new(),
    };
    scan.copy("[")?;
    if scan.copy("]").is_none() {
        scan.message()?;
        while scan.copy(",").is_some() {
            scan.message()?;
        }
        scan.copy("]")?;
    }
    (scan.at == prompt.len()).then_some((scan.text, scan.runs, scan.contents))
}

struct Scan<'a> {
    prompt: &'a str,
    at: usize,
    text: String,
    runs: Vec<Run>,
    contents: Vec<Content>,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.prompt[self.at..]
    }

    /// Goes on over what has to stand here.
    fn copy(&mut self, expected: &str) -> Option<()> {
        self.rest().strip_prefix(expected)?;
        self.text.push_str(expected);
        self.at += expected.len();
        Some(())
    }

    fn message(&mut self) -> Option<()> {
        self.copy("{\"role\":\"")?;
        let mut roles = [Role::System, Role::User, Role::Assistant].into_iter();
        let role = roles.find(|role| self.copy(role.name()).is_some())?;
        self.copy("\",\"content\":\"")?;
        let (prompt, read) = (self.at, self.text.len());
        self.content()?;
        self.contents.push(Content {
            role,
            prompt: prompt..self.at,
            read: read..self.text.len(),
        });
        self.copy("\"}")
    }

    /// Goes on to the quote that ends a string.
    fn content(&mut self) -> Option<()> {
        loop {
            let rest = self.rest();
            let len = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
            let plain = &rest[..len];
            if plain.bytes().any(|byte| byte < b' ') {
                return None;
            }
            let escaped = rest.as_bytes()[len] == b'\\';
            let (c, used) = if escaped {
                unescaped(&rest[len + 1..])?
            } else {
                ('"', 0)
            };
            let start = self.at + len;
            self.text.push_str(&self.prompt[self.at..start]);
            self.at = start;
            if !escaped {
                return Some(());
            }
            self.begin_run();
            self.text.push(c);
            self.at += 1 + used;
            self.begin_run();
        }
    }

    fn begin_run(&mut self) {
        let run = Run {
            prompt: self.at,
            read: self.text.len(),
        };
        if self
            .runs
            .last()
            .is_none_or(|last| last.prompt != run.prompt)
        {
            self.runs.push(run);
        }
    }
}

/// Returns the character of an escape, and how many bytes it takes after the backslash.
fn unescaped(text: &str) -> Option<(char, usize)> {
    let c = match text.bytes().next()? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(&text[1..]),
        _ => return None,
    };
    Some((c, 1))
}

/// Returns the character of four digits, or of a pair of surrogates.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.get(..4)?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| hex)
    };
    let first = unit(text)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, 5));
    }
    let second = unit(text[4..].strip_prefix("\\u")?)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, 11))
}
