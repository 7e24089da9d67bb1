//! The mechanical merge: a result goes to its base without an agent, or everything stays as it was.
//!
//! The merge is made of objects alone, then checked, and only then the base moves, in one step. Where the base is checked
//! out, its files and its index follow. Nothing is ever resolved by guessing, and no local change is overwritten.

mod advance;
mod difference;
mod journal;
mod land;
mod obstacle;
mod restore;

pub use advance::heal;
pub(crate) use advance::{heal_left, is_moving};
pub(crate) use land::titled;
pub use land::{Merged, Order, merge, message};

#[cfg(test)]
mod tests;
