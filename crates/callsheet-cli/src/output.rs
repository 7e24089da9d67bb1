//! stdout carries data, stderr carries talk; files are written whole or not at all.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::failure::Failure;
pub(crate) use file::{
    STDOUT, clear_file, is_stdout, make_below, refuse_shared, unwritten, write_below, write_file,
    write_file_with,
};

pub(crate) use terminal::{Look, one_line};

mod file;
pub(crate) mod terminal;

/// How much talk there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    Quiet,
    Normal,
    Verbose,
}

/// Where data and talk go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) talk: Talk,
    pub(crate) json: bool,
}

impl Output {
    /// Writes exact bytes to stdout.
    pub(crate) fn data(self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        let written = terminal::print_data(bytes.as_ref());
        written.map_err(|cause| Failure::refused("cannot write to stdout", &cause))
    }

    /// Writes to stdout what comes piece by piece; returns how many bytes that was.
    pub(crate) fn stream(
        self,
        write: impl FnOnce(&mut dyn io::Write) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut out = file::Counted(io::stdout().lock(), 0);
        write(&mut out)?;
        let flushed = out.flush();
        flushed.map_err(|cause| Failure::refused("cannot write to stdout", &cause))?;
        Ok(out.1)
    }

    /// Writes text for people to stdout, with styles where the terminal shows them.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let written = terminal::print_text(text);
        written.map_err(|cause| Failure::refused("cannot write to stdout", &cause))
    }

    /// Writes one JSON document to stdout.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), Failure> {
        self.data(pretty(document))
    }

    /// Says something on stderr.
    pub(crate) fn say(self, line: &str) {
        if self.talk > Talk::Quiet {
            terminal::print_talk(line);
        }
    }

    /// Says on stderr what a person should look at.
    pub(crate) fn warn(self, line: &str) {
        let warning = Look::Yellow.on("warning");
        self.say(&format!("{warning}: {}", one_line(line)));
    }

    /// Says on stderr what is good to know.
    pub(crate) fn note(self, line: &str) {
        let note = Look::Blue.on("note");
        self.say(&format!("{note}: {}", one_line(line)));
    }
}

/// Returns a document as indented JSON with a newline at the end.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    // Our documents have text keys only; serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    terminal::fit_json(text)
}

/// Returns a document as JSON on one line with a newline at the end.
pub(crate) fn compact(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string(document).unwrap_or_default();
    text.push('\n');
    terminal::fit_json(text)
}

/// Returns a number of tokens for people: `950`, `12.3k`, `1.20M`.
pub(crate) fn human_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        _ => format!("{}.{:02}M", tokens / 1_000_000, tokens % 1_000_000 / 10_000),
    }
}
