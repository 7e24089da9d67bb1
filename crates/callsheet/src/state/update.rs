//! Changes of a state, and what guards them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::edit::rewrite;
use super::{State, StateCode, StateError};
use crate::Fingerprint;
use crate::document::{self, Malformed};
use crate::package::Graph;

/// What is to change in the header of a state: lists grow, values are set.
///
/// ```
/// use callsheet::state::Update;
///
/// let update: Update = serde_json::from_str(
///     r#"{"stepsCompleted": {"append": ["step-01"]}, "currentNodeId": {"set": "step-02"}}"#,
/// )?;
/// assert_eq!(update.current_node_id.unwrap().set, "step-02");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Update {
    /// Nodes that are done; each is listed once.
    pub steps_completed: Option<Append<String>>,
    /// Variables by name; others stay.
    pub variables: Option<Set<Map<String, Value>>>,
    /// Decisions that were made.
    pub decision_log: Option<Append<Value>>,
    /// Files that were made, relative to the project; each is listed once.
    pub artifacts: Option<Append<String>>,
    /// The node that the run goes to.
    pub current_node_id: Option<Set<String>>,
    /// When this was, which only the caller can know.
    pub updated_at: Option<Set<String>>,
}

/// What a list gets more of.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Append<T> {
    /// The new items.
    pub append: Vec<T>,
}

/// What a value becomes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set<T> {
    /// The new value.
    pub set: T,
}

impl Update {
    /// Reads a change from a document.
    pub fn from_document(document: &Value) -> Result<Self, Malformed> {
        if !document.is_object() {
            return Err(Malformed::at(None, "expected an object with changes"));
        }
        // Through a type, a number would lose the way in which it is written.
        let variables = document.pointer("/variables/set").cloned();
        let decisions = document.pointer("/decisionLog/append").cloned();
        let mut update: Self = document::typed(document.clone()).map_err(|misfit| {
            let fields = document.as_object().into_iter().flatten();
            let alone = fields.map(|(name, field)| (name, json!({name: field})));
            let wrong = alone.filter(|(_, alone)| document::typed::<Self>(alone.clone()).is_err());
            match wrong.map(|(name, _)| name).next() {
                Some(name) if !misfit.reason.contains(&format!("`{name}`")) => Malformed {
                    reason: format!("`{name}`: {}", misfit.reason),
                    ..misfit
                },
                _ => misfit,
            }
        })?;
        if let (Some(set), Some(Value::Object(variables))) = (&mut update.variables, variables) {
            set.set = variables;
        }
        if let (Some(log), Some(Value::Array(decisions))) = (&mut update.decision_log, decisions) {
            log.append = decisions;
        }
        Ok(update)
    }

    /// Tells whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let Self {
            steps_completed,
            variables,
            decision_log,
            artifacts,
            current_node_id,
            updated_at,
        } = self;
        let lists = steps_completed.is_none() && artifacts.is_none() && decision_log.is_none();
        lists && variables.is_none() && current_node_id.is_none() && updated_at.is_none()
    }

    /// Returns the keys that change, with their new values.
    fn changes(&self, old: &Map<String, Value>) -> Vec<(&'static str, Value)> {
        let mut changes = Vec::new();
        let list = |key: &str| -> Vec<Value> {
            let items = old.get(key).and_then(Value::as_array);
            items.cloned().unwrap_or_default()
        };
        for (key, append) in [
            ("stepsCompleted", &self.steps_completed),
            ("artifacts", &self.artifacts),
        ] {
            let Some(append) = append else { continue };
            let mut items = list(key);
            for item in append.append.iter().map(|item| json!(item)) {
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            changes.push((key, Value::Array(items)));
        }
        if let Some(set) = &self.variables {
            let variables = old.get("variables").and_then(Value::as_object);
            let mut variables = variables.cloned().unwrap_or_default();
            variables.extend(set.set.clone());
            changes.push(("variables", Value::Object(variables)));
        }
        if let Some(append) = &self.decision_log {
            let mut items = list("decisionLog");
            items.extend(append.append.clone());
            changes.push(("decisionLog", Value::Array(items)));
        }
        for (key, set) in [
            ("currentNodeId", &self.current_node_id),
            ("updatedAt", &self.updated_at),
        ] {
            changes.extend(set.as_ref().map(|set| (key, json!(set.set))));
        }
        changes.retain(|(key, value)| old.get(*key) != Some(value));
        changes
    }
}

