//! Logs and events without the path of their project, and without their secrets where that is asked for.
//!
//! A secret may lie across two records, so a record is cleaned up to its last whole line; what follows goes to the next
//! record of the same stream, and at the end of the log to a further one. A private key that has begun waits for its
//! end. Where secrets stay, only what may be the beginning of the path waits. Bytes that are not text stay as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callsheet::redact::Redactor;
use callsheet::seal::RootPaths;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::document::raw;
use crate::StoreError;
use crate::log::{LARGEST_RECORD, StoredRecord, Stream};

/// The most bytes that wait for the end of their line.
const MOST_HELD: usize = LARGEST_RECORD / 4;

const KEY_BEGINS: &[u8] = b"-----BEGIN ";

/// The most bytes that a private key may have.
const LONGEST_KEY: usize = 64 << 10;

const KEY_ENDS: &[u8] = b"-----END ";

/// Takes secrets and the path of the project out of the records of one log, in their order.
#[derive(Clone, Debug)]
pub(super) struct Cleaner {
    redactor: Option<Redactor>,
    paths: RootPaths,
    held: BTreeMap<Stream, Vec<u8>>,
    last: (i64, i64),
}

impl Cleaner {
    pub(super) fn new(redactor: Option<Redactor>, paths: RootPaths) -> Self {
        Self {
            redactor,
            paths,
            held: BTreeMap::new(),
            last: (0, 0),
        }
    }

    /// Returns a document without its secrets.
    pub(super) fn clean_json(&self, text: &str) -> Result<Box<RawValue>, StoreError> {
        let text = self.paths.hide(text);
        let Some(redactor) = &self.redactor else {
            return raw(&text);
        };
        let wrong = |error| StoreError::refused(format!("a document is not JSON: {error}"));
        let mut value: Json = serde_json::from_str(&text).map_err(wrong)?;
        if redactor.value(&mut value) {
            return raw(&value.to_string());
        }
        raw(&text)
    }

    /// Returns a text without its secrets.
    pub(super) fn clean_text(&self, text: &str) -> String {
        let text = self.paths.hide(text);
        let redactor = self.redactor.as_ref();
        redactor.map_or_else(|| text.to_string(), |it| it.text(&text).into_owned())
    }

    /// Returns the next record without its secrets.
    pub(super) fn clean(&mut self, record: StoredRecord) -> StoredRecord {
        if record.stream == Stream::Meta {
            // Callsheet writes each of these whole.
            let data = self.text(&record.data);
            self.last = (record.seq, record.at);
            return StoredRecord { data, ..record };
        }
        let mut data = self.held.remove(&record.stream).unwrap_or_default();
        data.extend(record.data);
        let whole = match self.redactor {
            Some(_) => whole(&data),
            None => data.len() - self.paths.begun(&data),
        };
        let rest = data.split_off(whole);
        self.held.insert(record.stream, rest);
        self.last = (record.seq, record.at);
        StoredRecord {
            data: self.text(&data),
            ..record
        }
    }

    /// Returns what still waits for the end of its line, as further records.
    pub(super) fn finish(self) -> Vec<StoredRecord> {
        let (mut seq, at) = self.last;
        let mut records = Vec::new();
        for (stream, data) in &self.held {
            if !data.is_empty() {
                seq += 1;
                records.push(StoredRecord {
                    seq,
                    at,
                    stream: *stream,
                    data: self.text(data),
                });
            }
        }
        records
    }

    fn text(&self, data: &[u8]) -> Vec<u8> {
        let data = self.paths.hide_bytes(data);
        let Some(redactor) = &self.redactor else {
            return data.into_owned();
        };
        let mut clean = Vec::with_capacity(data.len());
        for chunk in data.utf8_chunks() {
            for line in redactor.text(chunk.valid()).split_inclusive('\n') {
                clean.extend_from_slice(line_of(redactor, line).as_bytes());
            }
            clean.extend_from_slice(chunk.invalid());
        }
        clean
    }
}

/// Cleans a line that is JSON once more, because a secret may stand behind an escaped character.
fn line_of<'l>(redactor: &Redactor, line: &'l str) -> Cow<'l, str> {
    if !line.starts_with(['{', '[']) || !line.contains('\\') {
        return Cow::Borrowed(line);
    }
    let Ok(mut value) = serde_json::from_str::<Json>(line) else {
        return Cow::Borrowed(line);
    };
    if !redactor.value(&mut value) {
        return Cow::Borrowed(line);
    }
    let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
    Cow::Owned(value.to_string() + end)
}

/// Returns how many bytes can be cleaned without those that follow.
fn whole(data: &[u8]) -> usize {
    let lines = data
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let tail = data.len().saturating_sub(LONGEST_KEY);
    let begins = last(&data[tail..], KEY_BEGINS);
    let begins = begins.filter(|at| last(&data[tail..], KEY_ENDS) < Some(*at));
    let begins = begins.map(|at| tail + at);
    let until = begins.map_or(lines, |at| at.min(lines));
    if data.len() - until > MOST_HELD {
        data.len()
    } else {
        until
    }
}

fn last(data: &[u8], needle: &[u8]) -> Option<usize> {
    data.windows(needle.len())
        .rposition(|window| window == needle)
}
