//! The prompt builder behind the Python class.
//!
//! The class asks managers and makes texts of values; what it was told comes here. A lock makes a builder safe to share.
//! Nobody waits for it while holding on to Python: what is quick tries it once, everything else lets go first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use callsheet::template::{DiagnosticKind, Missing};
use callsheet::{
    Error, ErrorKind, MemorySource, Options, ProjectContext, PromptBuilder, RuleSource, Stored,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::{Map, Value};

use crate::composition::Composition;
use crate::error::{Opening, exception};
use crate::value::from_python;

/// Keys and texts, in order.
type Pairs = Vec<(String, String)>;

/// Collects the layers of one prompt.
#[pyclass(frozen, module = "callsheet._native")]
#[derive(Debug)]
pub(crate) struct Builder {
    inner: Mutex<PromptBuilder>,
    memory: Answer,
    rules: Answer,
    project_id: String,
    prompts_dir: Option<PathBuf>,
}

/// What a manager of Python said last.
#[derive(Clone, Debug)]
struct Answer(Arc<Mutex<Result<Option<String>, Error>>>);

impl Answer {
    fn nothing() -> Self {
        Self(Arc::new(Mutex::new(Ok(None))))
    }

    fn tell(&self, said: Option<String>, failure: Option<String>) {
        *locked(&self.0) = match failure {
            None => Ok(said),
            Some(why) => Err(Error::new(ErrorKind::Unreadable, why)),
        };
    }

    fn said(&self) -> Result<Option<String>, Error> {
        locked(&self.0).clone()
    }
}

impl MemorySource for Answer {
    fn project_context(&self, _: &str) -> Result<Option<ProjectContext>, Error> {
        Ok(self.said()?.as_deref().map(ProjectContext::text))
    }
}

impl RuleSource for Answer {
    fn rules(&self, _: Option<&str>, _: &str) -> Result<Option<String>, Error> {
        self.said()
    }
}

/// What holds after a panic is what the last whole call left.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Builder {
    /// Works on the builder while Python runs on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut PromptBuilder) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| work(&mut locked(&self.inner)));
        done.map_err(|error| exception(py, &error, Opening::Sentence))
    }

    /// Does what takes less time than letting go of Python, unless another thread is at work here.
    fn quickly<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut PromptBuilder) -> T + Send,
    ) -> T {
        match self.inner.try_lock() {
            Ok(mut builder) => work(&mut builder),
            Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => py.detach(|| work(&mut locked(&self.inner))),
        }
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new(project_id: String, prompts_dir: Option<PathBuf>) -> Self {
        let (memory, rules) = (Answer::nothing(), Answer::nothing());
        let mut builder = PromptBuilder::new()
            .with_project_id(&project_id)
            .with_memory(memory.clone())
            .with_rules(rules.clone());
        if let Some(folder) = &prompts_dir {
            builder = builder.with_prompts_dir(folder);
        }
        Self {
            inner: Mutex::new(builder),
            memory,
            rules,
            project_id,
            prompts_dir,
        }
    }

    /// Reads the templates, and returns what is in their directory and cannot be taken.
    fn read_templates(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |builder| {
            let diagnostics = builder.templates().diagnostics().iter();
            let refused = diagnostics.filter(|one| one.kind == DiagnosticKind::Unreadable);
            Ok(refused.map(ToString::to_string).collect())
        })
    }

    fn set_identity_text(&self, py: Python<'_>, name: &str, text: Option<&str>) {
        self.quickly(py, |builder| builder.set_identity_text(name, text));
    }

    fn set_identity(
        &self,
        py: Python<'_>,
        name: &str,
        variables: Pairs,
        missing: &str,
    ) -> PyResult<()> {
        let missing = rule(py, missing)?;
        self.with(py, |builder| {
            builder.set_missing(missing);
            builder.set_identity(name, &values(variables))
        })
    }

    fn render_template(
        &self,
        py: Python<'_>,
        name: &str,
        variables: Pairs,
        missing: &str,
    ) -> PyResult<Option<String>> {
        let missing = rule(py, missing)?;
        self.with(py, |builder| {
            builder.set_missing(missing);
            builder.render_template(name, &values(variables))
        })
    }

    fn get_template(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        self.with(py, |builder| Ok(builder.get_template(name)))
    }

    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |builder| {
            builder.reload();
            Ok(())
        })
    }

    fn tell_project_context(
        &self,
        py: Python<'_>,
        said: Option<String>,
        failure: Option<String>,
    ) -> PyResult<()> {
        self.with(py, |builder| {
            self.memory.tell(said, failure);
            builder.load_project_context();
            Ok(())
        })
    }

    fn tell_rules(
        &self,
        py: Python<'_>,
        said: Option<String>,
        failure: Option<String>,
    ) -> PyResult<()> {
        self.with(py, |builder| {
            self.rules.tell(said, failure);
            builder.load_relevant_rules("");
            Ok(())
        })
    }

    fn add_context(&self, py: Python<'_>, name: &str, content: &str) {
        self.quickly(py, |builder| builder.add_context(name, content));
    }

    fn add_lines(&self, py: Python<'_>, name: &str, lines: Pairs) {
        self.quickly(py, |builder| builder.add_context_lines(name, lines));
    }

    fn add_depth(
        &self,
        py: Python<'_>,
        numbers: Vec<(String, i128)>,
        missing: &str,
    ) -> PyResult<()> {
        let missing = rule(py, missing)?;
        let data = depths(numbers);
        self.with(py, |builder| {
            builder.set_missing(missing);
            builder.add_context_section("task_depth", &data)
        })
    }

    /// Returns the template of the execution rules for a depth, and its variables.
    fn execution_rules(
        &self,
        py: Python<'_>,
        numbers: Vec<(String, i128)>,
    ) -> PyResult<(&'static str, BTreeMap<String, String>)> {
        let data = depths(numbers);
        let (template, variables) = self.with(py, |builder| builder.execution_rules(&data))?;
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name, text(value)));
        Ok((template, variables.collect()))
    }

    fn build(&self, py: Python<'_>) -> PyResult<String> {
        self.quickly(py, |builder| builder.build_task_prompt())
            .map_err(|error| exception(py, &error, Opening::Sentence))
    }

    fn compose(&self, py: Python<'_>, tools: &Bound<'_, PyAny>) -> PyResult<Composition> {
        let tools = match from_python("tools", tools)? {
            Value::Array(tools) => tools,
            other => vec![other],
        };
        let composed = self.with(py, |builder| {
            builder.set_core_tools(tools);
            let composed = builder.compose(&Options::default());
            builder.set_core_tools([]);
            composed
        })?;
        Ok(Composition::new(composed))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restored = py
            .import("callsheet._native")?
            .getattr("restored_builder")?;
        let stored = self.with(py, |builder| Ok(builder.stored()))?;
        // Texts, numbers and maps with texts as keys: serialising them cannot fail.
        let stored = py.detach(|| serde_json::to_string(&stored).unwrap_or_default());
        let state = (&self.project_id, &self.prompts_dir, stored).into_pyobject(py)?;
        (restored, state).into_pyobject(py)
    }
}

