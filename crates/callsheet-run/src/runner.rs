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
    /// The run that the adapter `replay` plays again.
    pub recording: Option<String>,
    /// How the adapter `command` hands the prompt over.
    pub prompt: PromptBy,
    /// How long things may take, and how many at once.
    pub limits: SomeLimits,
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
        auto_or_bool(deserializer).map(|word| match word {
            None => Self::Auto,
            Some(true) => Self::Yes,
            Some(false) => Self::No,
        })
    }
}

/// Reads `"auto"`, which is nothing, or a boolean.
pub(crate) fn auto_or_bool<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bool>, D::Error> {
    struct Word;
    impl serde::de::Visitor<'_> for Word {
        type Value = Option<bool>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("`\"auto\"`, `true` or `false`")
        }
        fn visit_bool<E>(self, yes: bool) -> Result<Option<bool>, E> {
            Ok(Some(yes))
        }
        fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Option<bool>, E> {
            match word {
                "auto" => Ok(None),
                _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
            }
        }
    }
    deserializer.deserialize_any(Word)
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
    /// Returns what an agent may do: what its runner sets, else everything in the sandbox, and outside of it changing files.
    pub fn of(set: Option<Self>, is_sandboxed: bool) -> Self {
        set.unwrap_or(if is_sandboxed { Self::Full } else { Self::Edit })
    }

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

/// What a project or an adapter sets of the limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SomeLimits {
    /// Seconds until the first output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_s: Option<u64>,
    /// Seconds without any output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<u64>,
    /// Seconds after the final event until the process is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_s: Option<u64>,
    /// Seconds in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_s: Option<u64>,
    /// Megabytes of output, both streams together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_mb: Option<u64>,
    /// How many runs of the runner there may be at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
}

/// How long a run may take, and how much it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Seconds until the first output.
    pub start_s: u64,
    /// Seconds without any output.
    pub idle_s: u64,
    /// Seconds after the final event until the process is gone.
    pub exit_s: u64,
    /// Seconds in all.
    pub total_s: u64,
    /// Megabytes of output, both streams together.
    pub output_mb: u64,
}

impl Limits {
    /// Returns how many bytes a run may write.
    pub fn output_bytes(&self) -> u64 {
        self.output_mb.saturating_mul(1_000_000)
    }

    /// Returns the limits of a run: what the runner sets, else what the adapter sets, else a default.
    pub fn of(runner: &SomeLimits, adapter: &SomeLimits) -> Self {
        let or = |one: Option<u64>, other: Option<u64>, default| one.or(other).unwrap_or(default);
        Self {
            start_s: or(runner.start_s, adapter.start_s, 60),
            idle_s: or(runner.idle_s, adapter.idle_s, 600),
            exit_s: or(runner.exit_s, adapter.exit_s, 20),
            total_s: or(runner.total_s, adapter.total_s, 5400),
            output_mb: or(runner.output_mb, adapter.output_mb, 4096),
        }
    }
}
