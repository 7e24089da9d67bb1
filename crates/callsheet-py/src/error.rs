//! Errors of the library as exceptions, with the hint that a person needs.

use callsheet::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict as _, PyDict, PyTuple, PyType};

/// How the text of an exception begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening {
    /// With the place, as the program prints it.
    Place,
    /// With the sentence; the place is in the attributes only.
    Sentence,
}

/// Makes the exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error, opening: Opening) -> PyErr {
    hinted(py, error, opening, None)
}

/// Makes the exception for an error about which the caller knows something that may help.
pub(crate) fn hinted(
    py: Python<'_>,
    error: &Error,
    opening: Opening,
    known: Option<String>,
) -> PyErr {
    let hints: Vec<String> = hint(error).into_iter().chain(known).collect();
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    match instance(py, error, opening, hint) {
        Ok(exception) => PyErr::from_value(exception),
        Err(other) => other,
    }
}

fn instance<'py>(
    py: Python<'py>,
    error: &Error,
    opening: Opening,
    hint: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "callsheet", "Error")?;
    let text = match opening {
        Opening::Place => error.to_string(),
        Opening::Sentence => {
            let causes = error.causes().iter().map(|cause| format!("\n  {cause}"));
            let sentence = std::iter::once(error.detail().to_owned());
            sentence.chain(causes).collect()
        }
    };
    let place = error.place();
    let facts: Bound<'py, PyDict> = [
        ("kind", kind(error.kind()).into_pyobject(py)?.into_any()),
        ("detail", error.detail().into_pyobject(py)?.into_any()),
        (
            "file",
            place.map(|place| &place.file).into_pyobject(py)?.into_any(),
        ),
        (
            "line",
            place
                .and_then(|place| place.line)
                .into_pyobject(py)?
                .into_any(),
        ),
        ("hint", hint.into_pyobject(py)?.into_any()),
        ("causes", PyTuple::new(py, error.causes())?.into_any()),
    ]
    .into_py_dict(py)?;
    class.call((text,), Some(&facts))
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::BadRecipe => "bad-recipe",
        ErrorKind::BadInput => "bad-input",
        ErrorKind::BadTemplate => "bad-template",
        ErrorKind::UnknownName => "unknown-name",
        ErrorKind::OverBudget => "over-budget",
        ErrorKind::Unreadable => "unreadable",
        ErrorKind::NoChange => "no-change",
        ErrorKind::NoMatch => "no-match",
        ErrorKind::Untrusted => "untrusted",
        _ => "other",
    }
}

/// What may help where a glob matches no file.
const NO_MATCH: &str = "globs are relative to the root, and skip hidden files and those that `.gitignore` or `.promptignore` names";

/// Returns what may help: the name that was probably meant, or those that are allowed and not told yet.
fn hint(error: &Error) -> Option<String> {
    let found = error.found()?;
    let allowed = error.allowed();
    let distance = |name: &&String| strsim::damerau_levenshtein(found, name);
    let close = |name: &&String| {
        distance(name) <= found.chars().count() / 3 || name.starts_with(found) && found.len() > 2
    };
    if let Some(nearest) = allowed.iter().min_by_key(distance).filter(close) {
        return Some(format!("did you mean `{nearest}`?"));
    }
    if error.kind() == ErrorKind::NoMatch {
        return Some(NO_MATCH.to_owned());
    }
    let quoted: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
    let is_named = quoted.iter().all(|name| error.detail().contains(name));
    (!is_named).then(|| format!("allowed are {}", quoted.join(", ")))
}
