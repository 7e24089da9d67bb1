//! From a recipe and an input to a composition.

use std::path::PathBuf;

use callsheet::redact::{Key, Level};
use callsheet::settings::PromptSettings;
use callsheet::{Budget, Error, ErrorKind, Options, Reason, Recipe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::composition::Composition;
use crate::error::{Opening, hinted};
use crate::project::{Project, Variables};
use crate::tools;
use crate::value::{Converted, Wide, to_python};

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
    let Converted { mut value, wide } = Converted::new("input", input)?;
    refuse_wide(&wide)?;
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
        Ok(composed) => Ok(py.detach(|| Composition::new(composed, wide))),
        Err(error) => Err(refused(py, &error, known)),
    }
}

/// Composes the recipe `injection`: its text, the events, and what was asked for and is not in it.
///
/// A project whose directory does not exist has no files.
#[pyfunction]
pub(crate) fn inject<'py>(
    root: PathBuf,
    input: &Bound<'py, PyAny>,
) -> PyResult<(String, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = input.py();
    let Converted { mut value, wide } = Converted::new("input", input)?;
    refuse_wide(&wide)?;
    let variables = Variables::read(py);
    let mut known = None;
    let composed = py.detach(|| {
        let project = Project::find(root, &variables)?;
        known = project.hint("injection");
        let found = project.recipe("injection")?;
        project.complete(&found, &mut value)?;
        let options = Options {
            redact_key: project.settings().redact_key(),
            redact_rules: project.settings().redact_rules.clone(),
            ..Options::default()
        };
        let composed =
            callsheet::compose(found.recipe(), &value, &project.into_inputs(), &options)?;
        refuse_unread(found.recipe(), &value, &composed)?;
        Ok(composed)
    });
    let composed = composed.map_err(|error| refused(py, &error, known))?;
    let events = to_python(py, &json!(composed.events))?;
    let omissions = to_python(py, &json!(composed.manifest.omissions))?;
    Ok((composed.text, events, omissions))
}

/// Makes the exception of a composition; what is known of the input may help where the input is wrong.
fn refused(py: Python<'_>, error: &Error, known: Option<String>) -> PyErr {
    let known = known.filter(|_| error.kind() == ErrorKind::BadInput);
    hinted(py, error, Opening::Place, known)
}

/// Refuses a text that would be over its limit with the files that are too large to be read.
fn refuse_unread(
    recipe: &Recipe,
    input: &Value,
    composed: &callsheet::Composition,
) -> Result<(), Error> {
    let omissions = composed.manifest.omissions.iter();
    let too_large = omissions.filter(|omission| omission.reason == Reason::TooLarge);
    let unread: u64 = too_large.map(|omission| omission.bytes).sum();
    if unread == 0 {
        return Ok(());
    }
    let size = composed
        .text
        .len()
        .saturating_add(usize::try_from(unread).unwrap_or(usize::MAX));
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

/// Refuses integers that no number of the library can hold, but in the tools, which come back as they were given.
fn refuse_wide(wide: &[Wide]) -> PyResult<()> {
    match wide.iter().find(|wide| !tools::are_in(wide)) {
        Some(wide) => Err(PyValueError::new_err(format!(
            "`{}`: an integer of more than 64 bits; give it as a str",
            wide.shown()
        ))),
        None => Ok(()),
    }
}
