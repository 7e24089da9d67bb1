//! `exec` and the runs it makes, with real processes: agents that behave, agents that do not, and a callsheet that is killed.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../cli/database.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod database;

mod accounts;
mod desk;
mod doctor;
mod follow;
mod killed;
mod pauses;
mod sandbox;
mod server;
mod show;
mod stopping;
#[cfg(feature = "otel")]
mod telemetry;
mod torture;
