//! The values of an input as the engine wants them, each text in a buffer of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::Value as Engine;
use serde_json::{Map, Value};

use crate::template::numbers::{self, Digits};

/// Where texts of an input came from, by the addresses of their buffers.
pub(crate) type Known = BTreeMap<usize, Place>;

/// A text of an input.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Holds on to the buffer, so that its address belongs to nothing else.
    pub(super) text: Arc<str>,
    /// The path of the field.
    pub(super) path: String,
    /// Whether it is the name of the field, and not what stands in it.
    pub(super) is_name: bool,
}

/// Returns the address that a text is known by.
pub(super) fn address(text: &str) -> usize {
    text.as_ptr().addr()
}

/// Returns the values as the engine wants them, and where their texts came from.
pub(crate) fn context<'a>(
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    prefix: &str,
    digits: impl Fn(&str) -> Digits,
) -> (Vec<(String, Engine)>, Known) {
    let mut walk = Walk::default();
    let fields = fields.into_iter().map(|(name, field)| {
        let path = format!("{prefix}{name}");
        (name.clone(), walk.value(field, &path, digits(name)))
    });
    (fields.collect(), walk.known)
}

#[derive(Default)]
struct Walk {
    known: Known,
}

impl Walk {
    fn text(&mut self, text: &str, path: &str, is_name: bool) -> Engine {
        let text: Arc<str> = Arc::from(text);
        let place = Place {
            text: Arc::clone(&text),
            path: path.to_owned(),
            is_name,
        };
        self.known.insert(address(&text), place);
        Engine::from(text)
    }

    fn value(&mut self, value: &Value, path: &str, digits: Digits) -> Engine {
        match value {
            Value::Null => ().into(),
            Value::Bool(truth) => (*truth).into(),
            Value::String(text) => self.text(text, path, false),
            Value::Number(number) => numbers::number(number, digits),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items =
                    items.map(|(at, item)| self.value(item, &format!("{path}[{at}]"), digits));
                items.collect()
            }
            Value::Object(fields) => self.object(fields, path, digits),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, path: &str, digits: Digits) -> Engine {
        let pairs: Vec<(Engine, Engine)> = fields
            .iter()
            .map(|(name, field)| {
                let path = format!("{path}.{name}");
                let value = self.value(field, &path, digits);
                (self.text(name, &path, true), value)
            })
            .collect();
        Engine::from_pairs(pairs)
    }
}
