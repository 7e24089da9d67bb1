//! Plain values, as they go into a statement and as they come out of a row.
//!
//! What comes out is not trusted: a value of the wrong type is damage that is reported, never a panic.

use std::borrow::Cow;
use std::sync::Arc;

use crate::StoreError;

/// One value of a statement or a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text without the character NUL, which PostgreSQL cannot keep.
    Text(Cow<'a, str>),
    /// Any bytes.
    Bytes(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// Returns what the value is, for people.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Int(_) => "a number",
            Self::Real(_) => "a fraction",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Cow::Owned(bytes))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of a query.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    store: Arc<str>,
    values: Vec<Value<'static>>,
}

impl Row {
    /// Makes a row of a store.
    pub(crate) fn new(store: &Arc<str>, values: Vec<Value<'static>>) -> Self {
        Self {
            store: Arc::clone(store),
            values,
        }
    }

    /// Returns a whole number.
    pub(crate) fn int(&self, at: usize) -> Result<i64, StoreError> {
        match self.get(at) {
            Value::Int(number) => Ok(*number),
            other => Err(self.wrong(at, "a number", other)),
        }
    }

    /// Returns a text.
    pub(crate) fn text(&self, at: usize) -> Result<&str, StoreError> {
        match self.get(at) {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong(at, "a text", other)),
        }
    }

    /// Returns bytes.
    pub(crate) fn bytes(&self, at: usize) -> Result<&[u8], StoreError> {
        match self.get(at) {
            Value::Bytes(bytes) => Ok(bytes),
            other => Err(self.wrong(at, "bytes", other)),
        }
    }

    /// Returns what a getter finds, or nothing where there is no value.
    pub(crate) fn maybe<'r, T>(
        &'r self,
        at: usize,
        get: impl FnOnce(&'r Self, usize) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match self.get(at) {
            Value::Null => Ok(None),
            _ => get(self, at).map(Some),
        }
    }

    /// Makes the error of a row that breaks a rule.
    pub(crate) fn damaged(&self, why: impl Into<String>) -> StoreError {
        StoreError::damaged(&*self.store, why)
    }

    fn get(&self, at: usize) -> &Value<'static> {
        self.values.get(at).unwrap_or(&Value::Null)
    }

    fn wrong(&self, at: usize, wanted: &str, found: &Value<'_>) -> StoreError {
        let found = found.kind();
        self.damaged(format!(
            "a row has {found} in column {} and not {wanted}",
            at + 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_type_is_damage() {
        let row = Row::new(&"a.db".into(), vec![Value::Int(1), Value::Null]);
        assert_eq!(row.int(0), Ok(1));
        assert_eq!(row.maybe(1, Row::int), Ok(None));
        assert_eq!(
            row.text(0).unwrap_err().to_string(),
            "a.db: a row has a number in column 1 and not a text"
        );
        assert_eq!(
            row.bytes(7).unwrap_err().to_string(),
            "a.db: a row has nothing in column 8 and not bytes"
        );
    }
}
