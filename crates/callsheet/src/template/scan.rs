//! Finds the placeholders of the plain language, in one pass over the text.
//!
//! Within one line, exactly two `{` open and two `}` close, matched like brackets. A matched pair is a placeholder
//! if it holds some text and no brace; with anything nested inside, it is literal as a whole.

use std::ops::Range;

/// A placeholder of the plain language.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placeholder {
    /// The name between the braces, without white space around it.
    pub name: String,
    /// The byte range in the text, braces included.
    pub range: Range<usize>,
}

/// Returns the placeholders of a text, in order.
pub fn placeholders(body: &str) -> Vec<Placeholder> {
    scan(body).placeholders
}

/// The placeholders of a text, and the pairs of braces that look like one but are text.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) placeholders: Vec<Placeholder>,
    pub(super) literal: Vec<Range<usize>>,
}

/// An opening pair, and how much had been found before it.
struct Open {
    start: usize,
    placeholders: usize,
    literal: usize,
}

pub(super) fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut found = Scan::default();
    let mut opens: Vec<Open> = Vec::new();
    // The end of the last run of braces: a pair holds no brace if nothing came after its opening.
    let mut last = 0;
    let mut at = 0;
    while let Some(skip) = memchr::memchr3(b'{', b'}', b'\n', &bytes[at..]) {
        at += skip;
        let brace = bytes[at];
        if brace == b'\n' {
            opens.clear();
            at += 1;
            continue;
        }
        let run = bytes[at..]
            .iter()
            .take_while(|&&byte| byte == brace)
            .count();
        if brace == b'{' {
            if run == 2 {
                opens.push(Open {
                    start: at,
                    placeholders: found.placeholders.len(),
                    literal: found.literal.len(),
                });
            }
        } else {
            for close in (at..at + run - run % 2).step_by(2) {
                if let Some(open) = opens.pop() {
                    found.close(text, &open, close, last == open.start + 2);
                }
                last = close + 2;
            }
        }
        at += run;
        last = at;
    }
    found
}

impl Scan {
    fn close(&mut self, text: &str, open: &Open, close: usize, clean: bool) {
        let range = open.start..close + 2;
        let name = crate::text::strip(&text[open.start + 2..close]);
        if clean && !name.is_empty() {
            self.placeholders.push(Placeholder {
                name: name.to_owned(),
                range,
            });
            return;
        }
        self.placeholders.truncate(open.placeholders);
        self.literal.truncate(open.literal);
        self.literal.push(range);
    }
}
