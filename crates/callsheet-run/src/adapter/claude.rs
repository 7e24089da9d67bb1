//! Claude Code: `claude -p` with a stream of JSON lines.
//!
//! The system text is a file that the CLI appends to its own prompt, so the user's configuration is never touched.

mod reader;
mod verdict;

use super::draft::draft;
use super::{Adapter, Order, Plan, Reader};
use crate::RunError;

/// The adapter of Claude Code.
pub(super) struct Claude;

impl Adapter for Claude {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        draft(order, order.system.is_some())
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::ClaudeReader::default())
    }
}
