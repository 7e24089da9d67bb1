//! From the name of a runner to everything that a run of it needs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Adapter, Limits, Permissions, RunError, Runner, Sheet, adapter, environment};

/// What a project sets of its runners and of the CLIs behind them.
#[derive(Clone, Debug, Default)]
pub struct Runners {
    /// The runners, by name.
    pub runners: BTreeMap<String, Runner>,
    /// What differs from the sheets of the adapters, by adapter.
    pub adapters: BTreeMap<String, toml::Table>,
}

/// A runner with its adapter.
pub struct Resolved {
    /// The name of the runner.
    pub name: String,
    /// What the project sets of it.
    pub runner: Runner,
    /// What its CLI takes.
    pub sheet: Sheet,
    /// What knows its CLI.
    pub adapter: Box<dyn Adapter>,
    /// The account that it uses.
    pub account: String,
    /// What its agent may do without asking.
    pub permissions: Permissions,
    /// How long a run may take.
    pub limits: Limits,
    /// The beginning of the command line.
    pub command: Vec<String>,
    /// The adapter of the run that is played again, where one is.
    pub recorded: Option<String>,
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved")
            .field("name", &self.name)
            .field("sheet", &self.sheet.name)
            .finish_non_exhaustive()
    }
}

impl Resolved {
    /// Tells whether the CLI gets a state folder of its own, in an environment.
    pub fn isolates(&self, here: &BTreeMap<String, String>) -> bool {
        let (_, has_key) = environment::passed(&self.runner, &self.sheet, here);
        environment::isolated(self.runner.isolate, has_key)
    }

    /// Tells whether the CLI takes a text for its system prompt, in an environment.
    pub fn takes_system(&self, here: &BTreeMap<String, String>) -> bool {
        self.adapter
            .takes_system(&self.command, self.isolates(here))
    }

    /// Reads the output as that of a recorded run of another adapter.
    pub fn plays(&mut self, recorded: &str) {
        if let Some(adapter) = adapter::find(recorded) {
            self.adapter = Box::new(adapter::ReplayAdapter::new(adapter));
            self.recorded = Some(recorded.to_owned());
        }
    }
}

impl Runners {
    /// Returns the names that can be asked for: the project's own, and adapters that need no settings.
    pub fn names(&self) -> Vec<String> {
        let ready = adapter::NAMES.iter().filter(|name| is_ready(name));
        let mut names: Vec<String> = ready.map(|name| (*name).to_owned()).collect();
        names.extend(self.runners.keys().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// Finds a runner by its name; `root` is what relative programs are relative to, and `is_sandboxed` says whether its agent
    /// will be in the sandbox, where it may do more without asking.
    pub fn resolve(
        &self,
        name: &str,
        root: &Path,
        is_sandboxed: bool,
    ) -> Result<Resolved, RunError> {
        let runner = match self.runners.get(name) {
            Some(runner) => runner.clone(),
            None if is_ready(name) => Runner::default(),
            None => {
                return Err(RunError::Unknown {
                    what: "runner",
                    name: name.to_owned(),
                    known: self.names(),
                });
            }
        };
        let asked = runner.adapter.as_deref().unwrap_or(name);
        let (Some(text), Some(adapter)) = (adapter::sheet(asked), adapter::find(asked)) else {
            return Err(RunError::Unknown {
                what: "adapter",
                name: asked.to_owned(),
                known: adapter::NAMES
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect(),
            });
        };
        let sheet = Sheet::parse(text, self.adapters.get(asked), runner.profile.as_deref())?;
        let command = runner.command.as_ref().unwrap_or(&sheet.command);
        if command.is_empty() && asked == "command" {
            return Err(RunError::Input(format!(
                "runner `{name}` has the adapter `command` and no `command`"
            )));
        }
        Ok(Resolved {
            name: name.to_owned(),
            account: runner.account.clone().unwrap_or_else(|| name.to_owned()),
            permissions: Permissions::of(runner.permissions, is_sandboxed),
            limits: Limits::of(&runner.limits, &sheet.limits),
            command: rooted(command, root),
            recorded: None,
            sheet,
            adapter,
            runner,
        })
    }
}

/// Tells whether a runner of that name is there without any settings.
fn is_ready(name: &str) -> bool {
    adapter::sheet(name)
        .and_then(|text| Sheet::parse(text, None, None).ok())
        .is_some_and(|sheet| !sheet.command.is_empty())
}

/// Makes a relative program one below the root; a bare name is looked for in `PATH`.
fn rooted(command: &[String], root: &Path) -> Vec<String> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program.contains('/')
        && !program.starts_with('/')
    {
        *program = root.join(&*program).to_string_lossy().into_owned();
    }
    command
}

/// Returns the file that a program's name means, by a search path.
pub fn find_program(name: &str, path: Option<&str>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |file: &PathBuf| {
        std::fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let folders = std::env::split_paths(path?);
    folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(runs)
}
