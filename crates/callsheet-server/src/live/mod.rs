//! Live events: what is stored is shown at once, wherever it was stored.
//!
//! One task follows the store and keeps the latest events in memory, each in its wire form. Listeners take them from there at their own
//! pace, so that nobody waits for a slow one; whoever needs older ones reads them from the store.

mod bus;
mod listener;
mod socket;
mod sse;

pub(crate) use bus::{Bus, wire};
pub(crate) use socket::socket;
pub(crate) use sse::routes;
