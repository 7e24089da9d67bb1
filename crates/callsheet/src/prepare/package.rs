//! The function `package`: what a package and a state folder say, as fields. Fields that the input has already stay.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fields::{Fields, missing};
use super::{Prepared, Surroundings};
use crate::inputs::Root;
use crate::mounts::Mount;
use crate::package::read::{Document, PackageReader};
use crate::package::{Graph, MANIFEST, Node, Package, Workflow, get_agent_definition, refused};
use crate::state::{STATE_FILE, State, graph_and_text};
use crate::trace::{Origin, OriginKind, Traced, Transform};
use crate::{Error, ErrorKind};

/// Adds what the folders `package` and `state` of the input say, and names these folders.
pub(super) fn package(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (fields, root) = (prepared.read(), around.inputs.root.as_ref());
    let state = open(root, fields, "state")?;
    if state.is_some() && fields.text("package").is_none() {
        return Err(missing("package").because("a state is read along the graph of its package"));
    }
    let package = open(root, fields, "package")?;
    let mut added = Added::default();
    if let Some(root) = &package {
        added.read(fields, root, state.as_ref())?;
    }
    for (mount, root) in [(Mount::State, state), (Mount::Package, package)] {
        for folder in root.iter().flat_map(|root| [root.path(), root.real()]) {
            let mounts = prepared.mounts.take().unwrap_or_default();
            prepared.mounts = Some(mounts.with(mount, &folder.display().to_string()));
        }
    }
    for (name, value, origin) in added.0 {
        if prepared.fields.get(name).is_none_or(Value::is_null) {
            prepared.note(&value, name, &origin);
            prepared.fields.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// Opens the folder that a field names, relative to the root, as a root of its own.
fn open(root: Option<&Root>, fields: Fields<'_>, field: &str) -> Result<Option<Root>, Error> {
    let Some(folder) = fields.text(field) else {
        return Ok(None);
    };
    let root = root.ok_or_else(crate::source::needs_root)?;
    let opened = root.disk().open(root.path().join(folder)).map_err(|_| {
        let detail = format!("`{field}`: `{folder}` is not a folder that can be read");
        Error::new(ErrorKind::BadInput, detail)
    })?;
    Ok(Some(opened.with_max_file_bytes(root.max_file_bytes())))
}

/// The id of an agent, and what names it.
type Agent = (String, Arc<Origin>);

/// The fields that were read, each with the file that says it.
#[derive(Default)]
struct Added(Vec<(&'static str, Value, Arc<Origin>)>);

impl Added {
    fn read(&mut self, fields: Fields<'_>, root: &Root, state: Option<&Root>) -> Result<(), Error> {
        let package = Package::open(root)?;
        let agents = of_package(package.agents_file(), package.agents_text());
        let mut agent = named(fields, &["agentId", "activeAgentId"]);
        let is_run = fields
            .get("mode")
            .map_or(state.is_some(), |_| fields.is_run());
        if is_run {
            let state = state.ok_or_else(|| {
                missing("state")
                    .because("a run of a package needs the folder with its `workflow.md`")
            })?;
            let of_run = self.run(fields, root, &package, &State::read(state)?)?;
            agent = named(fields, &["effectiveAgentId"]).or(of_run).or(agent);
        }
        let given = fields.get("agentDefinition").is_some();
        if agent.is_none() {
            agent = only(&package, fields, given)?.map(|only| (only, Arc::clone(&agents)));
        }
        if let (Some((agent, _)), false) = (&agent, given) {
            let definition = get_agent_definition(&package, agent)?.clone();
            self.0.push(("agentDefinition", definition, agents));
        }
        if let Some((agent, origin)) = agent {
            self.0.push(("effectiveAgentId", json!(agent), origin));
        }
        Ok(())
    }

    /// Adds the fields of a run; returns the agent of the node, or the one that the state names.
    fn run(
        &mut self,
        fields: Fields<'_>,
        root: &Root,
        package: &Package,
        state: &State,
    ) -> Result<Option<Agent>, Error> {
        let told = state.fields();
        let reference = fields
            .text("workflowRef")
            .or_else(|| fields.text("workflowRef.value"));
        let recorded = told.get("workflowRef");
        let recorded =
            recorded.and_then(|value| value.as_str().or_else(|| value["value"].as_str()));
        let workflow = package.workflow(reference.or(recorded))?;
        let (graph, graph_text) = graph_and_text(root, &workflow)?;
        let node = state.current_node(&graph)?;
        let reference = match &workflow.id {
            Some(id) => json!({"type": "workflowId", "value": id}),
            None => json!({"type": "packagePath", "value": workflow.file}),
        };
        let manifest = of_package(MANIFEST, package.manifest_text());
        let of_graph = of_package(&workflow.graph, &graph_text);
        let of_state = Origin::new(
            OriginKind::File,
            format!("@state/{STATE_FILE}"),
            state.text(),
        );
        let told_so = fields.get("workflowCompleted").and_then(Value::as_bool);
        let completed = told_so.unwrap_or_else(|| state.is_completed(&graph));
        self.0.extend([
            ("workflowRef", reference, Arc::clone(&manifest)),
            ("graphRelPath", json!(workflow.graph), manifest),
            ("stateSummary", summary(state, node), Arc::clone(&of_state)),
            ("workflowCompleted", json!(completed), Arc::clone(&of_state)),
        ]);
        // After the end no step is looked at any more.
        if !completed && fields.get("nodeBrief").is_none() {
            let brief = brief(root, &graph, node, &workflow)?;
            self.0.push(("nodeBrief", brief, Arc::clone(&of_graph)));
        }
        let active = told.get("activeAgentId").and_then(Value::as_str);
        let of_node = node.agent_id.clone().map(|agent| (agent, of_graph));
        let of_input = || named(fields, &["activeAgentId", "agentId"]);
        Ok(of_node
            .or_else(of_input)
            .or_else(|| Some((active?.to_owned(), of_state))))
    }
}

/// Returns the origin of a file of a package.
fn of_package(file: &str, text: &str) -> Arc<Origin> {
    Origin::new(OriginKind::File, format!("@pkg/{file}"), text)
}

/// Returns the agent that the first of some fields names.
fn named(fields: Fields<'_>, paths: &[&str]) -> Option<Agent> {
    let mut paths = paths.iter();
    paths.find_map(|path| {
        let text = fields.text(path)?;
        Some((text.to_owned(), Origin::new(OriginKind::Input, *path, text)))
    })
}

impl Prepared {
    /// Notes that every text of a value came from something.
    fn note(&mut self, value: &Value, path: &str, origin: &Arc<Origin>) {
        match value {
            Value::String(text) => {
                let text = Traced::transformed(text, origin, origin.len, Transform::Converted);
                self.traces.insert(path.to_owned(), text);
            }
            Value::Array(items) => {
                for (nth, item) in items.iter().enumerate() {
                    self.note(item, &format!("{path}[{nth}]"), origin);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.note(field, &format!("{path}.{name}"), origin);
                }
            }
            _ => {}
        }
    }
}

fn summary(state: &State, node: &Node) -> Value {
    let told = state.fields();
    let list = |key: &str| told.get(key).cloned().unwrap_or_else(|| json!([]));
    json!({
        "currentNodeId": node.id, "stepsCompleted": list("stepsCompleted"),
        "variables": told.get("variables").cloned().unwrap_or_else(|| json!({})),
        "decisionLogCount": list("decisionLog").as_array().map_or(0, Vec::len), "artifacts": list("artifacts"),
    })
}

/// Returns the brief of a node; its step file has to be there and in order.
fn brief(root: &Root, graph: &Graph, node: &Node, workflow: &Workflow) -> Result<Value, Error> {
    let mut reader = PackageReader::new(root);
    let Some(step) = reader.header(&node.file, Document::Step) else {
        let error = refused(reader.issues);
        return Err(error.because(format!(
            "node `{}` of `{}` names it",
            node.id, workflow.graph
        )));
    };
    let ways: Vec<Value> = graph.from(&node.id).map(|edge| json!(edge)).collect();
    let rules = step.get("validation").cloned().unwrap_or_else(|| json!([]));
    Ok(json!({
        "nodeId": node.id, "nodeType": node.kind, "title": node.title, "stepFilePathInPkg": node.file,
        "inputs": node.inputs, "outputs": node.outputs, "validation": rules, "transitions": ways,
    }))
}

/// Returns the only agent of a package, which needs no name; a chat needs no agent.
fn only(package: &Package, fields: Fields<'_>, given: bool) -> Result<Option<String>, Error> {
    match package.agent_ids().as_slice() {
        [only] => Ok(Some((*only).to_owned())),
        _ if given || fields.is_chat() => Ok(None),
        several => Err(missing("agentId").expecting("", several.iter().copied())),
    }
}
