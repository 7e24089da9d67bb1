//! `exec` and the runs it makes, with real processes: agents that behave, agents that do not, and a callsheet that is killed.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

mod accounts;
mod desk;
mod killed;
mod show;
mod stopping;
#[cfg(feature = "otel")]
mod telemetry;
mod torture;
