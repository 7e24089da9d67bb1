//! The machine of a sprint: what happened goes in, what is to be done comes out.
//!
//! It is one pure function, [`Batch::step`]. The inputs of a batch, in their order, are its journal: whoever folds them again has
//! the same state, and [`Batch::open`] has the actions that were not answered yet. A step's events belong to its input: store
//! them together, and each event is there exactly once.

mod action;
mod agent;
mod answers;
mod batch;
mod cycle;
mod events;
mod input;
mod review;
mod rules;
#[cfg(test)]
mod tests;

pub use crate::sprint::markers::Severity;
pub use action::{Action, AgentOrder, Model, Todo};
pub use batch::{Batch, BatchStatus, Illegal, Step};
pub use cycle::{Cycle, Outcome, Story};
pub use input::{
    ActionId, AgentEnded, Chosen, ContextFound, End, Heard, Input, Merged, PhaseRecord, Spec,
    Spent, Verified,
};
pub use rules::{Budget, Rules, StopPolicy};
