//! One line of a board: a key and the place of its value, to the byte.
//!
//! This is the part of YAML that boards are made of. What could mean something else to another reader is refused.

use std::ops::Range;

/// A line without its end.
#[derive(Clone, Copy, Debug)]
pub(in crate::sprint) struct Row<'a> {
    /// Counted from 1.
    pub(in crate::sprint) number: usize,
    /// The byte of the file at which it begins.
    pub(in crate::sprint) start: usize,
    pub(in crate::sprint) text: &'a str,
}

impl<'a> Row<'a> {
    /// Returns the lines of a text; a byte order mark at its start belongs to none.
    pub(in crate::sprint) fn all(text: &'a str) -> impl Iterator<Item = Row<'a>> {
        let mut start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let lines = text[start..].split_inclusive('\n');
        (1..).zip(lines).map(move |(number, line)| {
            let begin = start;
            start += line.len();
            let text = line.strip_suffix('\n').unwrap_or(line);
            Row {
                number,
                start: begin,
                text: text.strip_suffix('\r').unwrap_or(text),
            }
        })
    }

    /// Returns the number of spaces in front.
    pub(in crate::sprint) fn indent(self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    /// Tells whether there is nothing but blanks or a comment.
    pub(in crate::sprint) fn is_idle(self) -> bool {
        let text = self.text.trim_start_matches([' ', '\t']);
        text.is_empty() || text.starts_with('#')
    }

    /// Tells whether it is an item of a list.
    pub(in crate::sprint) fn is_item(self) -> bool {
        let text = self.text.trim_start_matches(' ');
        text == "-" || text.starts_with("- ")
    }
}

/// A key and what stands behind it.
#[derive(Debug)]
pub(in crate::sprint) struct Pair<'a> {
    pub(in crate::sprint) key: String,
    /// The rest of the line behind the colon.
    rest: &'a str,
    /// The byte of the file at which the rest begins.
    at: usize,
}

/// The value of an entry.
#[derive(Debug)]
pub(in crate::sprint) struct Scalar {
    pub(in crate::sprint) text: String,
    /// Its bytes in the file, without quotes; empty where there is no value.
    pub(in crate::sprint) bytes: Range<usize>,
}

impl<'a> Pair<'a> {
    /// Reads a line as a key and a value; says what is wrong with it otherwise.
    pub(in crate::sprint) fn parse(row: Row<'a>) -> Result<Self, String> {
        let text = &row.text[row.indent()..];
        let (key, end) = match text.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let (key, end) = quoted(text, quote)?.ok_or_else(not_a_pair)?;
                let blank = text[end..].len() - text[end..].trim_start_matches(' ').len();
                (key, end + blank)
            }
            Some(first) if "?&*!|>{}[],%@`".contains(first) => return Err(special(first)),
            _ => {
                let end = colon(text).ok_or_else(not_a_pair)?;
                (text[..end].trim_end().to_owned(), end)
            }
        };
        let rest = text[end..].strip_prefix(':').ok_or_else(not_a_pair)?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return Err(not_a_pair());
        }
        if key.contains(char::is_control) {
            return Err("the key contains a control character".to_owned());
        }
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        let at = row.start + row.text.len() - rest.len();
        Ok(Self { key, rest, at })
    }

    /// Returns the value without the blanks around it, with quotes and comment.
    pub(in crate::sprint) fn raw(&self) -> &'a str {
        match self.rest.trim() {
            comment if comment.starts_with('#') => "",
            value => value,
        }
    }

    /// Reads the value as one word or text; nothing is left out but a comment.
    pub(in crate::sprint) fn scalar(&self) -> Result<Scalar, String> {
        let raw = self.raw();
        let Some(first) = raw.chars().next() else {
            return Ok(Scalar {
                text: String::new(),
                bytes: self.at..self.at,
            });
        };
        let begin = self.rest.len() - self.rest.trim_start().len();
        if self.rest[..begin].contains('\t') {
            return Err("there is a tab behind the key; use spaces".to_owned());
        }
        let start = self.at + begin;
        let (text, bytes) = match first {
            '"' | '\'' => {
                let (text, end) = quoted(raw, first)?
                    .ok_or_else(|| "the quoted value does not end in this line".to_owned())?;
                let behind = &raw[end..];
                if !behind.trim_start().is_empty() && !behind.trim_start().starts_with('#') {
                    return Err("there is something behind the quoted value".to_owned());
                }
                (text, start + 1..start + end - 1)
            }
            first if "&*!|>{}[],%@`".contains(first) => return Err(special(first)),
            _ => {
                let text = plain(raw)?;
                (text.to_owned(), start..start + text.len())
            }
        };
        if text.contains(char::is_control) {
            return Err("the value contains a control character".to_owned());
        }
        Ok(Scalar { text, bytes })
    }

    /// Returns the quote of a value that goes on in the next line.
    pub(in crate::sprint) fn open_quote(&self) -> Option<char> {
        let raw = self.raw();
        let quote = raw.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        (!closes(&raw[1..], quote)).then_some(quote)
    }
}

/// Tells whether a line holds the end of a text in quotes.
pub(in crate::sprint) fn closes(text: &str, quote: char) -> bool {
    end_of_quoted(text, quote).is_some()
}

/// Returns the byte of the quote at which a text ends that began before `text`.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if quote == '"' && c == '\\' {
            chars.next();
        } else if c == quote {
            if quote == '\'' && chars.next_if(|(_, next)| *next == '\'').is_some() {
                continue;
            }
            return Some(at);
        }
    }
    None
}

/// Reads a text in quotes at the start of `text`; returns it and the byte behind its end.
fn quoted(text: &str, quote: char) -> Result<Option<(String, usize)>, String> {
    let Some(end) = end_of_quoted(&text[1..], quote) else {
        return Ok(None);
    };
    let inner = &text[1..=end];
    if quote == '"' && inner.contains('\\') {
        return Err("there is a `\\` in double quotes; use a plain word".to_owned());
    }
    let inner = match quote {
        '\'' => inner.replace("''", "'"),
        _ => inner.to_owned(),
    };
    Ok(Some((inner, end + 2)))
}

/// Returns a value without quotes up to its comment.
fn plain(raw: &str) -> Result<&str, String> {
    let comment = raw
        .match_indices('#')
        .find(|(at, _)| raw[..*at].ends_with([' ', '\t']));
    let text = raw[..comment.map_or(raw.len(), |(at, _)| at)].trim_end();
    if colon(text).is_some() {
        return Err("there are two `key: value` in one line".to_owned());
    }
    if text.contains('\t') {
        return Err("the value contains a tab".to_owned());
    }
    Ok(text)
}

/// Returns the byte of the colon that ends a plain key.
fn colon(text: &str) -> Option<usize> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    let comment = text.find(" #").unwrap_or(text.len());
    colons
        .take_while(|at| *at < comment)
        .find(|at| matches!(text.as_bytes().get(at + 1), None | Some(b' ' | b'\t')))
}

fn not_a_pair() -> String {
    "this line is not `key: value`".to_owned()
}

fn special(first: char) -> String {
    match first {
        '{' | '[' => "a map or list in one line is not understood; write `key: status`".to_owned(),
        '&' | '*' => "anchors and aliases are not understood".to_owned(),
        '|' | '>' => "a text of several lines is not a status".to_owned(),
        other => format!("`{other}` at the start has a meaning in YAML that is not understood"),
    }
}