/// Returns the builder that was stored.
#[pyfunction]
pub(crate) fn restored_builder(
    py: Python<'_>,
    project_id: String,
    prompts_dir: Option<PathBuf>,
    stored: &str,
) -> PyResult<Builder> {
    let builder = Builder::new(project_id, prompts_dir);
    let stored: Stored = py
        .detach(|| serde_json::from_str(stored))
        .map_err(|error| {
            pyo3::exceptions::PyValueError::new_err(format!("not a stored builder: {error}"))
        })?;
    builder.quickly(py, |inner| inner.restore(stored));
    Ok(builder)
}

/// Returns the numbers of a depth as data of a section.
fn depths(numbers: Vec<(String, i128)>) -> Map<String, Value> {
    let number = |number: i128| {
        i64::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
    };
    let numbers = numbers.into_iter();
    let mut data: Map<String, Value> = numbers.map(|(name, found)| (name, number(found))).collect();
    // Data without any of the numbers still asks for rules, those of the outermost task.
    data.entry("depth").or_insert_with(|| Value::from(0));
    data
}

fn values(pairs: Pairs) -> Map<String, Value> {
    let values = pairs.into_iter();
    values.map(|(name, text)| (name, text.into())).collect()
}

fn rule(py: Python<'_>, name: &str) -> PyResult<Missing> {
    let rules = [
        ("empty", Missing::Empty),
        ("keep", Missing::Keep),
        ("error", Missing::Error),
    ];
    let found = rules.iter().find(|(known, _)| *known == name);
    found.map(|(_, missing)| *missing).ok_or_else(|| {
        let known = ["empty", "keep"];
        exception(
            py,
            &Error::unknown("rule for missing values", name, known),
            Opening::Sentence,
        )
    })
}
