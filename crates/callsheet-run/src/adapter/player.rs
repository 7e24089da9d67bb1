//! The launch plan of adapters that play: this program again, with what it plays.

use std::collections::BTreeMap;

use crate::RunError;
use crate::adapter::{Order, Plan};

/// Returns how this program is started as the player of an adapter.
pub(super) fn plan(order: &Order<'_>, adapter: &str, flag: &str) -> Result<Plan, RunError> {
    let script = order
        .script
        .ok_or_else(|| RunError::Input(format!("adapter `{adapter}` has nothing to play")))?;
    let program = order.program.display().to_string();
    let script = script.display().to_string();
    let mut notes = Vec::new();
    if order.system.is_some() {
        notes.push(format!("adapter `{adapter}` does not read the system text"));
    }
    Ok(Plan {
        argv: vec![program, "play".to_owned(), flag.to_owned(), script],
        env: BTreeMap::new(),
        prompt_on_stdin: true,
        files: BTreeMap::new(),
        stop: order.sheet.stop,
        trims_system: false,
        notes,
    })
}
