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

use std::path::Path;

use serde_json::{Map, Value, json};

use self::fields::Fields;
use self::printer::Printer;
use super::{Piece, Prepared, Surroundings};
use crate::blocks::RunDirective;
use crate::inputs::{Located, Root};
use crate::mounts::{Guard, Mount, Mounts, is_windows};
use crate::policy::{ToolPolicy, merge};
use crate::{Error, ErrorKind};

/// The field of the input that holds what a person wrote.
const USER_INPUT: &str = "userInput";

pub(super) fn prepare(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (root, rules) = (around.inputs.root.as_ref(), around.rules);
    let input = &mut prepared.fields;
    let found = package::fill(input, root)?;
    let mounts = found
        .folders
        .into_iter()
        .fold(mounts(input, root), |mounts, (mount, folder)| {
            mounts.with(mount, &folder)
        })
        .with_rules(rules.clone());
    let fields = Fields(input);
    let mut printer = Printer::new(&mounts);
    let (values, piece) = values(fields, &mut printer)?;
    let persona = persona::own_prompt(fields, found.persona, &printer)?;
    prepared.omissions.extend(printer.into_omissions());
    prepared.guard = Some(Guard::new(mounts));
    let fields = &mut prepared.fields;
    fields.insert("prepared".to_owned(), Value::Object(values));
    let pieces = &mut prepared.pieces;
    pieces.insert(
        "prepared.user_input".to_owned(),
        piece.into_iter().collect(),
    );
    pieces.extend(persona.map(|persona| (persona::PROMPT.to_owned(), vec![persona])));
    Ok(())
}

/// Returns what the templates print, and the message of the user's text.
fn values(
    fields: Fields<'_>,
    printer: &mut Printer<'_>,
) -> Result<(Map<String, Value>, Option<Piece>), Error> {
    let mode = fields.text("mode").unwrap_or_default();
    let mut values = Map::new();
    let policy = policy(fields, printer)?;
    let completed = mode == "run" && parts::completed(fields);
    let active = mode == "run" && !completed;
    values.insert("active".to_owned(), json!(active));
    values.insert("policy".to_owned(), json!(policy));
    persona::persona(fields, mode, printer, &mut values)?;
    let brief = active.then(|| parts::brief(fields, printer)).transpose()?;
    let node = brief.as_ref().map(|brief| brief.node_id.clone());
    let mut directive = None;
    if mode == "run" {
        directive = Some(parts::directive(fields, node.as_deref(), printer)?);
    }
    values.insert("directive".to_owned(), json!(directive));
    values.insert(
        "brief".to_owned(),
        json!(brief.map(|brief| brief.printed())),
    );
    if let Some(data) = parts::data(fields, &policy, printer)? {
        values.insert("data".to_owned(), data);
    }
    let run = user_input::Run {
        node: node.as_deref(),
        workflow: directive
            .as_ref()
            .map(|run: &RunDirective| run.workflow.as_str()),
    };
    let piece = user_input::piece(fields, mode, run, printer)?;
    Ok((values, piece))
}

/// Returns the mounts of the folders that the input and the root name.
fn mounts(input: &Map<String, Value>, root: Option<&Root>) -> Mounts {
    let fields = Fields(input);
    let mut mounts = Mounts::new();
    let absolute = |folder: &str| match root.map(|root| (root, root.locate(folder))) {
        Some(_) if is_windows(folder) => folder.to_owned(),
        Some((root, Located::Inside(inner))) if inner == "." => root.path().display().to_string(),
        Some((root, Located::Inside(inner))) => root.path().join(inner).display().to_string(),
        Some((_, Located::Outside(path))) => path.display().to_string(),
        None => folder.to_owned(),
    };
    let project = fields.text("projectRoot").map(absolute);
    if let Some(folder) = &project {
        mounts = mounts.with(Mount::Project, folder);
    }
    let same = |root: &&Root| {
        let paths = [root.path(), root.real()];
        project
            .as_ref()
            .is_none_or(|folder| paths.iter().any(|path| *path == Path::new(folder)))
    };
    if let Some(root) = root.filter(same) {
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

/// Returns what may be used: what the agent itself says, and only what settings allow as well where there are any.
fn policy(fields: Fields<'_>, printer: &mut Printer<'_>) -> Result<ToolPolicy, Error> {
    let read = |path: &str| -> Result<Option<ToolPolicy>, Error> {
        let given = fields.get(path).cloned().map(without_nulls);
        let read = given.map(serde_json::from_value).transpose();
        // The schema has the same shape, but takes `1.0` and any number of digits for an integer.
        read.map_err(|_| {
            let detail = format!("`{path}`: a limit is a whole number of bytes, such as `524288`");
            Error::new(ErrorKind::BadInput, detail)
        })
    };
    let own = read("agentDefinition.tools")?.unwrap_or_default();
    let mut policy = match read("toolPolicy")? {
        Some(settings) => merge(&settings, &own),
        None => own.or_standard(),
    };
    for server in policy.mcp.allowed_servers.iter_mut().flatten() {
        let lists = ["toolPolicy", "agentDefinition.tools"].map(|tools| {
            let list = format!("{tools}.mcp.allowedServers");
            let nth = fields.list(&list).iter().position(|name| name == server);
            nth.map(|nth| format!("{list}[{nth}]"))
        });
        let field = lists.into_iter().flatten().next().unwrap_or_default();
        *server = printer.value("tool-policy", &field, server)?;
    }
    Ok(policy)
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

#[cfg(test)]
mod tests;
