//! A composed prompt, as Python sees it: nothing of it can be changed, and every look gives values of one's own.

use callsheet::SourceMap;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::value::to_python;

/// A composed prompt with everything that explains it.
#[pyclass(frozen, weakref, module = "callsheet")]
#[derive(Debug)]
pub(crate) struct Composition {
    record: Record,
}

/// What is kept of a prompt, in a form that can be stored.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    text: String,
    messages: Value,
    tools: Value,
    manifest: Map<String, Value>,
    source_map: SourceMap,
}

impl Composition {
    /// Takes what the library composed.
    pub(crate) fn new(composed: callsheet::Composition) -> Self {
        let record = Record {
            messages: json!(composed.messages()),
            tools: json!(composed.prompt.tools),
            manifest: match json!(composed.manifest) {
                Value::Object(manifest) => manifest,
                _ => Map::new(),
            },
            text: composed.text,
            // Its places serve the library only, and are not stored.
            source_map: SourceMap {
                places: Vec::new(),
                messages: Vec::new(),
                ..composed.source_map
            },
        };
        Self { record }
    }

    fn fact(&self, name: &str) -> &Value {
        self.record.manifest.get(name).unwrap_or(&Value::Null)
    }
}

#[pymethods]
impl Composition {
    /// The exact text that is handed over: that of all sections in order, or for a recipe of messages their compact JSON.
    #[getter]
    fn text(&self) -> &str {
        &self.record.text
    }

    /// The same as `text`.
    #[getter]
    fn rendered(&self) -> &str {
        &self.record.text
    }

    /// The prompt as messages with `role` and `content`.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.record.messages)
    }

    /// The tools that go with the prompt.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.record.tools)
    }

    /// The sections that made the prompt, in order; `tokens` is `None` where they were not counted.
    #[getter]
    fn sections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sections = to_python(py, self.fact("sections"))?;
        for section in sections.try_iter()? {
            section?
                .cast::<PyDict>()?
                .call_method1("setdefault", ("tokens", py.None()))?;
        }
        Ok(sections)
    }

    /// What happened that a person should hear of: `type` and `payload`.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.fact("events"))
    }

    /// The record of the composition: every section, what was left out and why.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &Value::Object(self.record.manifest.clone()))
    }

    /// Where each byte of `text` came from: `spans` in order, without gaps.
    #[getter]
    fn source_map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &json!(self.record.source_map))
    }

    /// The fingerprint of the exact bytes, `b3:` and 64 digits.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.fact("fingerprint").as_str().unwrap_or_default()
    }

    fn __repr__(&self) -> String {
        let recipe = self.fact("recipe").get("name").and_then(Value::as_str);
        let sections = self.fact("sections").as_array().map_or(0, Vec::len);
        let plural = if sections == 1 { "" } else { "s" };
        format!(
            "<Composition of '{}': {sections} section{plural}, {} bytes, {}>",
            recipe.unwrap_or_default(),
            self.record.text.len(),
            self.fingerprint()
        )
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else {
            return Ok(py.NotImplemented());
        };
        let other = other.get();
        let same = py.detach(|| self.record == other.record);
        Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.fingerprint()).hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restored = py.import("callsheet._native")?.getattr("restored")?;
        // Texts, numbers and maps with texts as keys: serialising them cannot fail.
        let record = py.detach(|| serde_json::to_string(&self.record).unwrap_or_default());
        let state = (record,).into_pyobject(py)?;
        (restored, state).into_pyobject(py)
    }
}

/// Returns the composition that was stored.
#[pyfunction]
pub(crate) fn restored(py: Python<'_>, record: &str) -> PyResult<Composition> {
    let record = py.detach(|| serde_json::from_str(record));
    let record = record.map_err(|error| {
        pyo3::exceptions::PyValueError::new_err(format!("not a stored composition: {error}"))
    })?;
    Ok(Composition { record })
}
