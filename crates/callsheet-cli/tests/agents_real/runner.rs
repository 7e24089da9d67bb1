//! What `callsheet.toml` says so that a runner reaches the model server.

#![expect(
    clippy::unwrap_used,
    reason = "settings that cannot be written fail the test"
)]

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::model::{Model, ModelServer, Scenario};

/// Returns the settings of a runner that is called like its adapter.
///
/// Its key is among its variables, so the CLI has a state directory of its own.
pub(crate) fn runner(cli: Cli, program: &Path, model: &Model<'_>) -> String {
    written(&settings(cli, program, model))
}

/// Returns settings as the text of a `callsheet.toml`, in their order.
pub(crate) fn written(settings: &Value) -> String {
    toml::to_string_pretty(&Plain(settings)).unwrap()
}

/// A value whose numbers are those of any format; those of JSON keep their digits, which TOML does not know.
struct Plain<'a>(&'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, field)| (name, Plain(field))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Number(number) => number.as_i64().unwrap().serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

/// Returns the same as a value.
pub(crate) fn settings(cli: Cli, program: &Path, model: &Model<'_>) -> Value {
    let mut command = vec![program.to_str().unwrap().to_owned()];
    command.extend(cli.arguments(model));
    let env: serde_json::Map<_, _> = cli
        .env(model)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let runner = json!({
        "command": command,
        "model": cli.model(),
        "permissions": "edit",
        "env": env,
    });
    let mut settings = json!({"runners": {cli.name(): runner}});
    let own = cli.settings(model);
    if own != json!({}) {
        settings["adapters"] = json!({cli.name(): {"settings": {"all": own}}});
    }
    settings
}

/// Returns the settings with names that are the same each time.
fn shown(cli: Cli) -> String {
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let settings = runner(cli, Path::new("/agents/cli"), &model);
    settings.replace(&model.url(), "http://MODEL")
}

#[test]
fn claude_is_led_to_the_model() {
    insta::assert_snapshot!(shown(Cli::Claude), @r#"
    [runners.claude]
    command = ["/agents/cli"]
    model = "test-model"
    permissions = "edit"

    [runners.claude.env]
    ANTHROPIC_BASE_URL = "http://MODEL"
    ANTHROPIC_API_KEY = "not-a-key"
    CLAUDE_CODE_MAX_RETRIES = "0"
    "#);
}

#[test]
fn codex_is_led_to_the_model() {
    insta::assert_snapshot!(shown(Cli::Codex), @r#"
    [runners.codex]
    command = [
        "/agents/cli",
        "-c",
        'model_provider="local"',
        "-c",
        'model_providers.local.name="local"',
        "-c",
        'model_providers.local.base_url="http://MODEL/v1"',
        "-c",
        'model_providers.local.env_key="CODEX_API_KEY"',
        "-c",
        'model_providers.local.wire_api="responses"',
        "-c",
        "model_providers.local.request_max_retries=0",
        "-c",
        "model_providers.local.stream_max_retries=0",
    ]
    model = "test-model"
    permissions = "edit"

    [runners.codex.env]
    CODEX_API_KEY = "not-a-key"
    "#);
}

#[test]
fn gemini_is_led_to_the_model() {
    insta::assert_snapshot!(shown(Cli::Gemini), @r#"
    [runners.gemini]
    command = ["/agents/cli"]
    model = "test-model"
    permissions = "edit"

    [runners.gemini.env]
    GOOGLE_GEMINI_BASE_URL = "http://MODEL"
    GEMINI_API_KEY = "not-a-key"

    [adapters.gemini.settings.all.general]
    maxAttempts = 1
    "#);
}

#[test]
fn opencode_is_led_to_the_model() {
    insta::assert_snapshot!(shown(Cli::Opencode), @r#"
    [runners.opencode]
    command = ["/agents/cli"]
    model = "local/test-model"
    permissions = "edit"

    [runners.opencode.env]
    OPENAI_API_KEY = "not-a-key"

    [adapters.opencode.settings.all.provider.local]
    npm = "@ai-sdk/openai-compatible"

    [adapters.opencode.settings.all.provider.local.options]
    baseURL = "http://MODEL/v1"
    apiKey = "{env:OPENAI_API_KEY}"

    [adapters.opencode.settings.all.provider.local.models.test-model]
    name = "test-model"
    tool_call = true

    [adapters.opencode.settings.all.provider.local.models.test-model.limit]
    context = 1000000
    output = 10000
    "#);
}
