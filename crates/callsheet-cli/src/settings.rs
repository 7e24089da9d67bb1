//! `callsheet.toml`: what a project sets once instead of with every command.
//!
//! Defaults, then the project's file, then `CALLSHEET_…` variables, then flags. A file in the home folder may not
//! change a prompt, so none is read: the same project gives the same bytes for everybody.

use std::collections::{BTreeMap, BTreeSet};

use callsheet::ErrorKind;
pub(crate) use callsheet::settings::FILE;
use callsheet::settings::PromptSettings;
use callsheet_run::sprint::{SprintPaths, SprintSettings};
use callsheet_run::{CheckSetting, CommandSetting, Runner, Sheet, WorkspaceSettings, adapter};
use callsheet_server::ServeSettings;
use callsheet_store::{Location, StoreError};
use serde::Deserialize;

use crate::failure::Failure;
use crate::sandbox;

/// What a project sets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// What it sets for prompts; this part also knows the names of all settings, and refuses others.
    #[serde(skip)]
    pub(crate) prompt: PromptSettings,
    /// The server that keeps what is sealed, instead of `.callsheet/callsheet.db`.
    pub(crate) store: Option<StoreAddress>,
    /// The name under which a server keeps this project.
    pub(crate) project: Option<String>,
    /// The runner that is meant when nobody names one.
    pub(crate) runner: Option<String>,
    /// Who runs agents, and how.
    pub(crate) runners: BTreeMap<String, Runner>,
    /// What differs from what callsheet knows of agent CLIs.
    pub(crate) adapters: BTreeMap<String, toml::Table>,
    /// Accounts that runners share.
    pub(crate) accounts: BTreeMap<String, Account>,
    /// What holds for all runs of the project together.
    pub(crate) limits: RunLimits,
    /// When agents are put into the sandbox, and what they may write there.
    pub(crate) sandbox: sandbox::Settings,
    /// The commands that recipes may ask for.
    pub(crate) commands: BTreeMap<String, CommandSetting>,
    /// The worktrees of tasks.
    pub(crate) workspace: WorkspaceSettings,
    /// What is run in the worktree of a task after an agent has ended.
    pub(crate) checks: Vec<CheckSetting>,
    /// How sprints are run.
    pub(crate) sprint: SprintSettings,
    /// How the project is served.
    pub(crate) serve: ServeSettings,
}

/// What a project changes of adapters, as sheets.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Changes {
    #[serde(rename = "adapters")]
    _adapters: BTreeMap<String, Sheet>,
}

/// The names of the checks, with the places where they stand.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    checks: Vec<Name>,
}

#[derive(Deserialize)]
struct Name {
    name: toml::Spanned<String>,
}

/// The address of a server, which may hold a password and is never printed.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct StoreAddress {
    text: String,
    /// Whether it is in the file of the project, which may be somebody else's.
    is_of_project: bool,
}

impl StoreAddress {
    /// Tells whether it is the address of a server that can keep a store.
    pub(crate) fn is_server(&self) -> bool {
        let schemes = ["postgres://", "postgresql://"];
        schemes.iter().any(|scheme| self.text.starts_with(scheme))
    }

    /// Returns the place that it names.
    pub(crate) fn location(&self) -> Result<Location, StoreError> {
        if self.is_of_project {
            Location::parse_of_project(&self.text)
        } else {
            Location::parse(&self.text)
        }
    }

    fn of_variable(text: String) -> Self {
        Self {
            text,
            is_of_project: false,
        }
    }
}

impl From<String> for StoreAddress {
    fn from(text: String) -> Self {
        Self {
            text,
            is_of_project: true,
        }
    }
}

impl std::fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreAddress(…)")
    }
}

/// An account that runners share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Account {
    /// How many runs it may have at once.
    pub(crate) runs: Option<usize>,
}

/// What holds for all runs of a project together.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunLimits {
    /// How many there may be at once.
    pub(crate) runs: Option<usize>,
}

impl Settings {
    /// Reads the settings of a project; `text` is its file, `file` how a user names it.
    pub(crate) fn parse(text: &str, file: &str) -> Result<Self, Failure> {
        let refused = |error: callsheet::Error| {
            Failure::from(error).hint("`callsheet schema settings` prints what is allowed")
        };
        let bad = |error: toml::de::Error| {
            refused(callsheet::Error::toml(
                ErrorKind::BadInput,
                file,
                text,
                &error,
            ))
        };
        let prompt = PromptSettings::parse(text, file).map_err(refused)?;
        let settings = Self {
            prompt,
            ..toml::from_str(text).map_err(bad)?
        };
        // A table forgets its lines, so that it is read a second time for what is wrong in it.
        toml::from_str::<Changes>(text).map_err(bad)?;
        let known = |name: &&String| !adapter::NAMES.contains(&name.as_str());
        if let Some(name) = settings.adapters.keys().find(known) {
            let names = adapter::NAMES.iter().copied();
            return Err(refused(
                callsheet::Error::unknown("adapter", name, names).at(file, None),
            ));
        }
        if let Some((name, at)) = settings.second_check(text) {
            let detail = format!("there is another check named `{name}`; each needs its own name");
            let line = text[..at].matches('\n').count() + 1;
            let error = callsheet::Error::new(ErrorKind::BadInput, detail).at(file, line);
            return Err(refused(error));
        }
        if let Some(detail) = settings.sprint.contradiction() {
            return Err(refused(
                callsheet::Error::new(ErrorKind::BadInput, detail).at(file, None),
            ));
        }
        Ok(settings)
    }

