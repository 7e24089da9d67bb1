//! `serve` from the outside: requests to the real program, over real connections.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../cli/database.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod database;

mod client;
mod compose;
mod events;
mod openapi;
mod schemathesis;
mod served;
mod settings;
mod socket;
mod sprint;
