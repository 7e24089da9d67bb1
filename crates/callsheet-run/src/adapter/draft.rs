//! What all launch plans have in common: arguments of the sheet with their placeholders filled.

use std::path::{Path, PathBuf};

use super::{Order, Plan};
use crate::RunError;

/// Returns the plan that the sheet gives; `system` says whether its arguments for the system text are used.
pub(super) fn draft(order: &Order<'_>, system: bool) -> Result<Plan, RunError> {
    let sheet = order.sheet;
    let mut argv = order.command.to_vec();
    let mut push = |arguments: &[String], value: Option<(&str, &str)>| -> Result<(), RunError> {
        for argument in arguments {
            argv.push(fill(argument, order, value)?);
        }
        Ok(())
    };
    push(&sheet.arguments, None)?;
    if let Some(model) = order.model {
        push(&sheet.model, Some(("{model}", model)))?;
    }
    push(sheet.permission(order.permissions, order.sandboxed), None)?;
    for (tools, arguments) in [(order.allow, &sheet.allow), (order.deny, &sheet.deny)] {
        if !tools.is_empty() {
            push(arguments, Some(("{tools}", &tools.join(","))))?;
        }
    }
    if system {
        push(&sheet.system, None)?;
    }
    push(&sheet.last, None)?;
    let mut plan = Plan {
        argv,
        env: sheet.env.clone(),
        prompt_on_stdin: true,
        files: std::collections::BTreeMap::new(),
        stop: sheet.stop,
        trims_system: false,
        notes: Vec::new(),
    };
    if order.sandboxed {
        plan.env.extend(sheet.sandbox_env.clone());
    }
    // What the runner sets stands over what the sheet sets.
    plan.env.retain(|name, _| !order.env.contains_key(name));
    if order.isolate {
        for (name, value) in &sheet.isolated_env {
            plan.env.insert(name.clone(), fill(value, order, None)?);
        }
    }
    Ok(plan)
}

/// Adds a note for each list of tools that the CLI does not take.
pub(super) fn note_lists(plan: &mut Plan, order: &Order<'_>) {
    let sheet = order.sheet;
    for (name, tools, arguments) in [
        ("allow", order.allow, &sheet.allow),
        ("deny", order.deny, &sheet.deny),
    ] {
        if !tools.is_empty() && arguments.is_empty() {
            plan.notes.push(format!(
                "`{name}` has no effect: {} takes no list of tools",
                sheet.title
            ));
        }
    }
}

/// Fills the placeholders of one argument, in one pass: what a value brings is never filled again.
fn fill(
    argument: &str,
    order: &Order<'_>,
    value: Option<(&str, &str)>,
) -> Result<String, RunError> {
    let mut filled = String::new();
    let mut left = argument;
    while let Some(at) = left.find('{') {
        filled.push_str(&left[..at]);
        left = &left[at..];
        let name = &left[..left.find('}').map_or(1, |end| end + 1)];
        match (name, value) {
            ("{prompt_file}", _) => filled.push_str(&text(&order.prompt_file())?),
            ("{system_file}", _) => filled.push_str(&text(&order.system_file())?),
            ("{cwd}", _) => filled.push_str(&text(order.cwd)?),
            ("{state}", _) => filled.push_str(&text(&order.state_folder())?),
            (name, Some((known, value))) if name == known => filled.push_str(value),
            // Braces that are not a placeholder, such as those of JSON, stay.
            _ => {
                filled.push('{');
                left = &left[1..];
                continue;
            }
        }
        left = &left[name.len()..];
    }
    filled.push_str(left);
    Ok(filled)
}

/// Returns a path as the text that an argument or a variable can carry.
pub(super) fn text(path: &Path) -> Result<String, RunError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| RunError::Input(format!("the path `{}` is not UTF-8", path.display())))
}

/// Returns the error of a system text that only a state folder of the run's own can take.
pub(super) fn needs_isolation(title: &str, keys: &[String]) -> RunError {
    let key = keys.first().map_or("a key", String::as_str);
    RunError::Input(format!(
        "{title} takes a system text only in a state folder of its own: set `isolate = true`, or pass `{key}` on"
    ))
}

/// Returns the JSON text of settings.
pub(super) fn json(settings: &toml::Table) -> Result<String, RunError> {
    serde_json::to_string_pretty(settings)
        .map(|text| format!("{text}\n"))
        .map_err(|error| RunError::Input(format!("`settings` cannot be written as JSON: {error}")))
}

/// Adds a private file to a plan.
pub(super) fn file(plan: &mut Plan, path: PathBuf, text: impl Into<String>) {
    plan.files.insert(path, text.into());
}
