//! The documents of a run in a bundle: the run itself, and one line of JSON for each event and each record of its log.
//!
//! What is JSON in the store travels as the text that it is, so that no number changes on its way. Every document has
//! one form only: what reads well and is written in another way is refused.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::run_context::{AnnotationDocument, TaskDocument};
use crate::log::{LARGEST_RECORD, StoredRecord, Stream};
use crate::mark::digits;
use crate::run::RunKind;
use crate::{Id, StoreError};

/// The most bytes that a line may have: a record of the largest size, with a backslash before each character.
pub(super) const LONGEST_LINE: usize = 2 * LARGEST_RECORD + 1024;

/// What is said of a document that is written in another way.
const NOT_CANONICAL: &str = "it is not in canonical form";

/// A finished run as a bundle holds it. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunDocument {
    /// The name of the run.
    pub id: Id,
    /// The sealed prompt that the agent got.
    pub prompt: Id,
    /// How it came to be.
    pub kind: RunKind,
    /// The run before it, where that is in the same bundle.
    pub parent: Option<Id>,
    /// What was asked for.
    pub request: Option<Box<RawValue>>,
    /// Who held it last.
    pub worker: String,
    /// How often it was claimed.
    pub attempt: i64,
    /// When it was queued.
    pub queued_at: i64,
    /// When it was claimed first.
    pub started_at: i64,
    /// When somebody asked for it to stop.
    pub stop_requested_at: Option<i64>,
    /// When it was over.
    pub finished_at: i64,
    /// How it ended.
    pub outcome: Box<RawValue>,
    /// How many records its log has.
    pub records: i64,
    /// The task that it works on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskDocument>,
    /// What was found out or decided about it afterwards, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<AnnotationDocument>,
}

/// An event of a run: when, what, and its facts as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventLine<'e> {
    pub(super) at: i64,
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'e, str>,
    #[serde(borrow)]
    pub(super) payload: Cow<'e, RawValue>,
}

/// A record of a log: as text where it is one, else in hexadecimal digits.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine<'r> {
    seq: i64,
    at: i64,
    stream: Stream,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'r, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    hex: Option<Cow<'r, str>>,
}

impl RunDocument {
    /// Tells whether it says something that the first documents of runs could not.
    pub(super) fn is_about_task(&self) -> bool {
        self.task.is_some() || !self.annotations.is_empty()
    }

    /// Returns the text form.
    pub(super) fn text(&self) -> Result<String, String> {
        line(self)
    }

    /// Reads the text form and checks what it says.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let document: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if document.text()?.as_bytes() != text {
            return Err(NOT_CANONICAL.to_owned());
        }
        let times = [
            Some(document.queued_at),
            Some(document.started_at),
            document.stop_requested_at,
            Some(document.finished_at),
        ];
        if !times.into_iter().flatten().all(is_time) {
            return Err("it has a time that cannot be".to_owned());
        }
        if !document.id.is_of(document.queued_at) {
            return Err("its id is not that of its time".to_owned());
        }
        if document.attempt < 1 || document.records < 0 || document.worker.contains('\0') {
            return Err("it says what no store can keep".to_owned());
        }
        if (document.kind == RunKind::First) && document.parent.is_some() {
            return Err("a first run has no parent".to_owned());
        }
        let texts = [document.request.as_deref(), Some(&document.outcome)];
        for text in texts.into_iter().flatten() {
            serde_json::from_str::<Json>(text.get()).map_err(|error| error.to_string())?;
        }
        if let Some(task) = &document.task {
            task.check()?;
        }
        for annotation in &document.annotations {
            annotation.check()?;
        }
        Ok(document)
    }
}

impl<'e> EventLine<'e> {
    /// Returns the line, with its end.
    pub(super) fn text(&self) -> Result<String, String> {
        line(self)
    }

    /// Reads a line.
    pub(super) fn read(text: &'e [u8]) -> Result<Self, String> {
        let event: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if event.text()?.as_bytes() != text {
            return Err(NOT_CANONICAL.to_owned());
        }
        if !is_time(event.at) || event.kind.contains('\0') {
            return Err("it says what no store can keep".to_owned());
        }
        // A store reads it as an object, and only as deep as this reads.
        serde_json::from_str::<Map<String, Json>>(event.payload.get())
            .map_err(|error| error.to_string())?;
        Ok(event)
    }
}

/// Returns the line of a record, with its end.
pub(super) fn record_text(record: &StoredRecord) -> Result<String, String> {
    let text = std::str::from_utf8(&record.data).ok();
    let text = text.filter(|text| text.chars().all(is_plain));
    let hex = text.is_none().then(|| digits(&record.data).into());
    line(&RecordLine {
        seq: record.seq,
        at: record.at,
        stream: record.stream,
        text: text.map(Cow::Borrowed),
        hex,
    })
}

/// Reads the line of a record.
pub(super) fn read_record(text: &[u8]) -> Result<StoredRecord, String> {
    let read: RecordLine<'_> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let RecordLine {
        seq, at, stream, ..
    } = read;
    let data = match (read.text, read.hex) {
        (Some(text), None) => Some(text.into_owned().into_bytes()),
        (None, Some(hex)) => bytes(&hex),
        _ => None,
    };
    let record = StoredRecord {
        seq,
        at,
        stream,
        data: data.ok_or("it has no text and no bytes")?,
    };
    if record.data.len() > LARGEST_RECORD {
        return Err("it is larger than a record may be".to_owned());
    }
    if !is_time(at) {
        return Err("it has a time that cannot be".to_owned());
    }
    if record_text(&record)?.as_bytes() != text {
        return Err(NOT_CANONICAL.to_owned());
    }
    Ok(record)
}

/// Makes the text of a document in the store one of a bundle.
pub(super) fn raw(text: &str) -> Result<Box<RawValue>, StoreError> {
    RawValue::from_string(text.to_owned()).map_err(|error| {
        StoreError::refused(format!("a run has a document that is not JSON: {error}"))
    })
}

fn line(document: &impl Serialize) -> Result<String, String> {
    let mut text = serde_json::to_string(document).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Tells whether a character takes two bytes at most, however it is written.
fn is_plain(character: char) -> bool {
    !character.is_ascii_control() || matches!(character, '\n' | '\r' | '\t')
}

/// Tells whether a time is one that a clock can have, however late.
pub(super) fn is_time(at: i64) -> bool {
    at >= 0
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}
