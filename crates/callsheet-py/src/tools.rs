//! The tools of a prompt, which come back to Python as they were given.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use serde_json::Value;

use crate::value::{Converted, Step, Wide, to_python};

/// The field of an input that holds the tools.
const FIELD: &str = "tools";

/// Tool definitions, with the integers that JSON numbers here cannot hold.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) values: Vec<Value>,
    wide: Vec<Wide>,
}

/// Tells whether an integer of an input stands in its tools.
pub(crate) fn are_in(wide: &Wide) -> bool {
    wide.path.first() == Some(&Step::Key(FIELD.to_owned()))
}

impl Tools {
    /// Takes tools that Python gave as a list.
    pub(crate) fn given(list: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Converted { value, wide } = Converted::new(FIELD, list)?;
        let values = match value {
            Value::Array(values) => values,
            other => vec![other],
        };
        Ok(Self { values, wide })
    }

    /// Takes the tools of a prompt; `wide` are the integers of the input that they came from.
    pub(crate) fn composed(values: Vec<Value>, wide: Vec<Wide>) -> Self {
        let ours = wide.into_iter().filter(are_in).map(|mut wide| {
            wide.path.remove(0);
            wide
        });
        let wide = ours.collect();
        Self { values, wide }
    }

    /// Returns them as a list that nobody else has.
    pub(crate) fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for value in &self.values {
            list.append(to_python(py, value)?)?;
        }
        for wide in &self.wide {
            put_back(list.as_any(), wide)?;
        }
        Ok(list)
    }
}

/// Puts an integer back in the place of its digits; where something else stands by now, that stays.
fn put_back(list: &Bound<'_, PyAny>, wide: &Wide) -> PyResult<()> {
    let number = wide.number.bind(list.py());
    let digits = number.str()?;
    let mut place = list.clone();
    let mut steps = wide.path.iter().peekable();
    while let Some(step) = steps.next() {
        let key = match step {
            Step::Key(key) => PyString::new(list.py(), key).into_any(),
            Step::Index(index) => index.into_pyobject(list.py())?.into_any(),
        };
        let Ok(inner) = place.get_item(&key) else {
            return Ok(());
        };
        if steps.peek().is_none() && inner.eq(&digits)? {
            return place.set_item(key, number);
        }
        place = inner;
    }
    Ok(())
}
