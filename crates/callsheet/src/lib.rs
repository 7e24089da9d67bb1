//! Composes the exact prompt that a coding agent gets, and explains every byte of it.

mod error;
pub mod event;
mod fingerprint;
pub mod inputs;
pub mod omission;
mod section;
pub mod text;
pub mod trace;

pub use error::{Error, ErrorKind, Place};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use inputs::Root;
pub use omission::{Omission, Reason};
pub use section::{Priority, Role, Section, Trust, Volatility};
