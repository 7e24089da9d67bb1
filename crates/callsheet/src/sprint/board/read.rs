//! Reads a board line by line.
//!
//! Outside `development_status` anything may stand; inside, every line is understood or the file is refused.

use std::collections::BTreeMap;

use super::line::{Pair, Row, closes};
use super::{BLOCK, Entry, KEY_LIMIT, Kind, Warning};
use crate::sprint::Word;
use crate::{Error, ErrorKind};

/// What was read of a file.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) entries: Vec<Entry>,
    pub(super) warnings: Vec<Warning>,
}

/// Why a line is refused, and which line.
type Refused = (usize, String);

/// Reads a file.
pub(super) fn read(text: &str, file: &str) -> Result<Read, Error> {
    let mut reader = BoardReader::default();
    let refused =
        |(line, message): Refused| Error::new(ErrorKind::BadInput, message).at(file, line);
    for row in Row::all(text) {
        reader.row(row).map_err(refused)?;
    }
    if let Some((_, line)) = reader.quote {
        return Err(refused((line, "the quoted value never ends".to_owned())));
    }
    if reader.block.is_none() {
        return Err(missing(&reader.keys).at(file, None));
    }
    Ok(reader.read)
}

fn missing(keys: &[String]) -> Error {
    // A file can have any number of keys.
    const SHOWN: usize = 12;
    let mut found: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    if found.len() > SHOWN {
        let more = found.len() - SHOWN;
        found.truncate(SHOWN);
        found.push(format!("{more} more"));
    }
    let found = match found.as_slice() {
        [] => "there are no keys at all".to_owned(),
        found => format!("found {}", found.join(", ")),
    };
    Error::new(
        ErrorKind::BadInput,
        format!("no `{BLOCK}` at the top level; {found}"),
    )
}

/// What may stand below an entry.
#[derive(Clone, Copy, Default)]
enum Fields {
    /// Nothing: it has a status.
    #[default]
    None,
    /// Fields, if there are any.
    Possible,
    /// Fields with that many spaces in front.
    At(usize),
}

#[derive(Default)]
struct BoardReader {
    read: Read,
    /// Where each key of the block stands.
    lines: BTreeMap<String, usize>,
    /// The keys at the top level.
    keys: Vec<String>,
    /// The line of the block, once it was met.
    block: Option<usize>,
    /// Whether lines belong to the block.
    inside: bool,
    /// The spaces in front of an entry.
    indent: Option<usize>,
    /// What may stand below the last entry.
    fields: Fields,
    /// The quote of a value that goes on, and the line in which it began.
    quote: Option<(char, usize)>,
    /// Whether a document began.
    document: bool,
}

impl BoardReader {
    fn row(&mut self, row: Row<'_>) -> Result<(), Refused> {
        if row.text.contains('\r') {
            return refuse(row, "there is a carriage return within the line");
        }
        if let Some((quote, _)) = self.quote {
            if closes(row.text, quote) {
                self.quote = None;
            }
            return Ok(());
        }
        if row.is_idle() {
            return Ok(());
        }
        match row.indent() {
            0 if !row.text.starts_with('\t') => self.top(row),
            _ if self.inside => self.inner(row),
            _ => Ok(()),
        }
    }

    /// Takes a line without blanks in front.
    fn top(&mut self, row: Row<'_>) -> Result<(), Refused> {
        if row.text == "---" || row.text.starts_with("--- ") {
            if self.document || !self.keys.is_empty() {
                return refuse(row, "a second document begins here");
            }
            self.document = true;
            return Ok(());
        }
        if row.is_item() {
            if self.keys.is_empty() || self.inside {
                return refuse(row, list_text());
            }
            return Ok(());
        }
        let pair = Pair::parse(row).map_err(|message| (row.number, message))?;
        self.inside = false;
        self.fields = Fields::None;
        if pair.key == BLOCK {
            return self.begin(row, &pair);
        }
        self.quote = pair.open_quote().map(|quote| (quote, row.number));
        if is_variable(pair.raw()) {
            self.read.warnings.push(Warning {
                line: row.number,
                message: format!(
                    "the value of `{}` is not valid YAML; put it in quotes",
                    pair.key
                ),
            });
        }
        self.keys.push(pair.key);
        Ok(())
    }

