//! Graphs of workflows: nodes, the ways between them, and whether they fit together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::issue::Issue;

/// A workflow as nodes and edges.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Graph {
    /// The node that a run begins with.
    pub entry_node_id: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The ways between them.
    pub edges: Vec<Edge>,
}

/// A node of a workflow.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Node {
    /// The name, unique in the graph.
    pub id: String,
    /// What kind of node it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its step file, relative to the package.
    pub file: String,
    /// The title.
    pub title: Option<String>,
    /// The agent that works on it, where it is not the active one.
    pub agent_id: Option<String>,
    /// The files that it reads.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The files that it makes.
    #[serde(default)]
    pub outputs: Vec<String>,
}

/// A way from a node to another.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Edge {
    /// Where it begins.
    #[serde(skip_serializing)]
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What it is called.
    pub label: String,
    /// Whether it is taken when no condition decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
    /// When to take it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_text: Option<String>,
}

impl Graph {
    /// Reads a graph from a document that fits its schema.
    pub(crate) fn from_value(document: &Value) -> Option<Self> {
        Self::deserialize(document).ok()
    }

    /// Returns a node by its name.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Returns the ways out of a node, in the order of the graph.
    pub fn from(&self, id: &str) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == id)
    }

    /// Returns where nodes and edges do not fit together.
    pub(crate) fn issues(&self, file: &str) -> Vec<Issue> {
        let mut issues = Vec::new();
        let mut ids = BTreeSet::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if !ids.insert(node.id.as_str()) {
                let message = format!("the id `{}` is taken by an earlier node", node.id);
                issues.push(Issue::integrity(file, &format!("/nodes/{at}/id"), message));
            }
        }
        let unknown = |pointer: String, id: &str| {
            Issue::integrity(file, &pointer, format!("no node has the id `{id}`")).allowing(&ids)
        };
        if !ids.contains(self.entry_node_id.as_str()) {
            issues.push(unknown("/entryNodeId".to_owned(), &self.entry_node_id));
        }
        for (at, edge) in self.edges.iter().enumerate() {
            for (end, id) in [("from", &edge.from), ("to", &edge.to)] {
                if !ids.contains(id.as_str()) {
                    issues.push(unknown(format!("/edges/{at}/{end}"), id));
                }
            }
        }
        if let Some(cycle) = self.cycle() {
            let message = format!("the edges form a circle: {}", cycle.join(" → "));
            issues.push(Issue::integrity(file, "/edges", message));
        }
        issues.extend(self.starts(file));
        issues.extend(self.defaults(file));
        issues
    }

    /// Warns of nodes that nothing leads to.
    fn starts(&self, file: &str) -> Option<Issue> {
        let reached: BTreeSet<&str> = self.edges.iter().map(|edge| edge.to.as_str()).collect();
        let starts: Vec<&str> = self
            .nodes
            .iter()
            .map(|node| node.id.as_str())
            .filter(|id| !reached.contains(id) && *id != self.entry_node_id)
            .collect();
        if starts.is_empty() {
            return None;
        }
        let message = format!(
            "no edge leads to `{}`; a run begins with `{}` only",
            starts.join("`, `"),
            self.entry_node_id
        );
        Some(Issue::integrity(file, "/nodes", message).into_warning())
    }

    /// Of several ways out of a node exactly one should be the default.
    fn defaults(&self, file: &str) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let ways = self.from(&node.id).count();
            let defaults = self.from(&node.id).filter(|edge| edge.is_default).count();
            let pointer = format!("/nodes/{at}");
            let id = &node.id;
            if defaults > 1 {
                let message = format!("{defaults} ways out of `{id}` are the default; one can be");
                issues.push(Issue::integrity(file, &pointer, message));
            } else if ways > 1 && defaults == 0 {
                let message = format!("none of the {ways} ways out of `{id}` is the default");
                issues.push(Issue::integrity(file, &pointer, message).into_warning());
            }
        }
        issues
    }

    /// Returns the nodes of a circle, the first one again at the end.
    fn cycle(&self) -> Option<Vec<String>> {
        let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut before: BTreeMap<&str, usize> = BTreeMap::new();
        for node in &self.nodes {
            before.insert(&node.id, 0);
        }
        for edge in &self.edges {
            if next.entry(&edge.from).or_default().insert(&edge.to) {
                *before.entry(&edge.to).or_default() += 1;
            }
        }
        // Nodes that nothing leads to are taken away until only circles, and what they lead to, are left.
        let mut free: Vec<&str> = before
            .iter()
            .filter_map(|(id, count)| (*count == 0).then_some(*id))
            .collect();
        while let Some(id) = free.pop() {
            before.remove(id);
            for to in next.get(id).into_iter().flatten() {
                if let Some(count) = before.get_mut(to) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(to);
                    }
                }
            }
        }
        Self::walk_back(&before, &next)
    }

    /// Goes back along edges between nodes that are left, until one comes again.
    fn walk_back<'a>(
        left: &BTreeMap<&'a str, usize>,
        next: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    ) -> Option<Vec<String>> {
        let mut path: Vec<&str> = vec![left.keys().next()?];
        loop {
            let here = *path.last()?;
            let back = left
                .keys()
                .find(|id| next.get(*id).is_some_and(|ends| ends.contains(here)))?;
            if let Some(at) = path.iter().position(|id| id == back) {
                let mut cycle: Vec<String> = path[at..].iter().map(|id| (*id).to_owned()).collect();
                cycle.reverse();
                cycle.insert(0, (*back).to_owned());
                return Some(cycle);
            }
            path.push(back);
        }
    }
}
