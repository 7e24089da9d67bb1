//! A prompt as people read it, and the way back to its bytes.
//!
//! Messages are handed over as compact JSON, in which the end of a line is two characters. Whoever looks for a text, counts
//! lines or tokens, or compares sections wants the contents of the messages without these escapes. Any other prompt reads
//! as it is. Nothing here changes a prompt.

mod scan;

use std::borrow::Cow;
use std::ops::Range;

use crate::section::Role;
use crate::tokens::{self, Encoding};

/// A prompt without the escapes of JSON, where it is a list of messages.
///
/// ```
/// use callsheet::reading::Reading;
///
/// let prompt = r#"[{"role":"user","content":"say \"hi\"\nand go"}]"#;
/// let reading = Reading::of(prompt);
/// let at = reading.text().find("\"hi\"\nand").unwrap();
/// let bytes = reading.to_prompt(at..at + 8);
/// assert_eq!(&prompt[bytes], r#"\"hi\"\nand"#);
/// ```
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    prompt: &'a str,
    text: Cow<'a, str>,
    /// Where equal bytes begin, and where escapes do; nothing for a prompt that reads as it is.
    runs: Vec<Run>,
    /// The contents of the messages, where it is a list of them.
    contents: Option<Vec<Content>>,
}

/// Some bytes of a prompt that read as they are, or one escape.
#[derive(Clone, Copy, Debug)]
struct Run {
    prompt: usize,
    read: usize,
}

/// Where the content of a message stands, in both ways of counting.
#[derive(Clone, Debug)]
struct Content {
    role: Role,
    prompt: Range<usize>,
    read: Range<usize>,
}

/// Where a byte of a prompt is, as people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The message, counted from 1, where the prompt is a list of them.
    pub message: Option<usize>,
    /// The line of the message or of the prompt, counted from 1.
    pub line: usize,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.message {
            Some(message) => write!(f, "line {} of message {message}", self.line),
            None => write!(f, "line {} of the prompt", self.line),
        }
    }
}

impl<'a> Reading<'a> {
    /// Reads a prompt; one that is no compact JSON of messages reads as it is.
    pub fn of(prompt: &'a str) -> Self {
        let scanned = scan::messages(prompt);
        let (text, runs, contents) = match scanned {
            Some((text, runs, contents)) => (Cow::Owned(text), runs, Some(contents)),
            None => (Cow::Borrowed(prompt), Vec::new(), None),
        };
        Self {
            prompt,
            text,
            runs,
            contents,
        }
    }

    /// Returns the text to read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the messages, where the prompt is a list of them: who each is from, and its content.
    pub fn messages(&self) -> Option<impl Iterator<Item = (Role, &str)>> {
        let contents = self.contents.as_ref()?.iter();
        Some(contents.map(|content| (content.role, &self.text[content.read.clone()])))
    }

    /// Returns what is to be read by itself, with where it stands in the text: each content of a message, or the text.
    pub fn texts(&self) -> Vec<(usize, &str)> {
        let Some(contents) = &self.contents else {
            return vec![(0, &self.text)];
        };
        let texts = contents.iter();
        texts
            .map(|content| (content.read.start, &self.text[content.read.clone()]))
            .collect()
    }

    /// Returns what a range of the prompt reads as.
    pub fn slice(&self, range: Range<usize>) -> &str {
        let (start, end) = (self.to_read(range.start), self.to_read(range.end));
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the range of the prompt that a range of the text stands for.
    pub fn to_prompt(&self, range: Range<usize>) -> Range<usize> {
        let at = |read: usize| match self.last_run(|run| run.read <= read) {
            Some((run, _)) => run.prompt + (read - run.read),
            None => read,
        };
        at(range.start)..at(range.end)
    }

    /// Returns where the byte of the prompt stands in the text; every byte of an escape stands for its character.
    pub fn to_read(&self, prompt: usize) -> usize {
        let Some((run, next)) = self.last_run(|run| run.prompt <= prompt) else {
            return prompt;
        };
        let escape = next.is_some_and(|next| next.prompt - run.prompt != next.read - run.read);
        run.read + if escape { 0 } else { prompt - run.prompt }
    }

    /// Returns the bytes of a range of the prompt that read as they are, and each escape, in order.
    pub(crate) fn runs(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let first = self.runs.partition_point(|run| run.prompt <= range.start);
        let ends = self.runs[first..].iter().map(|run| run.prompt);
        let ends = ends.take_while(move |end| *end < range.end);
        let mut start = range.start;
        let runs = ends.chain([range.end]).map(move |end| {
            let run = start..end;
            start = end;
            run
        });
        runs.filter(|run| !run.is_empty())
    }

    fn last_run(&self, before: impl Fn(&Run) -> bool) -> Option<(Run, Option<Run>)> {
        let after = self.runs.partition_point(before);
        let run = self.runs.get(after.checked_sub(1)?)?;
        Some((*run, self.runs.get(after).copied()))
    }

    /// Returns where a byte of the prompt is, as people count.
    pub fn position(&self, prompt: usize) -> Position {
        let contents = self.contents.as_deref().unwrap_or_default();
        let nth = contents.partition_point(|content| content.prompt.end < prompt);
        let nth = nth.min(contents.len().saturating_sub(1));
        let start = contents.get(nth).map_or(0, |content| content.read.start);
        let read = self.to_read(prompt).max(start);
        let before = &self.text.as_bytes()[start..read.min(self.text.len())];
        Position {
            message: (!contents.is_empty()).then_some(nth + 1),
            line: 1 + memchr::memchr_iter(b'\n', before).count(),
        }
    }

    /// Returns the tokens of a range of the prompt: those of the contents in it, each counted by itself, or of the text.
    pub fn tokens(&self, encoding: Encoding, range: Range<usize>) -> usize {
        let Some(contents) = &self.contents else {
            let text = self.prompt.get(range).unwrap_or_default();
            return tokens::count(encoding, text);
        };
        let parts = contents.iter().map(|content| {
            let from = content.prompt.start.max(range.start);
            let to = content.prompt.end.min(range.end);
            if from < to { self.slice(from..to) } else { "" }
        });
        parts.map(|part| tokens::count(encoding, part)).sum()
    }

    /// Returns the tokens of the whole prompt.
    pub fn all_tokens(&self, encoding: Encoding) -> usize {
        self.tokens(encoding, 0..self.prompt.len())
    }
}

#[cfg(test)]
mod tests;
