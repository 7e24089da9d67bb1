//! Values that a function adds, each text with where it came from.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::Prepared;
use super::fields::Fields;
use super::lines::LineValues;
use crate::Error;
use crate::mounts::Mounts;
use crate::trace::Traced;

/// A value that a function adds.
pub(super) enum Made {
    Text(Traced),
    /// A number, with where its digits came from.
    Number(u64, Traced),
    Flag(bool),
    List(Vec<Self>),
    Fields(Vec<(&'static str, Self)>),
}

impl From<Traced> for Made {
    fn from(text: Traced) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Traced>> for Made {
    fn from(texts: Vec<Traced>) -> Self {
        Self::List(texts.into_iter().map(Self::Text).collect())
    }
}

impl Made {
    /// Returns the value, and notes where what stands in it came from.
    fn noted(self, path: String, traces: &mut BTreeMap<String, Traced>) -> Value {
        match self {
            Self::Text(text) => {
                let value = Value::from(text.text());
                traces.insert(path, text);
                value
            }
            Self::Number(number, digits) => {
                traces.insert(path, digits);
                Value::Number(Number::from(number))
            }
            Self::Flag(flag) => Value::Bool(flag),
            Self::List(items) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(nth, item)| item.noted(format!("{path}[{nth}]"), traces))
                    .collect()
            }
            Self::Fields(fields) => {
                let fields = fields.into_iter().map(|(name, field)| {
                    let value = field.noted(format!("{path}.{name}"), traces);
                    (name.to_owned(), value)
                });
                Value::Object(fields.collect::<Map<String, Value>>())
            }
        }
    }
}

impl Prepared {
    /// Adds the field that `make` makes of those that are there, and what it does not have.
    pub(super) fn make(
        &mut self,
        name: &'static str,
        make: impl FnOnce(Fields<'_>, &mut LineValues<'_>) -> Result<Option<Made>, Error>,
    ) -> Result<(), Error> {
        let none = Mounts::new();
        let mut lines = LineValues::new(self.mounts.as_ref().unwrap_or(&none));
        let made = make(self.read(), &mut lines)?;
        let lacking = lines.into_lacking();
        let lacking = lacking.map(|omission| (name.to_owned(), omission));
        self.lacking.extend(lacking);
        if let Some(made) = made {
            let value = made.noted(name.to_owned(), &mut self.traces);
            self.fields.insert(name.to_owned(), value);
        }
        Ok(())
    }
}
