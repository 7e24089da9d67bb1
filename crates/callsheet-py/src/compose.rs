//! From a recipe and an input to a composition.

use std::path::PathBuf;

use callsheet::redact::{Key, Level};
use callsheet::{Budget, Error, Inputs, Options, Root, recipe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::composition::Composition;
use crate::error::{Opening, exception};
use crate::tools;
use crate::value::{Converted, Wide};

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
    fn options(self) -> Result<Options, Error> {
        Ok(Options {
            budget: Budget {
                bytes: self.byte_budget,
                tokens: self.token_budget,
            },
            encoding: self.encoding.parse()?,
            count_tokens: self.count_tokens,
            redact: self.redact.level()?,
            redact_key: self
                .redact_key
                .as_deref()
                .map_or_else(Key::default, Key::derive),
            ..Options::default()
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
    let Converted { value, wide } = Converted::new("input", input)?;
    refuse_wide(&wide)?;
    let composed = py.detach(|| composed(&name, &value, root, asked));
    match composed {
        Ok(composed) => Ok(py.detach(|| Composition::new(composed, wide))),
        Err(error) => Err(exception(py, &error, Opening::Place)),
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

fn composed(
    name: &str,
    input: &Value,
    root: Option<PathBuf>,
    asked: Asked,
) -> Result<callsheet::Composition, Error> {
    let root = root.map(Root::open).transpose()?;
    let options = asked.options()?;
    let found = recipe::find(name, root.as_ref())?;
    let inputs = root.map_or_else(Inputs::nowhere, Inputs::new);
    callsheet::compose(found.recipe(), input, &inputs, &options)
}
