//! Values of Python as JSON, and back.
//!
//! What JSON cannot say is refused with the path of the field. An integer that no number of the library can hold becomes
//! its digits, never a float, and is remembered.

use std::fmt;

use callsheet::document::{DEPTH_LIMIT, too_deep};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// An integer beyond 64 bits, and where it stands.
#[derive(Debug)]
pub(crate) struct Wide {
    pub(crate) path: Vec<Step>,
    pub(crate) number: Py<PyAny>,
}

/// A value of Python as JSON.
#[derive(Debug, Default)]
pub(crate) struct Converted {
    pub(crate) value: Value,
    /// The integers that stand in it as their digits.
    pub(crate) wide: Vec<Wide>,
}

impl Converted {
    /// Converts a value; `name` begins the paths of problems.
    pub(crate) fn new(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut converter = Converter {
            name,
            path: Vec::new(),
            wide: Vec::new(),
        };
        let value = converter.convert(value)?;
        let wide = converter.wide;
        Ok(Self { value, wide })
    }
}

struct Converter {
    name: &'static str,
    path: Vec<Step>,
    wide: Vec<Wide>,
}

impl fmt::Display for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, Path(&self.path))
    }
}

/// The steps to a value, as people write them.
struct Path<'a>(&'a [Step]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.0 {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Wide {
    /// Returns where it stands, as people write it.
    pub(crate) fn shown(&self) -> String {
        let path = Path(&self.path).to_string();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
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
        let told = format!("`{self}`: JSON has no value for a `{kind}`");
        Err(PyTypeError::new_err(told))
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
        if let Ok(number) = value.cast::<PyInt>() {
            return self.integer(number).map(Some);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            let number = Number::from_f64(number.value()).map(Value::Number);
            let bad = || PyValueError::new_err(format!("`{self}`: {value} is no JSON number"));
            return number.ok_or_else(bad).map(Some);
        }
        // A value that holds itself meets the limit, too.
        if self.path.len() >= DEPTH_LIMIT {
            let told = format!("`{}`: {}", self.name, too_deep());
            return Err(PyValueError::new_err(told));
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

    fn integer(&mut self, number: &Bound<'_, PyInt>) -> PyResult<Value> {
        if let Ok(number) = number.extract::<i64>() {
            return Ok(Value::from(number));
        }
        if let Ok(number) = number.extract::<u64>() {
            return Ok(Value::from(number));
        }
        self.wide.push(Wide {
            path: self.path.clone(),
            number: number.clone().into_any().unbind(),
        });
        Ok(Value::from(number.str()?.to_str()?))
    }

    fn object(&mut self, items: &Bound<'_, PyList>) -> PyResult<Value> {
        let mut object = Map::with_capacity(items.len());
        for item in items {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(key) = key.cast::<PyString>() else {
                let kind = key.get_type().name()?;
                let told = format!("`{self}`: a key must be a `str`, not a `{kind}`");
                return Err(PyTypeError::new_err(told));
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
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => PyInt::new(py, number).into_any(),
            (None, Some(number)) => PyInt::new(py, number).into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
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
