//! The four CLIs, and how each is pointed at the model server.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::model::{Model, USAGE};

/// The variable with the directory of the CLIs.
const AGENTS: &str = "CALLSHEET_TEST_AGENTS";

/// The model that is asked for. No CLI knows it, so each takes it as it is.
pub(crate) const MODEL: &str = "test-model";

/// What every CLI sends as its key.
const KEY: &str = "not-a-key";

/// An agent CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cli {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl Cli {
    /// Returns its name, which is that of its adapter.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Returns the program; none where the CLIs are not installed, which is told and is a failure in CI.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let Some(directory) = std::env::var_os(AGENTS) else {
            let name = self.name();
            let why = format!("{name}: `{AGENTS}` is not set, see `scripts/agents --help`");
            assert!(std::env::var_os("CI").is_none(), "skipped: {why}");
            let _ = writeln!(std::io::stderr(), "skipped: {why}");
            return None;
        };
        Some(PathBuf::from(directory).join(self.name()))
    }

    /// Returns how many tokens an answer costs going in, in the way in which the CLI counts.
    pub(crate) fn input(self) -> u64 {
        match self {
            // What comes from the cache is told apart.
            Self::Claude | Self::Opencode => USAGE.fresh,
            Self::Codex | Self::Gemini => USAGE.fresh + USAGE.cached,
        }
    }

    /// Returns the name of the model, in the words of the CLI.
    pub(crate) fn model(self) -> String {
        match self {
            Self::Opencode => format!("local/{MODEL}"),
            _ => MODEL.to_owned(),
        }
    }

    /// Returns the variables that lead to a model.
    pub(crate) fn env(self, model: &Model<'_>) -> Vec<(&'static str, String)> {
        let key = |name| (name, KEY.to_owned());
        match self {
            Self::Claude => vec![
                ("ANTHROPIC_BASE_URL", model.url()),
                // Only those who have a subscription are told when their quota comes back.
                if model.is_out_of_quota() {
                    key("CLAUDE_CODE_OAUTH_TOKEN")
                } else {
                    key("ANTHROPIC_API_KEY")
                },
                ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
            ],
            Self::Codex => vec![key("CODEX_API_KEY")],
            Self::Gemini => vec![
                ("GOOGLE_GEMINI_BASE_URL", model.url()),
                key("GEMINI_API_KEY"),
            ],
            Self::Opencode => vec![key("OPENAI_API_KEY")],
        }
    }

    /// Returns the arguments that lead to a model, which come first.
    pub(crate) fn arguments(self, model: &Model<'_>) -> Vec<String> {
        let Self::Codex = self else {
            return Vec::new();
        };
        let provider = |setting: &str| format!("model_providers.local.{setting}");
        let settings = [
            r#"model_provider="local""#.to_owned(),
            provider(r#"name="local""#),
            provider(&format!(r#"base_url="{}/v1""#, model.url())),
            provider(r#"env_key="CODEX_API_KEY""#),
            provider(r#"wire_api="responses""#),
            provider("request_max_retries=0"),
            provider("stream_max_retries=0"),
        ];
        let flags = settings.into_iter();
        flags
            .flat_map(|setting| ["-c".to_owned(), setting])
            .collect()
    }

    /// Returns what the settings of the CLI need to lead to a model and to end soon after an error.
    pub(crate) fn settings(self, model: &Model<'_>) -> Value {
        match self {
            Self::Claude | Self::Codex => json!({}),
            Self::Gemini => json!({"general": {"maxAttempts": 1}}),
            Self::Opencode => {
                let limit = json!({"context": 1_000_000, "output": 10_000});
                let url = format!("{}/v1", model.url());
                json!({"provider": {"local": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": url, "apiKey": "{env:OPENAI_API_KEY}"},
                    "models": {MODEL: {"name": MODEL, "tool_call": true, "limit": limit}},
                }}})
            }
        }
    }
}
