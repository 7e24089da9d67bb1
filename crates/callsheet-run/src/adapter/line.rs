//! Lines of agents' output: JSON objects whose form nobody vouches for. What is missing or of another type is not there.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use crate::AgentEvent;

/// Reads a line; what is not a JSON object is an event already, and an empty line is nothing.
pub(super) fn object(line: &str) -> Result<Map<String, Value>, Vec<AgentEvent>> {
    if line.trim().is_empty() {
        return Err(Vec::new());
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(unknown(line)),
    }
}

/// Returns the event of a line of no known form.
pub(super) fn unknown(line: &str) -> Vec<AgentEvent> {
    let raw = line.trim_end_matches(['\r', '\n']).to_owned();
    vec![AgentEvent::Unknown { raw }]
}

/// Looks into values without trusting their form.
pub(super) trait Look {
    /// Returns a field; a value that has none has nothing.
    fn at(&self, name: &str) -> &Value;

    /// Returns a field that is a text; an empty one is none.
    fn text(&self, name: &str) -> Option<&str> {
        self.at(name).as_str().filter(|text| !text.is_empty())
    }

    /// Returns a field that is a text, or an empty one.
    fn string(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// Returns a field that is a number from 0, rounded.
    fn count(&self, name: &str) -> Option<u64> {
        let value = self.at(name);
        value.as_u64().or_else(|| rounded(value.as_f64()?))
    }

    /// Returns a field that is the status of an HTTP response.
    fn status(&self, name: &str) -> Option<u16> {
        let status = u16::try_from(self.at(name).as_u64()?).ok()?;
        (100..600).contains(&status).then_some(status)
    }

    /// Returns the items of a field that is a list.
    fn items(&self, name: &str) -> &[Value] {
        self.at(name).as_array().map_or(&[], Vec::as_slice)
    }
}

impl Look for Value {
    fn at(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Self::Null)
    }
}

impl Look for Map<String, Value> {
    fn at(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, and fractions are not wanted"
)]
fn rounded(number: f64) -> Option<u64> {
    (0.0..=9e15)
        .contains(&number)
        .then(|| number.round() as u64)
}

/// Returns the texts of a list of content blocks, or the text that stands in its place.
pub(super) fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.text("text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The names that were met last; old ones are forgotten, so that no output can fill the memory.
#[derive(Debug)]
pub(super) struct Recent<T>(VecDeque<(String, T)>);

/// More than the calls that any agent has open at once.
const KEPT: usize = 256;

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Recent<T> {
    /// Returns what is kept under a name.
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.0
            .iter()
            .rev()
            .find(|(kept, _)| kept == name)
            .map(|(_, value)| value)
    }

    /// Keeps something, in the place of what was there, and returns that.
    pub(super) fn insert(&mut self, name: &str, value: T) -> Option<T> {
        let old = self.remove(name);
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((name.to_owned(), value));
        old
    }

    /// Takes something out.
    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().rposition(|(kept, _)| kept == name)?;
        self.0.remove(at).map(|(_, value)| value)
    }
}
