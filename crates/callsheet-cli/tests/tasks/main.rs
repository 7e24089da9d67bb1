//! Tasks with real git and real processes: agents that stay within their scope, agents that do not, and what is left of both.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../exec/desk.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod desk;

mod agents;
mod bench;
mod life;
