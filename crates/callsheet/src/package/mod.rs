//! Packages: agents and workflows in a folder, in the v1.1 format.
//!
//! `bmad.json` names the parts; `agents.json` has the agents, `workflow.graph.json` the nodes of a workflow, and a step
//! file says what to do at a node. The schemas are files of ours (`schemas/package/`). Nothing here is written to.

mod check;
pub(crate) mod frontmatter;
mod graph;
mod issue;
pub(crate) mod read;

use serde_json::Value;

pub use check::check;
pub use graph::{Edge, Graph, Node};
pub use issue::{Issue, IssueKind, Severity};

use self::read::{Document, PackageReader};
use crate::inputs::Root;
use crate::{Error, ErrorKind};

/// The file that makes a folder a package.
pub(crate) const MANIFEST: &str = "bmad.json";

/// A package whose manifest and agents are in order.
#[derive(Clone, Debug)]
pub struct Package {
    manifest: Value,
    manifest_text: String,
    agents: Value,
    agents_text: String,
}

/// A workflow of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workflow {
    /// The name, where the package lists its workflows.
    pub id: Option<String>,
    /// The Markdown file, relative to the package.
    pub file: String,
    /// The graph, relative to the package.
    pub graph: String,
}

impl Workflow {
    fn entry(manifest: &Value) -> Self {
        let text = |key: &str| {
            manifest["entry"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            id: None,
            file: text("workflow"),
            graph: text("graph"),
        }
    }
}

fn workflows(manifest: &Value) -> Vec<Workflow> {
    let listed = manifest.get("workflows").and_then(Value::as_array);
    let text = |record: &Value, key: &str| record[key].as_str().unwrap_or_default().to_owned();
    listed
        .into_iter()
        .flatten()
        .map(|record| Workflow {
            id: Some(text(record, "id")),
            file: text(record, "workflow"),
            graph: text(record, "graph"),
        })
        .collect()
}

fn agents_file(manifest: &Value) -> &str {
    manifest["entry"]["agents"].as_str().unwrap_or_default()
}

fn agent_ids(agents: &Value) -> Vec<&str> {
    let agents = agents["agents"].as_array().into_iter().flatten();
    agents.filter_map(|agent| agent["id"].as_str()).collect()
}

impl Package {
    /// Reads the manifest and the agents of a package; all that is wrong with them is in the error.
    pub fn open(root: &Root) -> Result<Self, Error> {
        let mut reader = PackageReader::new(root);
        let manifest = reader.json(MANIFEST, Document::Manifest);
        let agents = manifest
            .as_ref()
            .and_then(|(manifest, _)| reader.json(agents_file(manifest), Document::Agents));
        match (manifest, agents) {
            (Some((manifest, manifest_text)), Some((agents, agents_text))) => Ok(Self {
                manifest,
                manifest_text,
                agents,
                agents_text,
            }),
            _ => Err(refused(reader.issues)),
        }
    }

    /// Returns the name of the package.
    pub fn name(&self) -> &str {
        self.manifest["name"].as_str().unwrap_or_default()
    }

    /// Returns the ids of the agents, in their order.
    pub(crate) fn agent_ids(&self) -> Vec<&str> {
        agent_ids(&self.agents)
    }

    /// Returns the text of the manifest.
    pub(crate) fn manifest_text(&self) -> &str {
        &self.manifest_text
    }

    /// Returns the file with the agents, relative to the package.
    pub(crate) fn agents_file(&self) -> &str {
        agents_file(&self.manifest)
    }

    /// Returns the text of the file with the agents.
    pub(crate) fn agents_text(&self) -> &str {
        &self.agents_text
    }

    /// Returns the workflow that a reference names: an id of the list, or the file of the only workflow.
    pub fn workflow(&self, reference: Option<&str>) -> Result<Workflow, Error> {
        let bad = |detail: String| Error::new(ErrorKind::BadInput, detail);
        let listed = workflows(&self.manifest);
        if listed.is_empty() {
            let entry = Workflow::entry(&self.manifest);
            return match reference {
                Some(other) if other != entry.file => Err(bad(format!(
                    "WORKFLOW_REF_MISMATCH: the package has one workflow, `{}`, not `{other}`",
                    entry.file
                ))),
                _ => Ok(entry),
            };
        }
        let ids: Vec<String> = listed
            .iter()
            .filter_map(|workflow| workflow.id.clone())
            .collect();
        let Some(reference) = reference else {
            let detail = "WORKFLOW_REF_REQUIRED: the package has several workflows; name one in `workflowRef`";
            return Err(bad(detail.to_owned()).expecting("", ids));
        };
        let found = listed.into_iter().find(|workflow| {
            workflow.id.as_deref() == Some(reference) || workflow.file == reference
        });
        found.ok_or_else(|| {
            bad(format!(
                "WORKFLOW_REF_UNKNOWN: the package has no workflow `{reference}`"
            ))
            .expecting(reference, ids)
        })
    }
}

/// Returns the definition of an agent, as it stands in `agents.json`.
pub(crate) fn get_agent_definition<'a>(
    package: &'a Package,
    agent_id: &str,
) -> Result<&'a Value, Error> {
    let agents = package.agents["agents"].as_array().into_iter().flatten();
    let mut found = agents.filter(|agent| agent["id"].as_str() == Some(agent_id));
    found
        .next()
        .ok_or_else(|| Error::unknown("agent", agent_id, package.agent_ids()))
}

/// Makes one error of many problems.
pub(crate) fn refused(issues: Vec<Issue>) -> Error {
    let mut issues = issues.into_iter();
    let first = issues
        .next()
        .map_or_else(String::new, |issue| issue.to_string());
    let error = Error::new(ErrorKind::BadInput, first);
    issues.fold(error, |error, issue| error.because(issue.to_string()))
}

#[cfg(test)]
mod tests;
