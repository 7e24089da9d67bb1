//! The budget of a rendering, and what values cost.

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Error, ErrorKind, Output, State, Value};

use super::VALUE_LIMIT;
use crate::document::DEPTH_LIMIT;

/// What an item of a list or a map takes.
pub(super) const ITEM: u64 = 24;

/// What an item takes at most as text, without its own bytes.
const ITEM_TEXT: u64 = 64;

/// How many bytes an escape makes of one.
const ESCAPED: u64 = 6;

/// The bytes that are left for a rendering.
struct Budget(u64);

/// Takes `cost` off the budget of the rendering.
pub(crate) fn spend(state: &mut State<'_, '_>, cost: u64) -> Result<(), Error> {
    let left = state.get_or_insert_extension_with(|| Budget(VALUE_LIMIT));
    left.0 = left.0.checked_sub(cost).ok_or_else(too_much)?;
    Ok(())
}

fn too_much() -> Error {
    refused(format!(
        "makes values of more than {VALUE_LIMIT} bytes in all"
    ))
}

/// Returns the error of a limit: out of fuel, in our words.
pub(crate) fn refused(detail: String) -> Error {
    Error::new(ErrorKind::OutOfFuel, detail)
}

/// What a value is made of, with everything that it holds.
#[derive(Default)]
pub(super) struct Size {
    /// The number of values.
    pub(super) items: u64,
    /// The bytes of its texts.
    pub(super) bytes: u64,
    /// How deep lists and maps are nested.
    pub(super) depth: usize,
    /// Whether a namespace is in it.
    namespace: bool,
}

impl Size {
    /// Returns the size of a value, or an error if no rendering can afford it.
    pub(super) fn of(value: &Value) -> Result<Self, Error> {
        let mut size = Self::default();
        size.add(value, 0)?;
        Ok(size)
    }

    fn add(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.items += 1;
        self.depth = self.depth.max(depth);
        match value.kind() {
            ValueKind::String | ValueKind::Bytes => {
                let text = value.as_bytes().map_or(0, <[u8]>::len);
                self.bytes += text as u64;
            }
            ValueKind::Seq | ValueKind::Iterable => {
                nested(depth)?;
                for item in value.try_iter()? {
                    self.add(&item, depth + 1)?;
                }
            }
            ValueKind::Map => {
                nested(depth)?;
                self.add_map(value, depth)?;
            }
            _ => {}
        }
        if self.cost() > VALUE_LIMIT {
            return Err(too_much());
        }
        Ok(())
    }

    fn add_map(&mut self, map: &Value, depth: usize) -> Result<(), Error> {
        let made_as = map.as_object().map_or("", |object| object.type_name());
        // A loop keeps the item it is at, which nobody can see.
        if made_as.ends_with("::Loop") {
            return Err(refused("`loop` cannot be kept in a value".to_owned()));
        }
        self.namespace |= made_as.ends_with("::Namespace");
        for key in map.try_iter()? {
            let field = map.get_item(&key)?;
            self.add(&key, depth + 1)?;
            self.add(&field, depth + 1)?;
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.items * ITEM + self.bytes
    }

    /// Returns what it takes as text, escaped in whatever way.
    pub(super) fn as_text(&self) -> u64 {
        self.items * ITEM_TEXT + self.bytes * ESCAPED
    }
}

fn nested(depth: usize) -> Result<(), Error> {
    if depth >= DEPTH_LIMIT {
        return Err(refused(format!(
            "makes a value that is nested more than {DEPTH_LIMIT} levels deep"
        )));
    }
    Ok(())
}

fn holds_values(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map
    )
}

/// Pays for a value that was made, and returns it with its items counted out.
pub(crate) fn keep(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    if let Some(text) = value.as_bytes() {
        spend(state, text.len() as u64)?;
        return Ok(value);
    }
    if !holds_values(&value) {
        return Ok(value);
    }
    spend(state, Size::of(&value)?.items * ITEM)?;
    settled(value)
}

/// Returns a list in the place of what would find its items anew each time, layer below layer.
pub(super) fn settled(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Iterable => Ok(value.try_iter()?.collect::<Vec<Value>>().into()),
        _ => Ok(value),
    }
}

/// Pays for a value that a namespace gets, which no other namespace may hold.
pub(super) fn hold(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    if holds_values(&value) && Size::of(&value)?.namespace {
        let detail = "a namespace cannot hold a namespace".to_owned();
        return Err(refused(detail));
    }
    keep(state, value)
}

/// How many bytes are compared for the price of one that is made.
pub(super) const COMPARED: u64 = 16;

/// Pays for looking through a value.
pub(crate) fn read(state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let cost = match value.as_bytes() {
        Some(text) => text.len() as u64 / COMPARED,
        None if holds_values(value) => {
            let size = Size::of(value)?;
            size.items + size.bytes / COMPARED
        }
        None => 0,
    };
    spend(state, cost)
}

/// Returns what the text of a value takes.
pub(crate) fn text_cost(value: &Value) -> Result<u64, Error> {
    match value.as_bytes() {
        Some(text) => Ok(text.len() as u64),
        None if holds_values(value) => Ok(Size::of(value)?.as_text()),
        None => Ok(ITEM_TEXT),
    }
}

/// Pays for what is known of a text that was made.
pub(crate) fn keep_parts(state: &mut State<'_, '_>, parts: u64) -> Result<(), Error> {
    /// What is free, because nearly every text has it.
    const FREE: u64 = 2;
    spend(state, parts.saturating_sub(FREE) * ITEM_TEXT)
}

/// Prints a value and pays for it, wherever the text goes.
pub(crate) fn print(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let escaped = match state.auto_escape() {
        AutoEscape::None => 1,
        _ => ESCAPED,
    };
    spend(state, text_cost(value)?.saturating_mul(escaped))?;
    minijinja::escape_formatter(out, state, value)
}
