//! The lines of an agent's own text: without quoted lines, fenced code and comments, and without Markdown around the words.
//!
//! A fence in which every line is a marker is the agent's own word and stays. A fence that is never closed hides what follows
//! it: what may be a quoted file is never read for markers.

use super::word;

/// One line that the agent wrote itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnLine {
    /// How many columns of white space it begins with.
    pub(super) indent: usize,
    /// What kind of line it is.
    pub(super) shape: Shape,
    /// Its text without Markdown.
    pub(super) text: String,
}

/// What kind of line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A heading, or a line that is bold as a whole.
    Heading,
    /// An item of a list.
    Item,
    /// A row of a table.
    Row,
    /// Anything else.
    Plain,
}

/// Returns the lines of a text that the agent wrote itself, blank ones left out.
pub(super) fn lines(text: &str) -> Vec<OwnLine> {
    let kept = without_quotes(text);
    let kept = without_comments(&kept);
    kept.lines()
        .map(line)
        .filter(|line| !line.text.is_empty())
        .collect()
}

/// Leaves quoted lines and fenced code out.
fn without_quotes(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut inside: Vec<&str> = Vec::new();
    for line in text.lines() {
        match fence {
            None if line.trim_start().starts_with('>') => {}
            None => match opens(line) {
                Some(open) => fence = Some(open),
                None => kept.push(line),
            },
            Some(open) => match closes(line, open) {
                None => inside.push(line),
                Some(rest) => {
                    let inside = std::mem::take(&mut inside);
                    kept.extend(
                        Some(inside)
                            .filter(|lines| are_markers(lines))
                            .unwrap_or_default(),
                    );
                    kept.push(rest);
                    fence = None;
                }
            },
        }
    }
    if are_markers(&inside) {
        kept.extend(inside);
    }
    kept.join("\n")
}

/// Tells whether lines are markers and nothing else.
fn are_markers(lines: &[&str]) -> bool {
    let mut some = false;
    for raw in lines.iter().filter(|line| !line.trim().is_empty()) {
        some = true;
        if !word::is_marker(&line(raw).text) {
            return false;
        }
    }
    some
}

/// Returns the mark and the length of the fence that a line opens.
fn opens(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let bullet = line.strip_prefix(['-', '*', '+']);
    let item = bullet.filter(|rest| rest.starts_with(' '));
    let line = item.or(after_number(line)).unwrap_or(line).trim_start();
    let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = &line[length..];
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

/// Returns what follows the end of a fence on its line.
///
/// Texts of an agent are joined without a line break, so a sentence can follow; one word is the beginning of another fence.
fn closes(line: &str, (mark, length): (char, usize)) -> Option<&str> {
    let line = line.trim_start();
    let marks = line.chars().take_while(|c| *c == mark).count();
    let rest = line[marks..].trim();
    let is_end = rest.is_empty() || rest.contains(' ') || rest.starts_with(['[', '#', '*']);
    (marks >= length && is_end).then_some(rest)
}

/// Leaves HTML comments out; one that is never closed is text.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        let Some(end) = rest[start..].find("-->") else {
            break;
        };
        kept.push_str(&rest[..start]);
        rest = &rest[start + end + 3..];
    }
    kept + rest
}

/// Takes the Markdown off a line.
pub(super) fn line(raw: &str) -> OwnLine {
    let indent = raw
        .chars()
        .take_while(|c| c.is_whitespace())
        .map(|c| if c == '\t' { 4 } else { 1 })
        .sum();
    let trimmed = raw.trim();
    let shape = shape(trimmed);
    let plain = plain(trimmed);
    let text = match shape {
        Shape::Row => row(&plain),
        _ => begin(&plain).trim_end_matches(is_decoration).to_owned(),
    };
    OwnLine {
        indent,
        shape,
        text,
    }
}

fn shape(line: &str) -> Shape {
    let is_bold = |mark| line.len() > 4 && line.starts_with(mark) && line.ends_with(mark);
    let bullet = line.strip_prefix(['-', '*', '+', '•']);
    if line.starts_with('#') || is_bold("**") || is_bold("__") {
        Shape::Heading
    } else if line.starts_with('|') {
        Shape::Row
    } else if bullet.is_some_and(|rest| rest.starts_with(' ')) || after_number(line).is_some() {
        Shape::Item
    } else {
        Shape::Plain
    }
}

/// Returns what follows the number of an item in an ordered list.
fn after_number(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')'])?;
    (digits > 0 && rest.starts_with(' ')).then_some(rest)
}

/// Returns the cells of a row: their texts one after the other, the first two as a name and its value.
fn row(plain: &str) -> String {
    let cells = plain.split('|').map(|cell| begin(cell).trim());
    let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    match cells[..] {
        [name, value] if !name.ends_with(':') => format!("{name}: {value}"),
        _ => cells.join(" "),
    }
}

/// Takes marks of emphasis and code away, and makes one dash and one space of all that there are.
fn plain(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let mut plain = String::with_capacity(line.len());
    for (at, c) in chars.iter().copied().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1).copied();
        let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            '*' | '`' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{fe0f}' => {}
            '_' if before != Some('\\') && !(joins(before) && joins(after)) => {}
            '\\' if after.is_some_and(|c| c.is_ascii_punctuation()) => {}
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            c if c.is_whitespace() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.push(c),
        }
    }
    plain
}

/// Returns a line without what stands before its words: bullets, numbers, boxes, headings, symbols.
fn begin(line: &str) -> &str {
    let mut rest = line;
    loop {
        let next = rest.trim_start_matches(|c| is_decoration(c) || c == '+');
        let next = ["[ ]", "[x]", "[X]"]
            .iter()
            .find_map(|mark| next.strip_prefix(mark))
            .unwrap_or(next);
        let next = after_number(next).unwrap_or(next);
        if next.len() == rest.len() {
            return next;
        }
        rest = next;
    }
}

/// Tells whether a character says nothing at either end of a line.
fn is_decoration(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '#' | '-' | '=' | '·')
        || !c.is_ascii() && !c.is_alphanumeric() && !is_closing(c)
}

/// Tells whether a character ends a sentence or a quotation, whose text must not look bare without it.
fn is_closing(c: char) -> bool {
    matches!(
        c,
        '“' | '”' | '„' | '‘' | '’' | '«' | '»' | '…' | '？' | '！'
    )
}
