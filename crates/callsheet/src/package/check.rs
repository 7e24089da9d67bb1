//! A whole package, every problem of it at once.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::graph::Graph;
use super::issue::Issue;
use super::read::{Document, PackageReader};
use super::{MANIFEST, Workflow, agent_ids, workflows};
use crate::inputs::Root;

/// Returns everything that is wrong with a package, file by file.
///
/// All documents are checked against their schemas, and then against each other: nodes and edges, files that exist,
/// agents that are there.
pub fn check(root: &Root) -> Vec<Issue> {
    let mut reader = PackageReader::new(root);
    let Some((manifest, ..)) = reader.any_json(MANIFEST, Document::Manifest) else {
        return reader.issues;
    };
    // What does not fit is told by the schema; whatever else can be found out is told as well.
    let agents_file = manifest["entry"]["agents"].as_str().unwrap_or_default();
    let agents = match agents_file {
        "" => None,
        file => reader.any_json(file, Document::Agents),
    };
    let agents = agents.map(|(agents, ..)| agents);
    if let Some(agents) = &agents {
        reader
            .issues
            .extend(repeated(agents_file, "/agents", &agent_ids(agents)));
    }
    let agents: Option<BTreeSet<String>> =
        agents.map(|agents| agent_ids(&agents).into_iter().map(str::to_owned).collect());
    let listed = workflows(&manifest);
    let ids: Vec<&str> = listed
        .iter()
        .filter_map(|workflow| workflow.id.as_deref())
        .collect();
    reader.issues.extend(repeated(MANIFEST, "/workflows", &ids));
    let mut all = vec![Workflow::entry(&manifest)];
    all.extend(listed);
    let mut seen = BTreeSet::new();
    for workflow in all {
        if seen.insert((workflow.file.clone(), workflow.graph.clone())) {
            check_workflow(&mut reader, &workflow, agents.as_ref());
        }
    }
    let mut told: Vec<Issue> = Vec::new();
    for issue in reader.issues {
        if !told.contains(&issue) {
            told.push(issue);
        }
    }
    told
}

fn repeated(file: &str, list: &str, ids: &[&str]) -> Vec<Issue> {
    let mut seen = BTreeSet::new();
    let twice = ids.iter().enumerate().filter(|(_, id)| !seen.insert(**id));
    twice
        .map(|(at, id)| {
            let message = format!("the id `{id}` is taken by an earlier one");
            Issue::integrity(file, &format!("{list}/{at}/id"), message)
        })
        .collect()
}

fn check_workflow(
    reader: &mut PackageReader<'_>,
    workflow: &Workflow,
    agents: Option<&BTreeSet<String>>,
) {
    let state = match workflow.file.as_str() {
        "" => None,
        file => reader.any_header(file, Document::Workflow),
    };
    if workflow.graph.is_empty() {
        return;
    }
    let Some((document, ..)) = reader.any_json(&workflow.graph, Document::Graph) else {
        return;
    };
    let Some(graph) = Graph::from_value(&document) else {
        return;
    };
    reader.issues.extend(graph.issues(&workflow.graph));
    if let Some((state, _)) = state {
        reader
            .issues
            .extend(state_issues(&workflow.file, &state, &graph));
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        if let (Some(agent), Some(agents)) = (&node.agent_id, agents)
            && !agents.contains(agent)
        {
            let message = format!("no agent has the id `{agent}`");
            let pointer = format!("/nodes/{at}/agentId");
            reader
                .issues
                .push(Issue::integrity(&workflow.graph, &pointer, message).allowing(agents));
        }
        if let Some(step) = reader.header(&node.file, Document::Step) {
            for (field, key, expected) in [("nodeId", "id", &node.id), ("type", "type", &node.kind)]
            {
                let Some(found) = step.get(field).and_then(Value::as_str) else {
                    continue;
                };
                if found != expected {
                    let message = format!(
                        "`{field}` is `{found}`, but the graph says `{expected}` (`{key}` of the node), which counts"
                    );
                    let issue = Issue::integrity(&node.file, &format!("/{field}"), message);
                    reader.issues.push(issue.into_warning());
                }
            }
        }
    }
}

fn state_issues(file: &str, state: &Map<String, Value>, graph: &Graph) -> Vec<Issue> {
    let ids: BTreeSet<&str> = graph.nodes.iter().map(|node| node.id.as_str()).collect();
    let mut issues = Vec::new();
    let text = |key: &str| state.get(key).and_then(Value::as_str);
    let current = text("currentNodeId").unwrap_or_default().trim();
    if !current.is_empty() && !ids.contains(current) {
        let message = format!("no node has the id `{current}`");
        issues.push(Issue::integrity(file, "/currentNodeId", message).allowing(&ids));
    }
    let done = state.get("stepsCompleted").and_then(Value::as_array);
    let done = done.into_iter().flatten();
    for (at, id) in done.filter_map(Value::as_str).enumerate() {
        if !ids.contains(id) {
            let message = format!("no node has the id `{id}`");
            let issue = Issue::integrity(file, &format!("/stepsCompleted/{at}"), message);
            issues.push(issue.into_warning());
        }
    }
    issues
}
