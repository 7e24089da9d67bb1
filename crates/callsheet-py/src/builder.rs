//! The prompt builder behind the Python class.
//!
//! The class asks managers and makes texts of values; what it was told comes here. A lock makes a builder safe to share,
//! and is only ever taken by threads that have let go of Python.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callsheet::template::Missing;
use callsheet::{
    Error, ErrorKind, MemorySource, Options, ProjectContext, PromptBuilder, RuleSource,
};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::composition::Composition;
use crate::error::{Opening, exception};
use crate::tools::Tools;

/// Keys and texts, in order.
type Pairs = Vec<(String, String)>;

/// Collects the layers of one prompt.
#[pyclass(frozen, module = "callsheet._native")]
#[derive(Debug)]
pub(crate) struct Builder {
    inner: Mutex<PromptBuilder>,
    memory: Told,
    rules: Told,
}

/// What a manager of Python said last.
#[derive(Clone, Debug)]
struct Told(Arc<Mutex<Result<Option<String>, Error>>>);

impl Told {
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

impl MemorySource for Told {
    fn project_context(&self, _: &str) -> Result<Option<ProjectContext>, Error> {
        Ok(self.said()?.as_deref().map(ProjectContext::text))
    }
}

impl RuleSource for Told {
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
}

#[pymethods]
impl Builder {
    #[new]
    fn new(project_id: String, prompts_dir: Option<PathBuf>) -> Self {
        let (memory, rules) = (Told::nothing(), Told::nothing());
        let mut builder = PromptBuilder::new()
            .with_project_id(project_id)
            .with_memory(memory.clone())
            .with_rules(rules.clone());
        if let Some(folder) = prompts_dir {
            builder = builder.with_prompts_dir(folder);
        }
        Self {
            inner: Mutex::new(builder),
            memory,
            rules,
        }
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

    fn add_context(&self, py: Python<'_>, name: &str, content: &str) -> PyResult<()> {
        self.with(py, |builder| {
            builder.add_context(name, content);
            Ok(())
        })
    }

    fn add_lines(&self, py: Python<'_>, name: &str, lines: Pairs) -> PyResult<()> {
        self.with(py, |builder| {
            builder.add_context_lines(name, lines);
            Ok(())
        })
    }

    fn add_depth(
        &self,
        py: Python<'_>,
        numbers: Vec<(String, i128)>,
        missing: &str,
    ) -> PyResult<()> {
        let missing = rule(py, missing)?;
        let number = |number: i128| {
            i64::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
        };
        let mut data: Map<String, Value> = numbers
            .into_iter()
            .map(|(name, found)| (name, number(found)))
            .collect();
        // Data without any of the numbers still asks for rules, those of the outermost task.
        data.entry("depth").or_insert_with(|| Value::from(0));
        self.with(py, |builder| {
            builder.set_missing(missing);
            builder.add_context_section("task_depth", &data)
        })
    }

    fn build(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |builder| builder.build_task_prompt())
    }

    fn compose(&self, py: Python<'_>, tools: &Bound<'_, PyAny>) -> PyResult<Composition> {
        let given = Tools::given(tools)?;
        let composed = self.with(py, |builder| {
            builder.set_core_tools(given.values.iter().cloned());
            let composed = builder.compose(&Options::default());
            builder.set_core_tools([]);
            composed
        })?;
        Ok(Composition::new(composed, Vec::new()).with_tools(given))
    }
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
