//! Lines, and what makes one special.

use std::ops::Range;

use crate::text::is_space;

/// A line of a text, without what ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    start: usize,
    end: usize,
    /// Whether Markdown sees the beginning of a line here too; it does not know all signs that break lines.
    pub(super) in_markdown: bool,
}

/// What a line would do to the structure around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading of a level: `## x`.
    Heading(usize),
    /// Makes a heading of the line before: `---`, `===`.
    Underline,
    /// Begins or ends a frame: `--- x ---`.
    Border,
    /// Opens or closes a code block: three or more of a sign, bare if nothing follows, plain if it can open one.
    Fence {
        sign: u8,
        len: usize,
        bare: bool,
        plain: bool,
    },
    /// Opens markup that ends only at its own end: `<!--`, `<pre`.
    Markup,
}

/// A special line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) kind: Kind,
    /// Where the sign stands that backslashes go before.
    pub(super) sign: usize,
    /// How many backslashes stand there.
    pub(super) escapes: usize,
    /// Whether the run begins the line, without white space, quote signs or bullets before it.
    pub(super) at_margin: bool,
}

/// Returns the lines of a text; every sign that any reader takes for a line break ends one.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line> {
    let mut breaks = text.char_indices().filter(|(_, c)| is_break(*c));
    let mut next = Some((0, true));
    std::iter::from_fn(move || {
        let (start, in_markdown) = next?;
        let found = breaks.next();
        next = found.map(|(at, c)| (at + c.len_utf8(), matches!(c, '\n' | '\r')));
        let end = found.map_or(text.len(), |(at, _)| at);
        Some(Line {
            start,
            end,
            in_markdown,
        })
    })
}

fn is_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

impl Line {
    /// Returns the byte range in the text.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns what makes the line special, behind any indentation, quote signs and bullets.
    pub(super) fn special(&self, text: &str) -> Option<Special> {
        let line = &text[self.start..self.end];
        let mut at = 0;
        loop {
            at += line[at..].len() - line[at..].trim_start_matches(is_space).len();
            let rest = &line[at..];
            if let Some((kind, sign, escapes)) = special_at(rest) {
                return Some(Special {
                    kind,
                    sign: self.start + at + sign,
                    escapes,
                    at_margin: at == 0,
                });
            }
            at += container(rest)?;
        }
    }

    /// Tells whether the line begins with a tag, which makes a block that hides a fence.
    pub(super) fn begins_with_tag(&self, text: &str) -> bool {
        let line = &text[self.start..self.end];
        let inner = line.trim_start_matches(|c: char| {
            is_space(c) || ">-+*.)".contains(c) || c.is_ascii_digit()
        });
        let mut chars = inner.chars();
        chars.next() == Some('<')
            && chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
    }
}

/// Returns the number of bytes of a quote sign or a bullet.
pub(super) fn container(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let spaced = |len: usize| rest[len..].starts_with(is_space).then_some(len);
    match bytes.first()? {
        b'>' => Some(1),
        b'-' | b'+' | b'*' => spaced(1),
        b'0'..=b'9' => {
            let digits = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let closed = matches!(bytes.get(digits), Some(b'.' | b')'));
            (closed && digits <= 9)
                .then(|| spaced(digits + 1))
                .flatten()
        }
        _ => None,
    }
}

/// Returns the kind, the place that backslashes stand before, and how many do.
pub(super) fn special_at(rest: &str) -> Option<(Kind, usize, usize)> {
    let bytes = rest.as_bytes();
    let count = |from: usize, wanted: u8| {
        let same = bytes[from..].iter().take_while(|&&byte| byte == wanted);
        same.count()
    };
    let before = count(0, b'\\');
    match *bytes.get(before)? {
        sign @ (b'`' | b'~') => {
            let len = count(before, sign);
            let info = &rest[before + len..];
            let bare = info.trim_start_matches([' ', '\t']).is_empty();
            // A run of backticks with more of them behind it is code within a line.
            let plain = sign == b'~' || !info.contains('`');
            let fence = Kind::Fence {
                sign,
                len,
                bare,
                plain,
            };
            (len >= 3).then_some((fence, before, before))
        }
        b'<' => opens_markup(&rest[before + 1..]).then_some((Kind::Markup, before, before)),
        sign @ (b'#' | b'=' | b'-') => {
            let run = if before > 0 { 0 } else { count(0, sign) };
            let escapes = count(run, b'\\');
            // `##` has its run in one piece, `#\#` in two.
            let (len, last, escapes) = match bytes.get(run + escapes) {
                Some(&next) if escapes > 0 && next == sign => (run + 1, run + escapes, escapes),
                _ => (run, run.checked_sub(1)?, 0),
            };
            Some((kind(sign, len, &rest[last + 1..])?, last, escapes))
        }
        _ => None,
    }
}

fn kind(sign: u8, len: usize, after: &str) -> Option<Kind> {
    let bare = after.trim_start_matches(is_space).is_empty();
    let spaced = after.starts_with(is_space);
    match sign {
        b'#' if len <= 6 && (bare || spaced) => Some(Kind::Heading(len)),
        b'=' | b'-' if bare => Some(Kind::Underline),
        b'-' if len >= 3 && spaced && after.trim_end_matches(is_space).ends_with("---") => {
            Some(Kind::Border)
        }
        _ => None,
    }
}

/// Tells whether a tag begins a block that blank lines do not end.
fn opens_markup(after: &str) -> bool {
    const NAMES: [&str; 4] = ["pre", "script", "style", "textarea"];
    let named = |name: &str| {
        after
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    after.starts_with(['!', '?']) || NAMES.into_iter().any(named)
}
