//! The values that the recipe `messages` prints: policy, persona, blocks.
//!
//! Every value that does not come from a person goes through the mounts first. What the text of a value lost there is
//! an omission; that no real path is left is checked again on the finished prompt.

mod fields;
mod package;
mod parts;
mod persona;
mod printer;
mod user_input;

use serde_json::{Map, Value, json};

use self::fields::Fields;
use self::printer::Printer;
use super::Prepared;
use crate::Error;
use crate::blocks::RunDirective;
use crate::inputs::Root;
use crate::mounts::{Guard, Mount, Mounts};
use crate::policy::{ToolPolicy, merge};

/// The field of the input that holds what a person wrote.
const USER_INPUT: &str = "userInput";

pub(super) fn prepare(
    mut input: Map<String, Value>,
    root: Option<&Root>,
) -> Result<Prepared, Error> {
    let found = package::fill(&mut input, root)?;
    let mounts = found
        .folders
        .into_iter()
        .fold(mounts(&input, root), |mounts, (mount, folder)| {
            mounts.with(mount, &folder)
        });
    let fields = Fields(&input);
    let mode = fields.text("mode").unwrap_or_default();
    let mut printer = Printer::new(&mounts);
    let mut values = Map::new();
    let policy = policy(&fields, &mut printer);
    let completed = mode == "run" && parts::completed(&fields);
    let active = mode == "run" && !completed;
    values.insert("active".to_owned(), json!(active));
    values.insert("policy".to_owned(), json!(policy));
    persona::persona(&fields, mode, &mut printer, &mut values)?;

    let brief = active
        .then(|| parts::brief(&fields, &mut printer))
        .transpose()?;
    let node = brief.as_ref().map(|brief| brief.node_id.clone());
    let mut directive = None;
    if mode == "run" {
        directive = Some(parts::directive(&fields, node.as_deref(), &mut printer)?);
    }
    values.insert("directive".to_owned(), json!(directive));
    values.insert(
        "brief".to_owned(),
        json!(brief.map(|brief| brief.printed())),
    );
    if let Some(data) = parts::data(&fields, &policy, &mut printer) {
        values.insert("data".to_owned(), data);
    }
    let workflow = directive
        .as_ref()
        .map(|run: &RunDirective| run.workflow.as_str());
    let piece = user_input::piece(&fields, mode, node.as_deref(), workflow, &mut printer);
    let omissions = printer.into_omissions();

    let scrub = fields.flag("scrubUserInput");
    let exempt = (!scrub).then_some(USER_INPUT);
    let mut prepared = Prepared {
        fields: input,
        omissions,
        guard: Some(Guard::new(mounts, exempt)),
        ..Prepared::default()
    };
    prepared
        .fields
        .insert("prepared".to_owned(), Value::Object(values));
    let pieces = &mut prepared.pieces;
    pieces.insert(
        "prepared.user_input".to_owned(),
        piece.into_iter().collect(),
    );
    if let Some(persona) = found.persona {
        pieces.insert("agentDefinition.systemPrompt".to_owned(), vec![persona]);
    }
    Ok(prepared)
}

/// Returns the mounts of the folders that the input and the root name.
fn mounts(input: &Map<String, Value>, root: Option<&Root>) -> Mounts {
    let fields = Fields(input);
    let mut mounts = Mounts::new();
    let absolute = |folder: &str| match root {
        Some(root) => root.path().join(folder).display().to_string(),
        None => folder.to_owned(),
    };
    if let Some(folder) = fields.text("projectRoot") {
        mounts = mounts.with(Mount::Project, &absolute(folder));
    }
    if let Some(root) = root {
        for folder in [root.path(), root.real()] {
            mounts = mounts.with(Mount::Project, &folder.display().to_string());
        }
    }
    for (field, what) in [
        ("runtimeStoreRoot", "the runtime store"),
        ("homeDir", "the home folder"),
    ] {
        if let Some(folder) = fields.text(field) {
            mounts = mounts.with_hidden(what, &absolute(folder));
        }
    }
    mounts
}

fn policy(fields: &Fields<'_>, printer: &mut Printer<'_>) -> ToolPolicy {
    let read = |path: &str| -> ToolPolicy {
        let given = fields.get(path).cloned().map(without_nulls);
        // The schema has the same shape, so what it let through can be read.
        given
            .and_then(|given| serde_json::from_value(given).ok())
            .unwrap_or_default()
    };
    let mut policy = merge(&read("toolPolicy"), &read("agentDefinition.tools"));
    for server in policy.mcp.allowed_servers.iter_mut().flatten() {
        *server = printer.value("tool-policy", "allowedServers", server);
    }
    policy
}

/// Null is no value at any depth.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}
