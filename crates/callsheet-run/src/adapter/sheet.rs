//! Sheets: what a CLI takes, as data. A project may change any of it in `[adapters.NAME]`.

use std::collections::BTreeMap;

use callsheet::document::plain_words;
use serde::{Deserialize, Serialize};

use crate::launch::StopSignal;
use crate::{Permissions, RunError, SomeLimits};

/// What a CLI takes.
///
/// Lists of arguments have placeholders: `{model}`, `{tools}` (the list, separated by commas), `{prompt_file}`,
/// `{system_file}`, `{cwd}` and `{state}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// The adapter.
    #[serde(default)]
    pub name: String,
    /// The product, for people.
    #[serde(default)]
    pub title: String,
    /// Where to get it, for people.
    #[serde(default)]
    pub install: String,
    /// The beginning of the command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// The arguments that make the CLI print its version.
    #[serde(default)]
    pub version: Vec<String>,
    /// The versions whose output is known.
    #[serde(default)]
    pub versions: Vec<String>,
    /// The arguments that every run has.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The arguments that name the model.
    #[serde(default)]
    pub model: Vec<String>,
    /// The models that people choose from; any other name is passed on too.
    #[serde(default)]
    pub models: Vec<String>,
    /// The arguments that hand the system text over.
    #[serde(default)]
    pub system: Vec<String>,
    /// The arguments that allow tools.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The arguments that deny tools.
    #[serde(default)]
    pub deny: Vec<String>,
    /// The arguments of each permission.
    #[serde(default)]
    pub permissions: BTreeMap<String, Vec<String>>,
    /// The arguments of a permission in the sandbox, where they differ.
    #[serde(default)]
    pub sandbox_permissions: BTreeMap<String, Vec<String>>,
    /// The arguments that come last.
    #[serde(default)]
    pub last: Vec<String>,
    /// Variables that every run has.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables that every run has whose CLI has a state folder of its own; `{state}` is that folder.
    #[serde(default)]
    pub isolated_env: BTreeMap<String, String>,
    /// Variables that every run in the sandbox has.
    #[serde(default)]
    pub sandbox_env: BTreeMap<String, String>,
    /// The folders that the CLI may write in the sandbox when it has no state folder of its own. Paths below the home folder begin
    /// with `~/`, those below what a variable names with `${NAME:-PATH}`, where the path stands in for a variable that is not set.
    #[serde(default)]
    pub state: Vec<String>,
    /// The variables with a key; they are passed on where they are set.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Files that are there when the user has logged in; those below the home folder begin with `~/`.
    #[serde(default)]
    pub logins: Vec<String>,
    /// Further variables that are passed on where they are set, such as the address of the server.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The signal that the CLI takes as a request to stop.
    #[serde(default)]
    pub stop: StopSignal,
    /// The most bytes that a prompt may have.
    #[serde(default)]
    pub most_prompt_bytes: Option<u64>,
    /// How long a run of this CLI may take, where that differs from others.
    #[serde(default)]
    pub limits: SomeLimits,
    /// Settings for the CLI's own configuration: those of `all` runs, and over them those of a permission.
    #[serde(default)]
    pub settings: BTreeMap<String, toml::Table>,
    /// What of the user's own configuration comes along when the CLI has no state folder of its own.
    #[serde(default)]
    pub ambient: Ambient,
    /// Other values of the keys above, under a name that a runner can ask for.
    #[serde(default)]
    pub profiles: BTreeMap<String, toml::Table>,
}

/// Where a CLI finds the user's own instructions, hooks and MCP servers. Paths below the home folder begin with `~/`; all
/// others are below the folder that the agent works in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ambient {
    /// Files with instructions.
    pub instructions: Vec<String>,
    /// Settings files, JSON or TOML, whose table of this name has hooks.
    pub hooks: BTreeMap<String, String>,
    /// Settings files, JSON or TOML, whose table of this name has MCP servers.
    pub mcp_servers: BTreeMap<String, String>,
    /// Those of the files above that the CLI takes from the main checkout too, when it works in a worktree of it.
    pub main: Vec<String>,
}

impl Sheet {
    /// Reads a sheet with what a project changes of it, and a profile of it over that.
    pub fn parse(
        text: &str,
        changes: Option<&toml::Table>,
        profile: Option<&str>,
    ) -> Result<Self, RunError> {
        let mut table = Self::table(text, changes)?;
        if let Some(name) = profile {
            let profiles = table.get("profiles").and_then(toml::Value::as_table);
            let Some(chosen) = profiles
                .and_then(|profiles| profiles.get(name))
                .and_then(toml::Value::as_table)
                .cloned()
            else {
                let known = profiles.into_iter().flatten();
                return Err(RunError::Unknown {
                    what: "adapter profile",
                    name: name.to_owned(),
                    known: known.map(|(name, _)| name.clone()).collect(),
                });
            };
            merge(&mut table, &chosen);
        }
        table.try_into().map_err(|error: toml::de::Error| {
            RunError::Input(plain_words(error.message(), "a table"))
        })
    }

    /// Reads a sheet as a table, with what a project changes of it.
    pub fn table(text: &str, changes: Option<&toml::Table>) -> Result<toml::Table, RunError> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error| RunError::Input(error.to_string()))?;
        if let Some(changes) = changes {
            merge(&mut table, changes);
        }
        Ok(table)
    }

    /// Returns the settings of a permission, over those of all runs.
    pub fn settings(&self, permissions: Permissions) -> toml::Table {
        let mut settings = self.settings.get("all").cloned().unwrap_or_default();
        if let Some(over) = self.settings.get(permissions.as_str()) {
            merge(&mut settings, over);
        }
        settings
    }

    /// Returns the arguments of a permission, in the sandbox or outside of it.
    pub fn permission(&self, permissions: Permissions, is_sandboxed: bool) -> &[String] {
        let name = permissions.as_str();
        let inside = self.sandbox_permissions.get(name).filter(|_| is_sandboxed);
        let arguments = inside.or_else(|| self.permissions.get(name));
        arguments.map_or(&[], Vec::as_slice)
    }
}

/// Puts the values of one table over those of another, tables into tables.
fn merge(table: &mut toml::Table, over: &toml::Table) {
    for (name, value) in over {
        match (table.get_mut(name), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => merge(inner, value),
            _ => {
                table.insert(name.clone(), value.clone());
            }
        }
    }
}
