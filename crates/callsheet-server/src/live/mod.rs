//! Live events: what is stored is shown at once, wherever it was stored.
//!
//! One task follows the store and hands each event to everybody who listens. A listener who falls behind reads what it
//! missed from the store, so that nobody waits for it and nothing is lost.

mod bus;
mod listener;
mod socket;
mod sse;

pub(crate) use bus::{Bus, wire};
pub(crate) use socket::socket;
pub(crate) use sse::routes;
