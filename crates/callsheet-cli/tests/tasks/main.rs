//! Tasks with real git and real processes: what there is to do, what agents make of it, and what is left of both.

#[path = "../cli/project.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod project;

#[path = "../exec/desk.rs"]
#[expect(dead_code, reason = "other tests use what these do not")]
mod desk;

mod add;
mod agents;
mod bench;
mod board;
mod depend;
mod edges;
mod held;
mod killed;
mod life;
mod status;
mod worker;
