//! From a recipe and an input to a composition.

use std::path::PathBuf;

use callsheet::redact::{Key, Level};
use callsheet::settings::PromptSettings;
use callsheet::{Budget, Error, ErrorKind, Options, Reason, Recipe};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::composition::Composition;
use crate::error::{Opening, hinted};
use crate::project::{Project, Variables};
use crate::value::{from_python, to_python};

/// How a prompt is composed, as the keywords of the Python function say it.
#[derive(Debug, FromPyObject)]
pub(crate) struct Asked {
    #[pyo3(item)]
    byte_budget: Option<usize>,
    #[pyo3(item)]
    token_budget: Option<usize>,
    #[pyo3(item)]
    encoding: String,
    #[pyo3(item)]
    count_tokens: bool,
    #[pyo3(item)]
    redact: Redact,
    #[pyo3(item)]
    redact_key: Option<String>,
}

/// Whether secrets become pseudonyms: a switch, or the name of a level.
#[derive(Debug, FromPyObject)]
enum Redact {
    Switch(bool),
    Level(String),
}

impl Redact {
    fn level(&self) -> Result<Level, Error> {
        match self {
            Self::Switch(false) => Ok(Level::Off),
            Self::Switch(true) => Ok(Level::Formats),
            Self::Level(name) if name == "entropy" => Ok(Level::Entropy),
            Self::Level(name) => Err(Error::unknown("redaction", name, ["entropy"])),
        }
    }
}

impl Asked {
    fn options(self, settings: &PromptSettings) -> Result<Options, Error> {
        Ok(Options {
            budget: Budget {
                bytes: self.byte_budget,
                tokens: self.token_budget,
            },
            encoding: self.encoding.parse()?,
            count_tokens: self.count_tokens,
            redact: self.redact.level()?,
            redact_key: match self.redact_key.as_deref() {
                Some(key) => Key::derive(key),
                None => settings.redact_key(),
            },
            redact_rules: settings.redact_rules.clone(),
            // Whatever the input was merged from was merged in Python.
            inputs: Vec::new(),
        })
    }
}

/// Composes the prompt of a recipe for an input; without a root nothing is read.
#[pyfunction]
pub(crate) fn compose(
    recipe: &Bound<'_, pyo3::types::PyString>,
    input: &Bound<'_, PyAny>,
    root: Option<PathBuf>,
    asked: Asked,
) -> PyResult<Composition> {
    let py = recipe.py();
    let name = recipe.to_str()?.to_owned();
    let mut value = from_python("input", input)?;
    let variables = Variables::read(py);
    let mut known = None;
    let composed = py.detach(|| {
        let project = match root {
            Some(root) => Project::open(root, &variables)?,
            None => Project::nowhere(),
        };
        known = project.hint(&name);
        let options = asked.options(project.settings())?;
        let found = project.recipe(&name)?;
        project.complete(&found, &mut value)?;
        callsheet::compose(found.recipe(), &value, &project.into_inputs(), &options)
    });
    match composed {
        Ok(composed) => Ok(py.detach(|| Composition::new(composed))),
        Err(error) => Err(refused(py, &error, known)),
    }
}

/// What a prompt says, of which nothing is put on record.
#[pyclass(frozen, module = "callsheet._native")]
#[derive(Debug)]
pub(crate) struct Draft(callsheet::Draft);

#[pymethods]
impl Draft {
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &json!(self.0.events))
    }

    #[getter]
    fn omissions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &json!(self.0.omissions))
    }
}

/// Composes a prompt of which nothing is put on record.
///
/// A project whose directory does not exist has no files; without a root nothing is read.
#[pyfunction]
pub(crate) fn draft(
    recipe: &str,
    input: &Bound<'_, PyAny>,
    root: Option<PathBuf>,
) -> PyResult<Draft> {
    let py = input.py();
    let mut value = from_python("input", input)?;
    let variables = Variables::read(py);
    let mut known = None;
    let drafted = py.detach(|| {
        let project = match root {
            Some(root) => Project::find(root, &variables)?,
            None => Project::nowhere(),
        };
        known = project.hint(recipe);
        let found = project.recipe(recipe)?;
        project.complete(&found, &mut value)?;
        let options = Options {
            redact_key: project.settings().redact_key(),
            redact_rules: project.settings().redact_rules.clone(),
            ..Options::default()
        };
        let drafted = callsheet::draft(found.recipe(), &value, project.into_inputs(), &options)?;
        refuse_unread(found.recipe(), &value, &drafted)?;
        Ok(drafted)
    });
    match drafted {
        Ok(drafted) => Ok(Draft(drafted)),
        Err(error) => Err(refused(py, &error, known)),
    }
}

/// Makes the exception of a composition; what is known of the input may help where the input is wrong.
fn refused(py: Python<'_>, error: &Error, known: Option<String>) -> PyErr {
    let known = known.filter(|_| error.kind() == ErrorKind::BadInput);
    hinted(py, error, Opening::Place, known)
}

/// Refuses a text that would be over its limit with the files that are too large to be read.
fn refuse_unread(recipe: &Recipe, input: &Value, drafted: &callsheet::Draft) -> Result<(), Error> {
    let omissions = drafted.omissions.iter();
    let too_large = omissions.filter(|omission| omission.reason == Reason::TooLarge);
    let unread: u64 = too_large.map(|omission| omission.bytes).sum();
    if unread == 0 {
        return Ok(());
    }
    let size = usize::try_from(unread).unwrap_or(usize::MAX);
    let size = size.saturating_add(drafted.text.len());
    let fields = recipe.check(input)?;
    let limit = recipe.error.as_ref();
    match limit.and_then(|limit| Some((limit, limit.bytes(&fields)?))) {
        Some((limit, most)) if size > most => {
            let facts = [("size_bytes", size), ("threshold_bytes", most)];
            let detail = limit.message(&fields, &facts);
            Err(Error::new(ErrorKind::OverBudget, detail))
        }
        _ => Ok(()),
    }
}
