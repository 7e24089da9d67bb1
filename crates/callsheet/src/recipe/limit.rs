//! Limits and notices: at which size a recipe speaks up, and in which words.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Event;
use crate::section::Role;
use crate::source::{fill, flag, lookup};

/// An event in the words of the recipe.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notice {
    /// The name of the event.
    pub(crate) event: String,
    /// The sentence for people, with `{{field}}` in it.
    pub(crate) message: String,
    /// Facts of the payload: its key, and the input field it shows.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, String>,
    /// The layers that it is about; none means all of them.
    #[serde(default)]
    pub(crate) layers: Vec<String>,
}

impl Notice {
    /// Tells whether it is about a layer.
    pub(crate) fn is_about(&self, layer: &str) -> bool {
        self.layers.is_empty() || self.layers.iter().any(|name| name == layer)
    }

    /// Returns the event for an input and some more facts.
    pub(crate) fn event(&self, fields: &Map<String, Value>, more: &[(&str, usize)]) -> Event {
        let own = self.facts.iter().map(|(key, field)| {
            let value = lookup(fields, field).cloned().unwrap_or(Value::Null);
            (key.clone(), value)
        });
        let more_facts = more
            .iter()
            .map(|&(key, value)| (key.to_owned(), Value::from(value)));
        let facts: Vec<(String, Value)> = own.chain(more_facts).collect();
        Event::new(
            self.event.as_str(),
            facts,
            message(&self.message, fields, more),
        )
    }
}

/// Lets whole optional layers give way, the lowest priority first, until a limit holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GiveWay {
    /// The input field that says whether anything gives way.
    pub(crate) from: String,
    /// The name of the event that tells of each layer.
    pub(crate) event: String,
    /// The sentence for people, with `{{field}}`, `{{layer}}`, `{{size_bytes}}`, `{{threshold_bytes}}` … in it.
    pub(crate) message: String,
    /// Facts of the payload: its key, and the input field it shows, or `layer`.
    #[serde(default)]
    pub(crate) facts: BTreeMap<String, String>,
}

impl GiveWay {
    /// Tells whether an input asks for it.
    pub(crate) fn is_asked(&self, fields: &Map<String, Value>) -> bool {
        flag(fields, Some(&self.from))
    }

    /// Returns the event of a layer that gave way, with the size that was over the limit.
    pub(crate) fn event(
        &self,
        layer: &str,
        fields: &Map<String, Value>,
        facts: &[(&str, usize)],
    ) -> Event {
        let mut fields = fields.clone();
        fields.insert("layer".to_owned(), Value::from(layer));
        let notice = Notice {
            event: self.event.clone(),
            message: self.message.clone(),
            facts: self.facts.clone(),
            layers: Vec::new(),
        };
        notice.event(&fields, facts)
    }
}

/// A size at which the recipe speaks up: strictly more is over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The number of bytes.
    pub bytes: Option<usize>,
    /// The input field that holds the number of bytes.
    pub bytes_from: Option<String>,
    /// The number of tokens.
    pub tokens: Option<usize>,
    /// The input field that holds the number of tokens.
    pub tokens_from: Option<String>,
    /// Whose messages count, by their text; nothing means the whole prompt as it is handed over.
    pub role: Option<Role>,
    /// What happens before a limit that is an error is one.
    pub(crate) give_way: Option<GiveWay>,
    /// The name of the event; a limit that is an error has none.
    #[serde(default)]
    pub event: String,
    /// The sentence for people, with `{{field}}`, `{{size_bytes}}`, `{{threshold_bytes}}` … in it.
    pub message: String,
    /// Facts of the payload: its key, and the input field it shows.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

impl Limit {
    /// Returns the number of bytes above which the limit is broken.
    pub fn bytes(&self, fields: &Map<String, Value>) -> Option<usize> {
        limit(self.bytes, self.bytes_from.as_deref(), fields)
    }

    /// Returns the number of tokens above which the limit is broken.
    pub fn tokens(&self, fields: &Map<String, Value>) -> Option<usize> {
        limit(self.tokens, self.tokens_from.as_deref(), fields)
    }

    /// Returns the event for an input and a broken limit.
    pub fn event(&self, fields: &Map<String, Value>, facts: &[(&str, usize)]) -> Event {
        let notice = Notice {
            event: self.event.clone(),
            message: self.message.clone(),
            facts: self.facts.clone(),
            layers: Vec::new(),
        };
        notice.event(fields, facts)
    }

    /// Returns the sentence for an input and a broken limit.
    pub fn message(&self, fields: &Map<String, Value>, facts: &[(&str, usize)]) -> String {
        message(&self.message, fields, facts)
    }
}

fn limit(number: Option<usize>, from: Option<&str>, fields: &Map<String, Value>) -> Option<usize> {
    let given = from
        .and_then(|field| lookup(fields, field))
        .and_then(Value::as_u64);
    given
        .and_then(|given| usize::try_from(given).ok())
        .or(number)
}

fn message(template: &str, fields: &Map<String, Value>, facts: &[(&str, usize)]) -> String {
    let mut values = fields.clone();
    values.extend(
        facts
            .iter()
            .map(|&(key, value)| (key.to_owned(), Value::from(value))),
    );
    fill(template, &values)
}
