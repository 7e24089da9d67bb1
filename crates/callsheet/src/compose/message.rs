//! A prompt as a list of messages.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::Prompt;
use crate::recipe::Shape;
use crate::section::Role;
use crate::source_map::SourceMap;

/// What one side of a conversation says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// Returns the bytes that are handed over for a prompt that was rendered to `text`.
pub(super) fn handed_over<'a>(prompt: &Prompt, text: &'a str, map: &SourceMap) -> Cow<'a, str> {
    match prompt.shape {
        Shape::Text | Shape::System => Cow::Borrowed(text),
        // Roles and texts only: serialising them cannot fail.
        Shape::Messages => {
            Cow::Owned(serde_json::to_string(&messages(prompt, text, map)).unwrap_or_default())
        }
    }
}

/// Returns the messages of a prompt that was rendered to `text`.
pub(super) fn messages(prompt: &Prompt, text: &str, map: &SourceMap) -> Vec<Message> {
    let sections = prompt.sections.iter().zip(&map.places);
    let placed = sections.map(|(section, place)| (section.role, place.framed.clone()));
    match prompt.shape {
        Shape::Messages => {
            let messages = placed.map(|(role, range)| message(role, &text[range]));
            if prompt.single_system {
                joined(messages, &prompt.outer.separator)
            } else {
                messages.collect()
            }
        }
        Shape::Text | Shape::System => {
            let merged = merged(placed, text.len());
            merged
                .into_iter()
                .map(|(role, range)| message(role, &text[range]))
                .collect()
        }
    }
}

fn message(role: Role, content: &str) -> Message {
    Message {
        role,
        content: content.to_owned(),
    }
}

/// Joins all system messages in the place of the first one.
fn joined(messages: impl Iterator<Item = Message>, separator: &str) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        let first = out.iter_mut().find(|other| other.role == Role::System);
        match first {
            Some(first) if message.role == Role::System => {
                first.content.push_str(separator);
                first.content.push_str(&message.content);
            }
            _ => out.push(message),
        }
    }
    out
}

/// Makes one range of consecutive sections of one role; the first and the last reach to the ends of the text.
fn merged(
    placed: impl Iterator<Item = (Role, Range<usize>)>,
    len: usize,
) -> Vec<(Role, Range<usize>)> {
    let mut messages: Vec<(Role, Range<usize>)> = Vec::new();
    for (role, range) in placed {
        match messages.last_mut() {
            Some((last, whole)) if *last == role => whole.end = range.end,
            _ => messages.push((role, range)),
        }
    }
    if let Some((_, first)) = messages.first_mut() {
        first.start = 0;
    }
    if let Some((_, last)) = messages.last_mut() {
        last.end = len;
    }
    messages
}
