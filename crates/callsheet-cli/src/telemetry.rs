//! Telemetry: finished runs go to the OpenTelemetry receiver that the environment names, in builds with the feature `otel`.
//!
//! A receiver that fails costs a warning, and changes neither the run nor the exit code.

use callsheet_store::Run;

use crate::output::Output;
use crate::store::Opened;

/// Exports finished runs.
#[cfg(feature = "otel")]
pub(crate) fn export(opened: &Opened, runs: &[Run], out: Output) {
    let environment = crate::run::environment();
    if let Err(error) = callsheet_run::otel::export(&opened.store, runs, &environment) {
        out.warn(&error.to_string());
    }
}

/// Does nothing: this build has no exporter.
#[cfg(not(feature = "otel"))]
pub(crate) fn export(_: &Opened, _: &[Run], _: Output) {}
