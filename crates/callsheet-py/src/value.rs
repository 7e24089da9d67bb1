//! Values of Python as JSON, and back.
//!
//! What JSON cannot say is refused with the path of the field. Numbers keep the digits that Python prints them with.

use std::fmt;

use callsheet::document::{self, DEPTH_LIMIT, too_deep};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Value};

/// A step from a value to one inside it.
enum Step {
    Key(String),
    Index(usize),
}

/// Converts a value of Python; `name` begins the paths of problems.
pub(crate) fn from_python(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut converter = Converter {
        name,
        path: Vec::new(),
    };
    converter.convert(value)
}

struct Converter {
    name: &'static str,
    path: Vec<Step>,
}

impl fmt::Display for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for step in &self.path {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Converter {
    fn convert(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        if let Some(converted) = self.json(value)? {
            return Ok(converted);
        }
        // Models, dataclasses and paths: Python knows what they are.
        if let Some(converted) = self.json(&plain(value)?)? {
            return Ok(converted);
        }
        let kind = value.get_type().name()?;
        let message = format!("`{self}`: JSON has no value for a `{kind}`");
        Err(PyTypeError::new_err(message))
    }

    /// Converts what JSON has a value for.
    fn json(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
        if value.is_none() {
            return Ok(Some(Value::Null));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Some(Value::from(text.to_str()?)));
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            return Ok(Some(Value::from(truth.is_true())));
        }
        if value.is_instance_of::<PyInt>() {
            // Almost all are short, and need not be printed first.
            return match value.extract::<i64>() {
                Ok(number) => Ok(Some(Value::from(number))),
                Err(_) => self.number::<PyInt>(value).map(Some),
            };
        }
        if value.is_instance_of::<PyFloat>() {
            return self.number::<PyFloat>(value).map(Some);
        }
        // A value that holds itself meets the limit, too.
        if self.path.len() >= DEPTH_LIMIT {
            let message = format!("`{}`: {}", self.name, too_deep());
            return Err(PyValueError::new_err(message));
        }
        // Snapshots: a list or dict that another thread changes meanwhile does no harm.
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.object(&dict.items()).map(Some);
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            return self.array(value).map(Some);
        }
        if let Ok(mapping) = value.cast::<PyMapping>() {
            return self.object(&mapping.items()?).map(Some);
        }
        Ok(None)
    }

    /// Returns a number with the digits of its type, whatever a subclass prints.
    fn number<T: PyTypeInfo>(&self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        let printed = value
            .py()
            .get_type::<T>()
            .call_method1("__repr__", (value,))?;
        let printed = printed.cast::<PyString>()?.to_str()?;
        let bad = || PyValueError::new_err(format!("`{self}`: {printed} is not a JSON number"));
        document::number(printed).map(Value::Number).ok_or_else(bad)
    }

    fn object(&mut self, items: &Bound<'_, PyList>) -> PyResult<Value> {
        let mut object = Map::with_capacity(items.len());
        for item in items {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(key) = key.cast::<PyString>() else {
                let kind = key.get_type().name()?;
                let message = format!("`{self}`: a key must be a `str`, not a `{kind}`");
                return Err(PyTypeError::new_err(message));
            };
            let key = key.to_str()?.to_owned();
            let value = self.within(Step::Key(key.clone()), &value)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self, list: &Bound<'_, PyAny>) -> PyResult<Value> {
        let items: Vec<Bound<'_, PyAny>> = list.extract()?;
        let items = items.iter().enumerate();
        let items = items.map(|(index, item)| self.within(Step::Index(index), item));
        items.collect::<PyResult<Vec<Value>>>().map(Value::Array)
    }

    fn within(&mut self, step: Step, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.path.push(step);
        let converted = self.convert(value);
        self.path.pop();
        converted
    }
}

/// Returns a model or a dataclass as a dict and a path as its text; anything else as it is.
fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static PLAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    PLAIN
        .import(value.py(), "callsheet._values", "plain")?
        .call1((value,))
}

/// Returns a JSON value as the value that Python's `json` would make of it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_str()) {
            (Some(number), _) => PyInt::new(py, number).into_any(),
            (None, digits) if digits.contains(['.', 'e', 'E']) => {
                py.get_type::<PyFloat>().call1((digits,))?
            }
            (None, digits) => py.get_type::<PyInt>().call1((digits,))?,
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (key, item) in fields {
                dict.set_item(key, to_python(py, item)?)?;
            }
            dict.into_any()
        }
    })
}
