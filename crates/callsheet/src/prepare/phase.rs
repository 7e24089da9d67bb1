//! A phase of a sprint: the files that belong to its stories, and the project's own workflow of its command.
//!
//! A workflow that is there is used or is an error; it is never passed over. Nothing outside of the root is read, and
//! `{project-root}` is `.`, so that the place of the project shows nowhere.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::injection::folder_path;
use super::{Piece, Prepared, Surroundings};
use crate::inputs::{FileText, Located, Root, TextRule};
use crate::omission::{Reason, Refusal};
use crate::source::{lookup, strings};
use crate::template::interpolate;
use crate::trace::{Traced, Transform};
use crate::workflow::{self, Names, Resolved};
use crate::{Error, ErrorKind, Event};

/// The file that makes a folder a workflow.
const FILE: &str = "workflow.yaml";

/// The files that its instructions are in where it does not say so itself.
const INSTRUCTIONS: [&str; 2] = ["instructions.xml", "instructions.md"];

/// Where projects keep the workflow of a command.
const HOMES: [&str; 3] = [
    "_bmad/bmm/workflows/4-implementation/sprint-runner/commands",
    "_bmad/bmm/workflows/4-implementation",
    "_bmad/bmm/workflows",
];

/// Adds the field `workflow`: whether the project has a workflow of the command, and its variables.
pub(super) fn workflow(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (root, fields) = (around.root()?, &mut prepared.fields);
    if fields.contains_key("story_keys") {
        let epic = strings(fields, "story_keys")
            .first()
            .map(|key| workflow::epic_id(key));
        let epic = Value::from(epic.unwrap_or_default());
        fields.entry("epic_id").or_insert(epic);
    }
    let found = match folder(&prepared.fields, root)? {
        Some(folder) => {
            let values = of_input(&prepared.fields);
            let (piece, found, events) = read(&folder, &values, root)?;
            let pieces = vec![piece];
            prepared
                .pieces
                .insert("workflow.instructions".to_owned(), pieces);
            prepared.events.extend(events);
            found
        }
        None => json!({"found": false}),
    };
    prepared.fields.insert("workflow".to_owned(), found);
    Ok(())
}

/// Returns the folder of the workflow that the project has for the command.
fn folder(fields: &Map<String, Value>, root: &Root) -> Result<Option<String>, Error> {
    let text = |path: &str| lookup(fields, path).and_then(Value::as_str);
    if text("workflow") != Some("project") {
        return Ok(None);
    }
    let command = text("command_name").unwrap_or_default();
    if matches!(command, "" | "." | "..") || command.contains(['/', '\\']) {
        let detail = format!("`command_name`: `{command}` is not the name of a command");
        return Err(Error::new(ErrorKind::BadInput, detail));
    }
    let homes = match text("paths.workflows") {
        Some(home) => vec![folder_path(root, home, "paths.workflows")?],
        None => HOMES.map(str::to_owned).to_vec(),
    };
    let mut folders = homes.into_iter().map(|home| format!("{home}/{command}"));
    Ok(folders.find(|folder| root.has(&format!("{folder}/{FILE}"))))
}

