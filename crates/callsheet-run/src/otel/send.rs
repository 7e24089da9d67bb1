//! The sending edge: spans go to the receiver that the environment names, within a given time, once.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use callsheet_store::Wait;
use opentelemetry::Key;
use opentelemetry_otlp::{
    Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};

use super::endpoint;

/// The service that spans are of, unless the environment names another.
const SERVICE: &str = "callsheet";

/// Sends spans and waits for the answer, but not longer than `most`.
pub(super) fn send(
    spans: Vec<SpanData>,
    environment: &BTreeMap<String, String>,
    most: Duration,
) -> Result<(), String> {
    let protocol = protocol(environment)?;
    let endpoint = endpoint(environment).unwrap_or_default().to_owned();
    check_scheme(&endpoint)?;
    let (answer, heard) = mpsc::channel();
    // A receiver may accept a connection and never answer: the thread is left behind, and ends by the exporter's own limit.
    let thread = std::thread::Builder::new().name("otel".to_owned());
    thread
        .spawn(move || {
            let _ = answer.send(post(spans, protocol));
        })
        .map_err(|cause| cause.to_string())?;
    match heard.recv_timeout(most) {
        // An address may have a password in it.
        Ok(answer) => answer.map_err(|why| why.replace(&endpoint, "…")),
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("no answer within {} s", super::PATIENCE.as_secs()))
        }
        Err(RecvTimeoutError::Disconnected) => Err("the exporter broke".to_owned()),
    }
}

/// Says what is missing, where the client would call any failure a network error.
fn check_scheme(endpoint: &str) -> Result<(), String> {
    let encrypted = endpoint
        .get(..8)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    if encrypted && !cfg!(feature = "otel-tls") {
        return Err("this build has no TLS; the Cargo feature `otel-tls` adds it".to_owned());
    }
    Ok(())
}

/// Returns the protocol that the environment asks for; without one, what OpenTelemetry has as its default.
fn protocol(environment: &BTreeMap<String, String>) -> Result<Protocol, String> {
    let names = [
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ];
    let mut set = names
        .iter()
        .filter_map(|name| Some((name, environment.get(*name)?.trim())))
        .filter(|(_, value)| !value.is_empty());
    match set.next() {
        None | Some((_, "http/protobuf")) => Ok(Protocol::HttpBinary),
        Some((_, "http/json")) => Ok(Protocol::HttpJson),
        Some((name, other)) => Err(format!(
            "{name} is `{other}`; this build sends `http/protobuf` and `http/json`"
        )),
    }
}

fn post(spans: Vec<SpanData>, protocol: Protocol) -> Result<(), String> {
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(protocol)
        // Whoever waits for the run should not wait for a second try.
        .with_retry_policy(RetryPolicy::disabled())
        .build()
        .map_err(|error| error.to_string())?;
    exporter.set_resource(&resource());
    exporter.export(spans).wait().map_err(|error| match error {
        OTelSdkError::InternalFailure(why) => why,
        other => other.to_string(),
    })
}

/// Returns what the environment says of this service.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let name = found.get(&Key::from_static_str("service.name"));
    let named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if named {
        return found;
    }
    Resource::builder().with_service_name(SERVICE).build()
}
