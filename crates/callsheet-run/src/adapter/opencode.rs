//! opencode: `opencode run --format json`, with everything that has no flag in the variable `OPENCODE_CONFIG_CONTENT`.
//!
//! That configuration stands over the user's own and leaves it as it is, so a system text needs no state folder.

mod reader;

use toml::Value;

use super::draft::{draft, text};
use super::{Adapter, Order, Plan, Reader};
use crate::RunError;

/// The adapter of opencode.
pub(super) struct Opencode;

impl Adapter for Opencode {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        let mut plan = draft(order, order.system.is_some())?;
        let config = configuration(order)?;
        let config = serde_json::to_string(&config).map_err(|error| {
            RunError::Input(format!("`settings` cannot be written as JSON: {error}"))
        })?;
        plan.env
            .insert("OPENCODE_CONFIG_CONTENT".to_owned(), config);
        Ok(plan)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::OpencodeReader::default())
    }
}

/// Returns the settings of the sheet, with the lists of tools and the file with the system text.
fn configuration(order: &Order<'_>) -> Result<toml::Table, RunError> {
    let mut config = order.sheet.settings(order.permissions);
    for (tools, answer) in [(order.allow, "allow"), (order.deny, "deny")] {
        for tool in tools {
            let permission = config
                .entry("permission")
                .or_insert_with(|| Value::Table(toml::Table::new()));
            let Value::Table(permission) = permission else {
                return Err(RunError::Input(
                    "`settings` of adapter `opencode`: `permission` is not a table".to_owned(),
                ));
            };
            permission.insert(tool.clone(), Value::String(answer.to_owned()));
        }
    }
    if order.system.is_some() {
        let file = Value::String(text(&order.system_file())?);
        match config.get_mut("instructions") {
            Some(Value::Array(files)) => files.push(file),
            _ => {
                config.insert("instructions".to_owned(), Value::Array(vec![file]));
            }
        }
    }
    Ok(config)
}