/// Returns the values that the input gives to a workflow.
fn of_input(fields: &Map<String, Value>) -> BTreeMap<String, String> {
    let keys: Vec<String> = strings(fields, "story_keys")
        .into_iter()
        .map(str::to_owned)
        .collect();
    let text = |path: &str| {
        let value = lookup(fields, path)?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    };
    let mut values = BTreeMap::new();
    if let Some(first) = keys.first() {
        values.insert("story_key", first.clone());
        values.insert("story_keys", keys.join(","));
    }
    values.extend(text("epic_id").map(|epic| ("epic_id", epic)));
    let attempt = text("review_attempt").unwrap_or_else(|| "1".to_owned());
    values.insert("review_attempt", attempt);
    let named = values.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Reads a workflow: its instructions with everything filled in, and what a template says about it.
fn read(
    folder: &str,
    given: &BTreeMap<String, String>,
    root: &Root,
) -> Result<(Piece, Value, Vec<Event>), Error> {
    let file = format!("{folder}/{FILE}");
    let text = read_text(root, &file)?.body.text().to_owned();
    let known = BTreeMap::from([("project-root".to_owned(), ".".to_owned())]);
    let config = |path: &str| match root.locate(path) {
        Located::Inside(path) => match read_text(root, &path) {
            Ok(file) => Ok(file.body.text().to_owned()),
            Err(error) => Err(error.detail().to_owned()),
        },
        Located::Outside(_) => Err(Reason::OutsideRoot.sentence().to_owned()),
    };
    let names = Names {
        given,
        known: &known,
    };
    let resolved = workflow::resolve(&text, &file, names, &config)?;
    let mut events = problems(&resolved, &file)?;
    let values = all_values(&resolved, given, &known);
    let path = instructions_path(folder, &file, &values, root)?;
    let instructions = read_text(root, &path)?;
    let filled = workflow::fill(instructions.body.text(), &path, &values, &config)?;
    events.extend(filled.missing.iter().map(|name| {
        let message = format!("`{{{{{name}}}}}` in `{path}` has no value");
        let facts = [
            ("template", Value::from(path.as_str())),
            ("name", Value::from(name.as_str())),
        ];
        Event::new("template:missing", facts, message)
    }));
    let source = instructions.source;
    let body = Traced::transformed(filled.text, &source, source.len, Transform::Rendered);
    let piece = Piece {
        name: path,
        body,
        source,
    };
    let variables: Vec<Value> = resolved
        .values
        .iter()
        .filter(|(key, _)| !resolved.supplied.contains(key))
        .map(|(key, _)| key.strip_prefix("variables.").unwrap_or(key))
        .filter_map(|name| Some(json!({"name": name, "value": shown(values.get(name)?)})))
        .collect();
    let found = json!({"found": true, "file": file, "variables": variables});
    Ok((piece, found, events))
}

/// Returns every value by its name: what the input gives, then the variables, then the keys of the file.
fn all_values(
    resolved: &Resolved,
    given: &BTreeMap<String, String>,
    known: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut values = known.clone();
    let filled = |text: &str| interpolate(text, |name| given.get(name).cloned());
    let (variables, keys): (Vec<_>, Vec<_>) = resolved
        .values
        .iter()
        .partition(|(key, _)| key.starts_with("variables."));
    for (key, text) in keys.into_iter().chain(variables) {
        let name = key.strip_prefix("variables.").unwrap_or(key);
        values.insert(name.to_owned(), filled(text));
    }
    values.extend(given.clone());
    values
}

/// Turns what could not be resolved into events; a required variable without a value is an error.
fn problems(resolved: &Resolved, file: &str) -> Result<Vec<Event>, Error> {
    if let Some(open) = resolved.open.iter().find(|open| open.required) {
        let detail = format!("the workflow requires `{}`, which has no value", open.name);
        return Err(Error::new(ErrorKind::BadInput, detail).at(file, open.line));
    }
    let event = |key: &str, what: &str| {
        let facts = [("file", Value::from(file)), ("key", Value::from(key))];
        let message = format!("{file}: `{key}`: {what}");
        Event::new("workflow:unresolved", facts, message)
    };
    let open = resolved.open.iter();
    let open = open.map(|open| event(&open.key, &format!("`{}` has no value", open.name)));
    let problems = resolved.problems.iter();
    let problems = problems.map(|problem| event(&problem.key, &problem.message));
    Ok(open.chain(problems).collect())
}

fn instructions_path(
    folder: &str,
    file: &str,
    values: &BTreeMap<String, String>,
    root: &Root,
) -> Result<String, Error> {
    if let Some(named) = values.get("instructions").filter(|named| !named.is_empty()) {
        return match root.locate(named) {
            Located::Inside(path) => Ok(path),
            Located::Outside(_) => {
                let detail = format!("`instructions`: `{named}` leads out of the root");
                Err(Error::new(ErrorKind::BadInput, detail).at(file, None))
            }
        };
    }
    let mut beside = INSTRUCTIONS
        .map(|name| format!("{folder}/{name}"))
        .into_iter();
    beside.find(|path| root.has(path)).ok_or_else(|| {
        let names = INSTRUCTIONS.join("` or `");
        let detail = format!("the workflow has no instructions: neither the key `instructions` nor `{names}` beside it");
        Error::new(ErrorKind::BadInput, detail).at(file, None)
    })
}

fn read_text(root: &Root, path: &str) -> Result<FileText, Error> {
    FileText::read(root, path, path, TextRule::Utf8).map_err(
        |Refusal { reason, detail, .. }| {
            let mut sentence = reason.sentence().to_owned();
            if !detail.is_empty() {
                sentence = format!("{sentence}: {detail}");
            }
            Error::new(ErrorKind::BadInput, sentence).at(path, None)
        },
    )
}

/// Returns a value on one line, so that it cannot look like anything else.
fn shown(value: &str) -> String {
    if value.contains(char::is_control) {
        Value::from(value).to_string()
    } else {
        value.to_owned()
    }
}
