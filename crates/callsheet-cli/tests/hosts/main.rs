//! Hosts that share one PostgreSQL: each in a network, a process and a host name of its own, with a clone of its own.
//!
//! Workers are killed and cables are pulled, on real leases. Needs root, iproute2 and util-linux; where that is missing, a line says so.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

mod chaos;
mod cut;
mod network;
mod queue;
mod team;