    fn begin(&mut self, row: Row<'_>, pair: &Pair<'_>) -> Result<(), Refused> {
        if let Some(first) = self.block {
            let message = format!("`{BLOCK}` is in line {first} already");
            return refuse(row, message);
        }
        let value = pair.raw();
        // Empty, in the one notation that can say so.
        let empty = value == "{}" || value.starts_with("{} ");
        if !value.is_empty() && !empty {
            let message = format!("`{BLOCK}` has to be a map: one `key: status` per line below it");
            return refuse(row, message);
        }
        self.block = Some(row.number);
        self.keys.push(pair.key.clone());
        self.inside = !empty;
        Ok(())
    }

    /// Takes a line of the block.
    fn inner(&mut self, row: Row<'_>) -> Result<(), Refused> {
        let indent = row.indent();
        if row.text[indent..].starts_with('\t') {
            return refuse(row, "there is a tab in front; use spaces");
        }
        let expected = *self.indent.get_or_insert(indent);
        if indent == expected {
            return self.entry(row);
        }
        let last = self.read.entries.last();
        match self.fields {
            Fields::Possible if indent > expected => self.first_field(row),
            Fields::At(fields) if indent > expected => self.field(row, fields),
            _ => {
                let under = match last {
                    Some(last) if indent > expected => {
                        format!(", below `{}`, which has a status and no fields", last.key)
                    }
                    _ => String::new(),
                };
                let message = format!(
                    "this line is indented by {indent} spaces{under}; the entries above are indented by {expected}"
                );
                refuse(row, message)
            }
        }
    }

    fn entry(&mut self, row: Row<'_>) -> Result<(), Refused> {
        if row.is_item() {
            return refuse(row, list_text());
        }
        let pair = Pair::parse(row).map_err(|message| (row.number, message))?;
        if pair.key.len() > KEY_LIMIT {
            return refuse(row, format!("the key is longer than {KEY_LIMIT} bytes"));
        }
        if let Some(first) = self.lines.insert(pair.key.clone(), row.number) {
            return refuse(row, format!("`{}` is in line {first} already", pair.key));
        }
        let value = pair.scalar().map_err(|message| (row.number, message))?;
        self.fields = if value.bytes.is_empty() {
            Fields::Possible
        } else {
            Fields::None
        };
        self.read.entries.push(Entry {
            kind: Kind::of(&pair.key),
            key: pair.key,
            line: row.number,
            word: Word::parse(&value.text),
            value: Some((row.number, value.bytes)),
        });
        Ok(())
    }

    /// Takes the first line below an entry without a status, which makes it a map.
    fn first_field(&mut self, row: Row<'_>) -> Result<(), Refused> {
        if row.is_item() {
            return refuse(row, "an entry has to be a status or a map with `status`");
        }
        // The place of the status is not the line of the key.
        if let Some(last) = self.read.entries.last_mut() {
            last.value = None;
        }
        self.fields = Fields::At(row.indent());
        self.field(row, row.indent())
    }

    /// Takes a line below an entry that is a map.
    fn field(&mut self, row: Row<'_>, expected: usize) -> Result<(), Refused> {
        let indent = row.indent();
        // What is deeper belongs to a field, and so does a list at its own depth.
        if indent > expected || row.is_item() && indent == expected {
            return Ok(());
        }
        if indent < expected {
            let message = format!(
                "this line is indented by {indent} spaces; the fields above are indented by {expected}"
            );
            return refuse(row, message);
        }
        let pair = Pair::parse(row).map_err(|message| (row.number, message))?;
        if pair.key != "status" {
            self.quote = pair.open_quote().map(|quote| (quote, row.number));
            return Ok(());
        }
        let Some(last) = self.read.entries.last_mut() else {
            return Ok(());
        };
        if let Some((first, _)) = last.value {
            return refuse(row, format!("`status` is in line {first} already"));
        }
        let value = pair.scalar().map_err(|message| (row.number, message))?;
        last.word = Word::parse(&value.text);
        last.value = Some((row.number, value.bytes));
        Ok(())
    }
}

fn refuse(row: Row<'_>, message: impl Into<String>) -> Result<(), Refused> {
    Err((row.number, message.into()))
}

fn list_text() -> String {
    format!("this is a list; `{BLOCK}` has to be a map of `key: status`")
}

/// Tells whether a value begins with a variable of a template that nobody put in quotes.
fn is_variable(value: &str) -> bool {
    let Some(rest) = value.strip_prefix('{') else {
        return false;
    };
    rest.split_once('}').is_some_and(|(name, behind)| {
        !name.contains([',', ':', '{']) && !behind.is_empty() && !behind.starts_with(' ')
    })
}