/// Returns the text of a state after a change of its header; the body and all other keys stay as they are.
///
/// With `if_match` the change holds for the state of that fingerprint only.
pub fn update(
    old: &str,
    graph: &Graph,
    update: &Update,
    if_match: Option<Fingerprint>,
) -> Result<String, StateError> {
    precondition(old, if_match)?;
    let state = State::parse(old)?;
    let changes = update.changes(&state.fields);
    let new = rewrite(old, &changes)
        .map_err(|why| StateError::new(StateCode::InvalidFrontmatter, why))?;
    guard(&state, &new, graph)?;
    Ok(new)
}

/// Returns the new text of a state if it may take the place of the old one.
pub fn replace(
    old: &str,
    new: &str,
    graph: &Graph,
    if_match: Option<Fingerprint>,
) -> Result<String, StateError> {
    precondition(old, if_match)?;
    guard(&State::parse(old)?, new, graph)?;
    Ok(new.to_owned())
}

fn precondition(old: &str, if_match: Option<Fingerprint>) -> Result<(), StateError> {
    let found = Fingerprint::of(old);
    match if_match {
        Some(expected) if expected != found => {
            let message = format!("the state has the fingerprint {found}, not {expected}");
            let details = json!({"expected": expected, "found": found});
            Err(StateError::new(StateCode::PreconditionFailed, message).with(details))
        }
        _ => Ok(()),
    }
}

fn misfit(pointer: &str, message: String) -> StateError {
    let details = json!({"errors": [{"instancePath": pointer, "message": message}]});
    StateError::new(StateCode::SchemaValidation, message).with(details)
}

/// Returns the artifacts that the old state does not list; what it lists may stay.
fn new_artifacts<'a>(old: &State, new: &'a State) -> impl Iterator<Item = &'a str> {
    fn listed(state: &State) -> impl Iterator<Item = &str> {
        let items = state.fields.get("artifacts").and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str)
    }
    let known: Vec<String> = listed(old).map(str::to_owned).collect();
    listed(new).filter(move |path| !known.iter().any(|old| old == path))
}

/// Refuses completed steps that the graph does not have; what the old state lists may stay.
fn known_steps(old: &State, new: &State, graph: &Graph) -> Result<(), StateError> {
    let done = old.steps_completed();
    let steps = new.steps_completed();
    let mut added = steps.iter().filter(|step| !done.contains(step));
    let Some(unknown) = added.find(|step| graph.node(step).is_none()) else {
        return Ok(());
    };
    let allowed: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let message = format!("`stepsCompleted`: the graph has no node `{unknown}`");
    let details = json!({
        "errors": [{"instancePath": "/stepsCompleted", "message": message}],
        "found": unknown, "allowed": allowed,
    });
    Err(StateError::new(StateCode::SchemaValidation, message).with(details))
}

fn is_project_relative(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    !path.is_empty()
        && !drive
        && !path.starts_with(['/', '\\', '~', '@'])
        && !path.split(['/', '\\']).any(|part| part == "..")
}

/// Refuses a new state that does not fit the schema, forgets or makes up steps, names files outside the project, or is
/// at a node that no edge leads to.
fn guard(old: &State, new: &str, graph: &Graph) -> Result<(), StateError> {
    let new = State::checked(
        new.to_owned(),
        StateCode::InvalidFrontmatter,
        StateCode::SchemaValidation,
    )?;
    let kept = new.steps_completed();
    let lost: Vec<&str> = old
        .steps_completed()
        .into_iter()
        .filter(|step| !kept.contains(step))
        .collect();
    if !lost.is_empty() {
        let lost = lost.join("`, `");
        let message = format!("`stepsCompleted` never shrinks; `{lost}` is gone");
        return Err(misfit("/stepsCompleted", message));
    }
    known_steps(old, &new, graph)?;
    if let Some(astray) = new_artifacts(old, &new).find(|path| !is_project_relative(path)) {
        let message = format!("`artifacts` are relative to the project; `{astray}` is not");
        return Err(misfit("/artifacts", message));
    }
    let from = old.current_node(graph)?;
    let to = new.current_node(graph);
    let allowed: Vec<_> = graph.from(&from.id).collect();
    let named = match &to {
        Ok(node) => node.id.clone(),
        Err(_) => new.fields["currentNodeId"]
            .as_str()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    };
    let arrives = to.is_ok() && (named == from.id || allowed.iter().any(|edge| edge.to == named));
    if arrives {
        return Ok(());
    }
    let names: Vec<String> = allowed
        .iter()
        .map(|edge| format!("`{}`", edge.to))
        .collect();
    let message = format!(
        "no edge leads from `{}` to `{named}`; allowed: {}",
        from.id,
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    );
    let details = json!({"from": from.id, "to": named, "allowedNext": allowed});
    Err(StateError::new(StateCode::InvalidTransition, message).with(details))
}