    /// Returns where the files of a sprint are: as `[sprint.paths]` says, else `[paths]`, else as everywhere.
    pub(crate) fn sprint_paths(&self) -> SprintPaths {
        let paths = &self.prompt.paths;
        let shared = SprintPaths {
            implementation_artifacts: paths.implementation_artifacts.clone(),
            planning_artifacts: paths.planning_artifacts.clone(),
            sprint_project_context: paths.sprint_project_context.clone(),
            ..SprintPaths::default()
        };
        self.sprint.paths.clone().or(shared)
    }

    /// Returns the name of a check that another one has, too, and the byte of the file at which it stands.
    fn second_check(&self, text: &str) -> Option<(&str, usize)> {
        let mut seen = BTreeSet::new();
        let mut names = self.checks.iter().map(|check| check.name.as_str());
        let (index, name) = (0..)
            .zip(&mut names)
            .find(|(_, name)| !seen.insert(*name))?;
        let places = toml::from_str::<Named>(text).unwrap_or_default();
        let place = places.checks.get(index);
        Some((name, place.map_or(0, |place| place.name.span().start)))
    }

    /// Applies the variables of the environment.
    pub(crate) fn with_environment(
        mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        for (name, value) in variables {
            match name.as_str() {
                // Set to nothing it takes the address of the file away.
                "CALLSHEET_STORE" => {
                    self.store = (!value.is_empty()).then(|| StoreAddress::of_variable(value));
                }
                "CALLSHEET_PROJECT" => self.project = Some(value),
                _ => self.prompt.set_variable(&name, &value)?,
            }
        }
        Ok(self)
    }
}

/// The JSON Schema of the file.
pub(crate) const SCHEMA: &str = include_str!("settings.schema.json");

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_published_schema_knows_every_setting() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let full = "prompts_dir = \"a\"\nmax_file_bytes = 1\nredact_key = \"a\"\nredact.rules = [{id = \"a\", regex = \"ab\", keywords = [\"ab\"], entropy = 0.5, mixed = false, block = false, enabled = true, hits = [\"ab\"], misses = [\"ac\"]}]\nstore = \"postgres://h/d\"\nproject = \"a\"\nrunner = \"fast\"\n[paths]\nimplementation_artifacts = \"a\"\nplanning_artifacts = \"a\"\nsprint_project_context = \"a\"\n[recipes.mine]\nx = 1\n[scope]\ndefault_exclude = [\"a\"]\n[adapters.claude]\ncommand = [\"a\"]\nenv.A = \"b\"\nsettings.all.x = 1\n[runners.fast]\nadapter = \"claude\"\ncommand = [\"a\"]\nmodel = \"a\"\npass_env = [\"A\"]\nenv.A = \"b\"\naccount = \"me\"\nisolate = true\npermissions = \"edit\"\nallow = [\"A\"]\ndeny = [\"B\"]\nprofile = \"document\"\nscript = \"a\"\nrecording = \"a\"\nprompt = \"file\"\nlimits.start_s = 1\nlimits.runs = 2\n[accounts.me]\nruns = 1\n[limits]\nruns = 1\n[sandbox]\nmode = true\nwrite = [\"a\"]\n[commands.test]\ncommand = [\"a\"]\ntimeout_s = 1\nmax_bytes = 1\n[workspace]\nbase = \"main\"\nremote = \"origin\"\ncopy = [\".env\"]\nsetup = [\"a\"]\nsetup_timeout_s = 1\nconflict_threshold = 0.25\n[[checks]]\nname = \"test\"\ncommand = [\"a\"]\ntimeout_s = 1\nrequired = true\n[sprint]\nrunner = \"fast\"\nreview_model = \"haiku\"\nhaiku_after_review = 2\nmax_code_review_attempts = 10\nproject_context_max_age_hours = 24\ninjection_warning_kb = 100\ninjection_error_kb = 150\ndefault_max_cycles = 2\nstop = \"cancel\"\nboard = \"a\"\nworkflows = \"a\"\nstory_budget.tokens = 1\nstory_budget.cost_usd = 1.5\nbatch_budget.wall_s = 1\n[sprint.paths]\nimplementation_artifacts = \"a\"\nplanning_artifacts = \"a\"\narchived_artifacts = \"a\"\nproject_context = \"a\"\nsprint_project_context = \"a\"\n[serve]\nport = 6419\nwebsocket_heartbeat_seconds = 30\nbatch_list_limit = 20\n[profiles.coder]\nrunner = \"a\"\nmodel = \"a\"\ndescription = \"a\"\nprompt_template = \"a\"\ndefault_exclude = [\"a\"]\ndefault_write_scope = [\"a\"]\nconfig.x = 1\n";
        Settings::parse(full, FILE).unwrap();
        let table: Value = toml::from_str(full).unwrap();
        callsheet::Schema::parse(SCHEMA, "schema")
            .unwrap()
            .apply(&table)
            .unwrap();
        let names = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                "prompts_dir",
                "max_file_bytes",
                "redact_key",
                "redact",
                "store",
                "project",
                "paths",
                "recipes",
                "scope",
                "adapters",
                "runners",
                "commands",
                "workspace",
                "checks",
                "sprint",
                "serve",
                "runner",
                "accounts",
                "limits",
                "sandbox",
                "profiles"
            ]
        );
        assert_eq!(
            callsheet::profile::Profile::parse_settings(FILE, full)
                .unwrap()
                .len(),
            1
        );
    }
}
