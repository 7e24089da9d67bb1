//! The lines of a text, real ones and escaped ones.

use std::ops::Range;

/// The most digits that the number of a line has.
const LINE_NUMBER: usize = 6;

/// More backslashes are not an escape of anything.
const MOST_SLASHES: usize = 16;

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// Where it begins in the whole text.
    pub(super) start: usize,
}

impl Piece<'_> {
    /// Tells whether there is nothing in it but signs, and the number of a line.
    pub(super) fn is_blank(&self) -> bool {
        let digits = self.text.bytes().filter(u8::is_ascii_digit).count();
        digits <= LINE_NUMBER && words(self.text).is_empty()
    }

    /// Tells whether it is a header such as `DEK-Info: AES-256-CBC,…`.
    pub(super) fn is_header(&self) -> bool {
        let line = self.text.trim_start_matches(|c: char| !c.is_alphanumeric());
        let Some((name, _)) = line.split_once(": ") else {
            return false;
        };
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (2..=32).contains(&name.len()) && name.chars().all(of_name)
    }
}

/// Returns where the words of a text are, without those of tags and entities of HTML.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let len = rest
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(rest.len());
        if len > 0 {
            words.push(at..at + len);
            at += len;
        } else {
            at += markup(rest).unwrap_or(c.len_utf8());
        }
    }
    words
}

/// Returns the length of the tag or entity that begins a text.
fn markup(text: &str) -> Option<usize> {
    let (end, most) = match text.as_bytes().first()? {
        b'<' => (b'>', 40),
        b'&' => (b';', 8),
        _ => return None,
    };
    let at = text.bytes().take(most).position(|byte| byte == end)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"#/ =\"'-".contains(byte);
    (at > 1 && text.as_bytes()[1..at].iter().all(plain)).then_some(at + 1)
}

/// The lines of a text from a place on.
#[derive(Debug)]
pub(super) struct Pieces<'t> {
    text: &'t str,
    at: Option<usize>,
}

impl<'t> Pieces<'t> {
    pub(super) fn new(text: &'t str, from: usize) -> Self {
        Self {
            text,
            at: Some(from),
        }
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at?;
        let bytes = self.text.as_bytes();
        let mut end = start;
        let mut separator = 0;
        while end < bytes.len() {
            separator = line_end(&bytes[end..]);
            if separator > 0 {
                break;
            }
            end += 1;
        }
        self.at = (separator > 0).then_some(end + separator);
        Some(Piece {
            text: &self.text[start..end],
            start,
        })
    }
}

/// Returns the length of the line end that begins a text, real or written in one of many ways; both halves of one count.
fn line_end(text: &[u8]) -> usize {
    match one_line_end(text) {
        Some((len, b'r')) => match one_line_end(&text[len..]) {
            Some((more, b'n')) => len + more,
            _ => len,
        },
        Some((len, _)) => len,
        None => 0,
    }
}

/// Returns the length of half a line end, and `n` or `r` for which half it is.
fn one_line_end(text: &[u8]) -> Option<(usize, u8)> {
    match text {
        [b'\n', ..] => Some((1, b'n')),
        [b'\r', ..] => Some((1, b'r')),
        [b'\\', ..] => {
            let slashes = slashes(text);
            match &text[slashes..] {
                [half @ (b'n' | b'r'), ..] => Some((slashes + 1, *half)),
                [b'u' | b'U', b'0', b'0', b'0', half, ..] => Some((slashes + 5, of_digit(*half)?)),
                [b'x' | b'X', b'0', half, ..] => Some((slashes + 3, of_digit(*half)?)),
                _ => None,
            }
        }
        [b'%', b'2', b'5', b'0', half, ..] => Some((5, of_digit(*half)?)),
        [b'%', b'0', half, ..] => Some((3, of_digit(*half)?)),
        [b'&', b'#', b'1', half @ (b'0' | b'3'), b';', ..] => {
            Some((5, if *half == b'0' { b'n' } else { b'r' }))
        }
        [b'&', b'#', b'x' | b'X', half, b';', ..] => Some((5, of_digit(*half)?)),
        _ => None,
    }
}

/// Counts the backslashes that begin a text: one for each time that it was escaped, so there are few.
pub(super) fn slashes(text: &[u8]) -> usize {
    let first = text.iter().take(MOST_SLASHES);
    first.take_while(|byte| **byte == b'\\').count()
}

fn of_digit(digit: u8) -> Option<u8> {
    match digit {
        b'a' | b'A' => Some(b'n'),
        b'd' | b'D' => Some(b'r'),
        _ => None,
    }
}
