//! The server from the outside: the real program, asked over HTTP by whoever may and by whoever may not.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../exec/desk.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod desk;

#[path = "../cli/database.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod database;

mod api;
mod client;
mod compose;
mod events;
mod lifecycle;
mod logs;
mod once;
mod openapi;
mod pages;
mod profiles;
mod schemathesis;
mod security;
mod served;
mod server;
mod settings;
mod socket;
mod sprint;
