//! The state of a run: reading it, and changing it only along the graph.
//!
//! A change is a pure function from the old text to the new one. It keeps the body byte for byte, and of the header
//! every key that does not change. Whoever calls it writes the file.

mod edit;
mod error;
mod update;

use serde_json::{Map, Value, json};

pub use error::{StateCode, StateError};
pub use update::{Append, Set, Update, replace, update};

use crate::Fingerprint;
use crate::inputs::Root;
use crate::omission::Reason;
use crate::package::frontmatter;
use crate::package::read::{Document, PackageReader};
use crate::package::{Graph, IssueKind, Node, Workflow};

/// The file with the state, in its folder.
pub const STATE_FILE: &str = "workflow.md";

/// The state of a run, checked against its schema.
#[derive(Clone, Debug)]
pub struct State {
    text: String,
    fields: Map<String, Value>,
}

impl State {
    /// Reads the state in a folder.
    pub fn read(root: &Root) -> Result<Self, StateError> {
        let bytes = root.read(STATE_FILE).map_err(|refusal| {
            let code = match refusal.reason {
                Reason::Missing => StateCode::StateFileNotFound,
                _ => StateCode::StateFileReadFailed,
            };
            StateError::new(
                code,
                format!("`{STATE_FILE}` {}", refusal.reason.sentence()),
            )
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let message = format!("`{STATE_FILE}` is not UTF-8 text");
            StateError::new(StateCode::StateFileReadFailed, message)
        })?;
        Self::parse(text)
    }

    /// Reads the text of a state file.
    pub fn parse(text: impl Into<String>) -> Result<Self, StateError> {
        Self::checked(
            text.into(),
            StateCode::FrontmatterParseFailed,
            StateCode::FrontmatterSchemaInvalid,
        )
    }

    fn checked(text: String, malformed: StateCode, misfit: StateCode) -> Result<Self, StateError> {
        let found = frontmatter::parse(&text)
            .map_err(|error| StateError::new(malformed, format!("{STATE_FILE}: {error}")))?;
        let value = Value::Object(found.fields.clone());
        let issues = Document::Workflow.misfits(STATE_FILE, IssueKind::Frontmatter, &value);
        if !issues.is_empty() {
            return Err(StateError::of(misfit, &issues));
        }
        Ok(Self {
            text,
            fields: found.fields,
        })
    }

    /// Returns the fields of the header.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the fingerprint of the whole text, for a change that holds for this state only.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.text)
    }

    /// Returns the nodes that are done, in their order.
    pub fn steps_completed(&self) -> Vec<&str> {
        let done = self.fields.get("stepsCompleted").and_then(Value::as_array);
        let done = done.into_iter().flatten();
        done.filter_map(Value::as_str).collect()
    }

    /// Returns the node that the run is at: the current one, or the entry of the graph before the first.
    pub fn current_node<'g>(&self, graph: &'g Graph) -> Result<&'g Node, StateError> {
        let named = self.fields.get("currentNodeId").and_then(Value::as_str);
        let named = named.unwrap_or_default().trim();
        let id = if named.is_empty() {
            graph.entry_node_id.as_str()
        } else {
            named
        };
        graph.node(id).ok_or_else(|| {
            let allowed: Vec<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
            let message = format!(
                "the graph has no node `{id}`; it has `{}`",
                allowed.join("`, `")
            );
            StateError::new(StateCode::CurrentNodeInvalid, message)
                .with(json!({"allowed": allowed}))
        })
    }

    /// Tells whether the workflow has ended: by its variable `workflowStatus`, or by an end node that is done.
    pub fn is_completed(&self, graph: &Graph) -> bool {
        let status = self.fields.get("variables");
        let status = status.and_then(|variables| variables.get("workflowStatus"));
        let at_end = self.current_node(graph).is_ok_and(|node| {
            node.kind == "end" && self.steps_completed().contains(&node.id.as_str())
        });
        status.and_then(Value::as_str) == Some("complete") || at_end
    }
}

/// Reads the graph of a workflow; one that does not hold together is refused.
pub fn read_graph(package: &Root, workflow: &Workflow) -> Result<Graph, StateError> {
    graph_and_text(package, workflow).map(|(graph, _)| graph)
}

/// Reads the graph of a workflow, with the text of its file.
pub(crate) fn graph_and_text(
    package: &Root,
    workflow: &Workflow,
) -> Result<(Graph, String), StateError> {
    let mut reader = PackageReader::new(package);
    let Some((document, text)) = reader.json(&workflow.graph, Document::Graph) else {
        let issues = &reader.issues;
        let code = match issues.first() {
            Some(issue) if issue.kind == IssueKind::File => StateCode::GraphNotFound,
            Some(issue) if issue.instance_path.is_none() => StateCode::GraphJsonInvalid,
            _ => StateCode::GraphSchemaInvalid,
        };
        return Err(StateError::of(code, issues));
    };
    let graph = Graph::from_value(&document).ok_or_else(|| {
        StateError::new(
            StateCode::GraphSchemaInvalid,
            format!("{}: no graph", workflow.graph),
        )
    })?;
    let mut issues = graph.issues(&workflow.graph);
    issues.retain(|issue| issue.severity == crate::package::Severity::Error);
    if issues.is_empty() {
        Ok((graph, text))
    } else {
        Err(StateError::of(StateCode::GraphIntegrityInvalid, &issues))
    }
}

#[cfg(test)]
mod tests;
