//! Runners: `[runners.NAME]` in `callsheet.toml`, which adapter runs what, with which model, keys and limits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a project sets of one runner; everything has a default but the adapter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Runner {
    /// The adapter; a runner that is called like one needs none.
    pub adapter: Option<String>,
    /// The beginning of the command line: another binary, a wrapper, a container.
    pub command: Option<Vec<String>>,
    /// The model, in the words of the CLI.
    pub model: Option<String>,
    /// The variables that the agent gets from the environment, in the place of the adapter's keys.
    pub pass_env: Option<Vec<String>>,
    /// Variables with their values.
    pub env: BTreeMap<String, String>,
    /// The account; runners of one account share its limits. Without one, the name of the runner.
    pub account: Option<String>,
    /// Whether the CLI gets a state folder of its own.
    pub isolate: Isolate,
    /// What the agent may do without asking.
    pub permissions: Option<Permissions>,
    /// Tools that are allowed, where the CLI takes a list.
    pub allow: Vec<String>,
    /// Tools that are denied, where the CLI takes a list.
    pub deny: Vec<String>,
    /// Other flags of the adapter: a profile of its sheet, such as `document`.
    pub profile: Option<String>,
    /// The script that the adapter `scripted` plays.
    pub script: Option<String>,
    /// The run, or the bundle of one, that the adapter `replay` plays again.
    pub recording: Option<String>,
    /// How the adapter `command` hands the prompt over.
    pub prompt: PromptBy,
    /// How long things may take, and how many at once.
    pub limits: Limits,
}

/// Whether a CLI gets a state folder of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolate {
    /// When a key is passed on; else it has the user's own login and configuration.
    #[default]
    Auto,
    /// Always.
    Yes,
    /// Never.
    No,
}

impl<'de> Deserialize<'de> for Isolate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl serde::de::Visitor<'_> for Word {
            type Value = Isolate;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`\"auto\"`, `true` or `false`")
            }
            fn visit_bool<E>(self, yes: bool) -> Result<Isolate, E> {
                Ok(if yes { Isolate::Yes } else { Isolate::No })
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Isolate, E> {
                match word {
                    "auto" => Ok(Isolate::Auto),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Word)
    }
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// Look, and change nothing.
    Read,
    /// Change files.
    Edit,
    /// Everything, commands included.
    Full,
}

impl Permissions {
    /// Returns the word that is written and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }
}

/// How a program of the user's own gets its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptBy {
    /// On its standard input.
    #[default]
    Stdin,
    /// As a file, whose path stands for `{prompt_file}` in its command line.
    File,
}

/// How long things may take, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds until the first output.
    pub start_s: u64,
    /// Seconds without any output.
    pub idle_s: u64,
    /// Seconds after the final event until the process is gone.
    pub exit_s: u64,
    /// Seconds in all.
    pub total_s: u64,
    /// How many runs of the runner there may be at once.
    pub runs: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_s: 60,
            idle_s: 600,
            exit_s: 20,
            total_s: 5400,
            runs: None,
        }
    }
}
