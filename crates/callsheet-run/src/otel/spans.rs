//! Stored events become spans: a pure translation, one span for the run and one for each tool call.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callsheet_store::{Run, RunState, StoredEvent};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value as Attribute};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use serde_json::Value;

use super::{TraceIds, names};
use crate::document::{Status as RunStatus, document};
use crate::{Class, Usage};

/// The most tool calls of a run that become spans.
const MOST_TOOLS: usize = 5000;

/// The longest text in an attribute or a name: tools and sessions are named by whoever wrote the agent.
const LONGEST: usize = 200;

/// The spans of a run, as far as its events are read.
pub(super) struct Spans {
    ids: TraceIds,
    facts: Value,
    start: i64,
    end: i64,
    tools: Vec<Tool>,
    /// The call that has an id last.
    by_id: BTreeMap<String, usize>,
    left_out: usize,
    cut_short: bool,
}

/// A tool call.
struct Tool {
    seq: i64,
    id: String,
    name: String,
    start: i64,
    end: Option<i64>,
    error: Option<&'static str>,
}

impl Spans {
    /// Begins with a finished run; nothing of one that is not.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let (RunState::Finished, Some(end)) = (run.state, run.finished_at) else {
            return None;
        };
        Some(Self {
            ids: TraceIds::of(run.id),
            facts: document(run),
            start: run.started_at.unwrap_or(run.queued_at),
            end,
            tools: Vec::new(),
            by_id: BTreeMap::new(),
            left_out: 0,
            cut_short: false,
        })
    }

    /// Takes the next event.
    pub(super) fn note(&mut self, stored: &StoredEvent) {
        let payload = &stored.event.payload;
        let word = |field: &str| payload.get(field).and_then(Value::as_str);
        let Some(id) = word("id") else { return };
        match stored.event.kind.as_str() {
            "agent:tool_call" if self.tools.len() >= MOST_TOOLS => self.left_out += 1,
            "agent:tool_call" => {
                self.by_id.insert(id.to_owned(), self.tools.len());
                self.tools.push(Tool {
                    seq: stored.seq,
                    id: cut(id),
                    name: cut(word("name").unwrap_or_default()),
                    start: stored.at,
                    end: None,
                    error: None,
                });
            }
            "agent:tool_result" => {
                let failed = payload.get("ok") == Some(&Value::Bool(false));
                self.close(id, stored.at, failed.then_some(names::TOOL_ERROR));
            }
            "agent:permission_denied" => {
                self.close(id, stored.at, Some(Class::Denied.as_str()));
            }
            _ => {}
        }
    }

    /// Ends a call where nothing has yet; that it was denied says more than that it failed.
    fn close(&mut self, id: &str, at: i64, error: Option<&'static str>) {
        let found = self.by_id.get(id).and_then(|at| self.tools.get_mut(*at));
        let Some(tool) = found else { return };
        let first = tool.end.is_none();
        tool.end.get_or_insert(at);
        if first || error == Some(Class::Denied.as_str()) {
            tool.error = error.or(tool.error);
        }
    }

    /// Notes that there are events which are not read.
    pub(super) fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Returns the spans, that of the run first.
    pub(super) fn done(self) -> Vec<SpanData> {
        let tools = self.tools.iter().map(|tool| self.tool(tool));
        std::iter::once(self.root()).chain(tools).collect()
    }

    fn root(&self) -> SpanData {
        let facts = &self.facts;
        let word = |field: &str| facts.pointer(field).and_then(Value::as_str);
        let number = |field: &str| facts.pointer(field).and_then(Value::as_i64);
        let (adapter, model) = (word("/adapter").unwrap_or_default(), word("/model"));
        let runner = word("/runner").unwrap_or(adapter);
        let class = word("/class").filter(|_| word("/status") == Some(RunStatus::Failed.as_str()));
        let files = facts["changed_files"].as_array().map(Vec::len);

        let mut attributes = Attributes::default();
        attributes.text(names::OPERATION_NAME, Some(names::INVOKE_AGENT));
        attributes.text(names::PROVIDER_NAME, names::provider(adapter, model));
        attributes.text(names::AGENT_NAME, Some(runner));
        attributes.text(names::AGENT_ID, Some(adapter));
        attributes.text(names::AGENT_VERSION, word("/version"));
        attributes.text(names::CONVERSATION_ID, word("/session"));
        attributes.text(names::REQUEST_MODEL, model);
        attributes.text(names::RESPONSE_MODEL, word("/answered_by"));
        self.usage(adapter, &mut attributes);
        attributes.text(names::ERROR_TYPE, class);
        attributes.text(names::RUN_ID, word("/id"));
        attributes.text(names::RUN_STATUS, word("/status"));
        attributes.text(names::RUN_TERMINATION, word("/termination"));
        attributes.any(names::RUN_EXIT_CODE, number("/exit_code"));
        attributes.count(names::RUN_CHANGED_FILES, files);
        attributes.text(names::PROMPT_ID, word("/prompt"));
        attributes.text(
            names::PROMPT_FINGERPRINT,
            word("/delivered/prompt/fingerprint"),
        );
        attributes.text(
            names::SYSTEM_FINGERPRINT,
            word("/delivered/system/fingerprint"),
        );
        let settled = facts["settled"] == true;
        attributes.any(names::RUN_SETTLED, settled.then_some(true));
        let left_out = Some(self.left_out).filter(|count| *count > 0);
        attributes.count(names::TOOLS_LEFT_OUT, left_out);
        attributes.any(names::EVENTS_LEFT_OUT, self.cut_short.then_some(true));
        self.span(
            SpanHeader {
                id: self.ids.root,
                parent: SpanId::INVALID,
                kind: SpanKind::Client,
                times: (self.start, self.end),
            },
            named(names::INVOKE_AGENT, &cut(runner)),
            attributes,
            class,
        )
    }

    fn usage(&self, adapter: &str, attributes: &mut Attributes) {
        let usage = self.facts.get("usage").cloned().unwrap_or_default();
        let Ok(Some(usage)) = serde_json::from_value::<Option<Usage>>(usage) else {
            return;
        };
        let apart = if names::counts_cached_apart(adapter) {
            usage.cached_tokens
        } else {
            0
        };
        let input = usage.input_tokens.saturating_add(apart);
        attributes.count(names::INPUT_TOKENS, Some(input));
        attributes.count(names::OUTPUT_TOKENS, Some(usage.output_tokens));
        attributes.count(names::CACHE_READ_TOKENS, Some(usage.cached_tokens));
        attributes.any(names::RUN_COST, usage.cost_usd);
    }

    fn tool(&self, tool: &Tool) -> SpanData {
        let mut attributes = Attributes::default();
        attributes.text(names::OPERATION_NAME, Some(names::EXECUTE_TOOL));
        attributes.text(names::TOOL_NAME, Some(&tool.name));
        attributes.text(names::TOOL_CALL_ID, Some(&tool.id));
        attributes.text(names::ERROR_TYPE, tool.error);
        // Without a result it lasts as long as the run, which is not a failure of the tool.
        attributes.any(names::TOOL_ANSWERED, tool.end.is_none().then_some(false));
        self.span(
            SpanHeader {
                id: self.ids.child(tool.seq),
                parent: self.ids.root,
                kind: SpanKind::Internal,
                times: (tool.start, tool.end.unwrap_or(self.end)),
            },
            named(names::EXECUTE_TOOL, &tool.name),
            attributes,
            tool.error,
        )
    }

    fn span(
        &self,
        header: SpanHeader,
        name: String,
        attributes: Attributes,
        error: Option<&str>,
    ) -> SpanData {
        let (start, end) = header.times;
        SpanData {
            span_context: SpanContext::new(
                self.ids.trace,
                header.id,
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: header.parent,
            parent_span_is_remote: false,
            span_kind: header.kind,
            name: Cow::Owned(name),
            start_time: time(start),
            end_time: time(end.max(start)),
            attributes: attributes.0,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: error.map_or(Status::Unset, |class| Status::error(class.to_owned())),
            instrumentation_scope: scope(),
        }
    }
}

/// Where a span stands.
struct SpanHeader {
    id: SpanId,
    parent: SpanId,
    kind: SpanKind,
    /// Start and end, in milliseconds since 1970.
    times: (i64, i64),
}

/// The attributes of a span; what is not known is not there.
#[derive(Default)]
struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn text(&mut self, name: &'static str, value: Option<&str>) {
        let value = value.filter(|value| !value.is_empty());
        self.any(name, value.map(cut));
    }

    fn count(&mut self, name: &'static str, value: Option<impl TryInto<i64>>) {
        let value = value.map(|value| value.try_into().unwrap_or(i64::MAX));
        self.any(name, value);
    }

    fn any(&mut self, name: &'static str, value: Option<impl Into<Attribute>>) {
        if let Some(value) = value {
            self.0.push(KeyValue::new(name, value));
        }
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("callsheet")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url(names::SCHEMA_URL)
        .build()
}

fn named(operation: &str, what: &str) -> String {
    format!("{operation} {what}").trim_end().to_owned()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn time(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
