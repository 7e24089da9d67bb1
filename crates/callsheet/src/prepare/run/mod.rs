//! The prompt of one run: role, task, scope and the facts of the run before, as lines.
//!
//! What a person or an agent wrote is made harmless, lists are sorted where their order means nothing, and paths are
//! checked. Nothing here reads a file, and nothing that differs from run to run (ids, times, folders) is printed.

mod digest;
mod input;
mod lines;
mod paths;
mod role;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::input::RunInput;
pub(crate) use self::paths::relative as relative_path;

use self::lines::{Entry, Lines, block};
use super::{Piece, Prepared, Surroundings};
use crate::scope::ScopeGlobs;
use crate::{Error, ErrorKind};

pub(super) fn prepare(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let input = RunInput::read(&prepared.fields)?;
    let pieces = &mut prepared.pieces;
    let mut add = |name: &str, piece: Option<Piece>| {
        pieces.insert(format!("run.{name}"), piece.into_iter().collect());
    };
    let role = role::piece(&input)?;
    let has_role = role.is_some();
    add("role", role);
    add("task", Some(task(&input)));
    let description = input.task.description.as_deref();
    add(
        "description",
        description.and_then(|text| block("task.description", text)),
    );
    add("done_when", done_when(&input));
    add("additional_input", additional_input(&input)?);
    add("read_first", read_first(&input)?);
    add("constraints", Some(constraints(&input)?));
    add(
        "prohibited",
        listed(
            "- prohibited: ",
            "scope.prohibited",
            &input.scope.prohibited,
        ),
    );
    add(
        "needs_approval",
        listed(
            "- needs approval: ",
            "scope.needs_approval",
            &input.scope.needs_approval,
        ),
    );
    for name in digest::NAMES {
        add(name, None);
    }
    if let Some(previous) = &input.previous {
        let digest = digest::digest(previous)?;
        prepared.omissions.extend(digest.omissions);
        for (name, piece) in digest.pieces {
            add(name, piece);
        }
    }
    record(&mut prepared.fields, &input, has_role);
    Ok(())
}

/// Writes what counts in the end into the fields: conditions look at them, and they are what was composed from.
fn record(fields: &mut Map<String, Value>, input: &RunInput, has_role: bool) {
    let role = input
        .role()
        .filter(|_| has_role)
        .map_or("", |(_, text)| text);
    fields.insert("role".to_owned(), json!({"prompt_template": role}));
    let environment = input.environment();
    fields.insert("environment".to_owned(), json!(environment));
    fields.entry("previous").or_insert(Value::Null);
}

fn task(input: &RunInput) -> Piece {
    let task = &input.task;
    let mut lines = Lines::default();
    lines.value("- id: ", &Entry::new("task.id", task.id.text()));
    lines.value("- title: ", &Entry::new("task.title", &task.title));
    let scope = Entry::list("task.write_scope", &task.write_scope);
    if !scope.is_empty() {
        lines.joined("- write_scope: ", &scope);
    }
    lines.piece("task")
}

fn done_when(input: &RunInput) -> Option<Piece> {
    let entries = Entry::list("task.done_when", &input.task.done_when);
    let mut lines = Lines::default();
    if !entries.is_empty() {
        lines.fixed("Done when:");
    }
    for entry in &entries {
        lines.value("- ", entry);
    }
    lines.some("task.done_when")
}

/// More input belongs to a continued run and to no other.
fn additional_input(input: &RunInput) -> Result<Option<Piece>, Error> {
    const FIELD: &str = "additional_input";
    let bad = |detail: &str| Err(Error::new(ErrorKind::BadInput, detail));
    match (input.continues(), input.additional_input.as_deref()) {
        (false, None) => Ok(None),
        (false, Some(_)) => bad("`additional_input` is for `previous.kind` `continue` only"),
        (true, None) => {
            bad("missing field `additional_input`; `previous.kind` `continue` needs it")
        }
        (true, Some(text)) if crate::text::strip(text).is_empty() => {
            bad("`additional_input` must not be blank")
        }
        (true, Some(text)) => Ok(Some(lines::verbatim(FIELD, text))),
    }
}

fn read_first(input: &RunInput) -> Result<Option<Piece>, Error> {
    let mut sorted = BTreeMap::new();
    for (field, path) in input.read_first() {
        let normal = paths::entry_point(&field, path)?;
        sorted.entry(normal).or_insert((field, path));
    }
    let mut lines = Lines::default();
    for (normal, (field, path)) in sorted {
        lines.value("- ", &Entry::converted(field, path, &normal));
    }
    Ok(lines.some("read_first"))
}

fn constraints(input: &RunInput) -> Result<Piece, Error> {
    ScopeGlobs::new("task.write_scope", &input.task.write_scope)?;
    let (field, write) = input.write();
    ScopeGlobs::new(field, write)?;
    let mut lines = Lines::default();
    let write = Entry::sorted(Entry::list(field, write));
    for entry in &write {
        lines.value("- write: ", entry);
    }
    if write.is_empty() {
        lines.fixed("- write: (nothing)");
    }
    let mut excluded = Vec::new();
    for (field, exclude) in input.excludes() {
        ScopeGlobs::new(field, exclude)?;
        excluded.extend(Entry::list(field, exclude));
    }
    for entry in Entry::sorted(excluded) {
        lines.value("- exclude: ", &entry);
    }
    Ok(lines.piece("scope"))
}

/// Returns a line for each entry of a list, in its order.
fn listed(label: &str, field: &str, texts: &[String]) -> Option<Piece> {
    let mut lines = Lines::default();
    for entry in Entry::list(field, texts) {
        lines.value(label, &entry);
    }
    lines.some(field)
}
