//! The values of an input as the engine wants them, each text in a buffer of its own.

use std::sync::Arc;

use minijinja::Value as Engine;
use serde_json::{Map, Value};

use crate::template::numbers::{self, Digits};

/// Where texts of an input came from, by their buffers.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// In the order of their addresses; the values hold on to the buffers, so that an address belongs to nothing else.
    texts: Vec<InputText>,
    fields: Vec<Field>,
}

/// A text of an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputText {
    address: usize,
    len: usize,
    field: usize,
    /// Whether it is the name of the field, and not what stands in it.
    pub(super) is_name: bool,
}

/// A field, by its last step.
#[derive(Debug)]
struct Field {
    within: Option<usize>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Name(Arc<str>),
    At(usize),
}

/// Returns the address that a text is known by.
pub(super) fn address(text: &str) -> usize {
    text.as_ptr().addr()
}

impl Known {
    /// Finds a text by its buffer; returns its number, too.
    pub(super) fn find(&self, text: &str) -> Option<(usize, InputText)> {
        let at = address(text);
        let nth = self.texts.binary_search_by_key(&at, |place| place.address);
        let (nth, place) = nth
            .ok()
            .and_then(|nth| Some((nth, *self.texts.get(nth)?)))?;
        (place.len == text.len()).then_some((nth, place))
    }

    /// Returns the number of texts.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the path of the field that a text stands in.
    pub(super) fn path(&self, place: InputText) -> String {
        let mut steps = Vec::new();
        let mut next = self.fields.get(place.field);
        while let Some(field) = next {
            steps.push(&field.step);
            next = field.within.and_then(|within| self.fields.get(within));
        }
        let mut path = String::new();
        for (nth, step) in steps.into_iter().rev().enumerate() {
            match step {
                Step::Name(name) => {
                    path.push_str(if nth > 0 { "." } else { "" });
                    path.push_str(name);
                }
                Step::At(at) => path.push_str(&format!("[{at}]")),
            }
        }
        path
    }
}

/// Returns the values as the engine wants them, and where their texts came from.
pub(crate) fn context<'a>(
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    prefix: &str,
    digits: impl Fn(&str) -> Digits,
) -> (Vec<(String, Engine)>, Known) {
    let mut walk = Walk::default();
    let fields = fields.into_iter().map(|(name, value)| {
        let field = walk.field(None, Step::Name(format!("{prefix}{name}").into()));
        (name.clone(), walk.value(value, field, digits(name)))
    });
    let fields = fields.collect();
    walk.0.texts.sort_unstable_by_key(|place| place.address);
    (fields, walk.0)
}

#[derive(Default)]
struct Walk(Known);

impl Walk {
    fn field(&mut self, within: Option<usize>, step: Step) -> usize {
        self.0.fields.push(Field { within, step });
        self.0.fields.len() - 1
    }

    fn text(&mut self, text: Arc<str>, field: usize, is_name: bool) -> Engine {
        self.0.texts.push(InputText {
            address: address(&text),
            len: text.len(),
            field,
            is_name,
        });
        Engine::from(text)
    }

    fn value(&mut self, value: &Value, field: usize, digits: Digits) -> Engine {
        match value {
            Value::Null => ().into(),
            Value::Bool(truth) => (*truth).into(),
            Value::String(text) => self.text(Arc::from(text.as_str()), field, false),
            Value::Number(number) => numbers::number(number, digits),
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(at, item)| {
                    let at = self.field(Some(field), Step::At(at));
                    self.value(item, at, digits)
                });
                items.collect()
            }
            Value::Object(fields) => self.object(fields, field, digits),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, within: usize, digits: Digits) -> Engine {
        let pairs = fields.iter().map(|(name, value)| {
            let name: Arc<str> = Arc::from(name.as_str());
            let field = self.field(Some(within), Step::Name(Arc::clone(&name)));
            let value = self.value(value, field, digits);
            (self.text(name, field, true), value)
        });
        let pairs: Vec<(Engine, Engine)> = pairs.collect();
        Engine::from_pairs(pairs)
    }
}
