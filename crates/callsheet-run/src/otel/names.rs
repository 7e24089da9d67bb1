//! The names of spans and attributes: OpenTelemetry's for generative AI, and our own under `callsheet.`.
//!
//! Pinned to the semantic conventions of OpenTelemetry 1.42 (`docs/gen-ai/gen-ai-agent-spans.md`), whose status is
//! Development. They have since moved to `open-telemetry/semantic-conventions-genai`, under the same names. When they
//! change, they change here.

/// The schema of the conventions that the names are from.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

pub(super) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(super) const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const AGENT_VERSION: &str = "gen_ai.agent.version";
pub(super) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const ERROR_TYPE: &str = "error.type";

/// What `error.type` says of a tool that failed.
pub(super) const TOOL_ERROR: &str = "tool_error";

pub(super) const RUN_ID: &str = "callsheet.run.id";
pub(super) const RUN_STATUS: &str = "callsheet.run.status";
pub(super) const RUN_TERMINATION: &str = "callsheet.run.termination";
pub(super) const RUN_EXIT_CODE: &str = "callsheet.run.exit_code";
pub(super) const RUN_CHANGED_FILES: &str = "callsheet.run.changed_files";
pub(super) const RUN_COST: &str = "callsheet.run.cost_usd";
pub(super) const RUN_SETTLED: &str = "callsheet.run.settled";
pub(super) const PROMPT_ID: &str = "callsheet.prompt.id";
pub(super) const PROMPT_FINGERPRINT: &str = "callsheet.prompt.fingerprint";
pub(super) const SYSTEM_FINGERPRINT: &str = "callsheet.system.fingerprint";
pub(super) const TOOLS_LEFT_OUT: &str = "callsheet.tools.left_out";
pub(super) const EVENTS_LEFT_OUT: &str = "callsheet.events.left_out";
pub(super) const TOOL_ANSWERED: &str = "callsheet.tool.answered";

/// Returns the provider that the models of an adapter come from; nothing where that is not known.
pub(super) fn provider<'a>(adapter: &str, model: Option<&'a str>) -> Option<&'a str> {
    match adapter {
        "claude" => Some("anthropic"),
        "codex" => Some("openai"),
        "gemini" => Some("gcp.gemini"),
        // Its models are `PROVIDER/MODEL`.
        "opencode" => model?.split_once('/').map(|(provider, _)| match provider {
            "amazon-bedrock" => "aws.bedrock",
            "google" => "gcp.gemini",
            "google-vertex" => "gcp.vertex_ai",
            "mistral" => "mistral_ai",
            "xai" => "x_ai",
            other => other,
        }),
        _ => None,
    }
}

/// Tells whether the input tokens of an adapter are without those that the provider's cache answered.
///
/// The conventions count them among the input.
pub(super) fn counts_cached_apart(adapter: &str) -> bool {
    matches!(adapter, "claude" | "opencode")
}
