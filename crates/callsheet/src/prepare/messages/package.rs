//! What a package and a state folder say, as fields of the input.

use serde_json::{Map, Value};

use crate::Error;
use crate::inputs::Root;
use crate::mounts::Mount;
use crate::prepare::Piece;

/// What was read besides fields.
#[derive(Default)]
pub(super) struct Found {
    /// The folders behind mounts.
    pub(super) folders: Vec<(Mount, String)>,
    /// The agent's own prompt, with the file it came from.
    pub(super) persona: Option<Piece>,
}

pub(super) fn fill(_: &mut Map<String, Value>, _: Option<&Root>) -> Result<Found, Error> {
    Ok(Found::default())
}
