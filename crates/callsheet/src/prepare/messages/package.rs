//! What a package and a state folder say, as fields of the input. Fields that the input has already stay.

use serde_json::{Map, Value, json};

use super::fields::{Fields, missing};
use crate::inputs::Root;
use crate::mounts::Mount;
use crate::package::read::{Document, Reader};
use crate::package::{Graph, Node, Package, Workflow, get_agent_definition, refused};
use crate::prepare::Piece;
use crate::state::{State, read_graph};
use crate::text::strip;
use crate::trace::{Origin, OriginKind, Traced, Transform};
use crate::{Error, ErrorKind};

/// What was read besides fields.
#[derive(Default)]
pub(super) struct Found {
    /// The folders behind mounts.
    pub(super) folders: Vec<(Mount, String)>,
    /// The agent's own prompt, with the file it came from.
    pub(super) persona: Option<Piece>,
}

/// Adds what the folders `package` and `state` of the input say.
pub(super) fn fill(input: &mut Map<String, Value>, root: Option<&Root>) -> Result<Found, Error> {
    let fields = Fields(input);
    let mut found = Found::default();
    let state_root = match fields.text("state") {
        Some(folder) => Some(open(root, folder, "state", Mount::State, &mut found)?),
        None => None,
    };
    let Some(folder) = fields.text("package") else {
        if state_root.is_some() {
            return Err(
                missing("package").because("a state is read along the graph of its package")
            );
        }
        return Ok(found);
    };
    let root = open(root, folder, "package", Mount::Package, &mut found)?;
    let package = Package::open(&root)?;
    let mut added = Map::new();
    let mut agent = ["agentId", "activeAgentId"]
        .into_iter()
        .find_map(|field| fields.text(field));
    let node_agent;
    if fields.text("mode") == Some("run") {
        let state_root = state_root.ok_or_else(|| {
            missing("state").because("a run of a package needs the folder with its `workflow.md`")
        })?;
        node_agent = run(
            fields,
            &root,
            &package,
            &State::read(&state_root)?,
            &mut added,
        )?;
        agent = fields
            .text("effectiveAgentId")
            .or(node_agent.as_deref())
            .or(agent);
    }
    let given = fields.get("agentDefinition").is_some();
    let agent = choose(agent, &package, fields, given)?;
    if let (Some(agent), false) = (&agent, given) {
        let definition = get_agent_definition(&package, agent)?;
        found.persona = persona(definition, package.agents_text());
        added.insert("agentDefinition".to_owned(), definition.clone());
    }
    if let Some(agent) = agent {
        added.insert("effectiveAgentId".to_owned(), json!(agent));
    }
    for (name, value) in added {
        if input.get(&name).is_none_or(Value::is_null) {
            input.insert(name, value);
        }
    }
    Ok(found)
}

/// Opens a folder, relative to the root, as a root of its own.
fn open(
    root: Option<&Root>,
    folder: &str,
    field: &str,
    mount: Mount,
    found: &mut Found,
) -> Result<Root, Error> {
    let root = root.ok_or_else(crate::source::needs_root)?;
    let opened = root.disk().open(root.path().join(folder)).map_err(|_| {
        let detail = format!("`{field}`: `{folder}` is no folder that can be read");
        Error::new(ErrorKind::BadInput, detail)
    })?;
    for path in [opened.path(), opened.real()] {
        found.folders.push((mount, path.display().to_string()));
    }
    Ok(opened.with_max_file_bytes(root.max_file_bytes()))
}

/// Adds the fields of a run; returns the agent of the node, or the one that the state names.
fn run(
    fields: Fields<'_>,
    root: &Root,
    package: &Package,
    state: &State,
    added: &mut Map<String, Value>,
) -> Result<Option<String>, Error> {
    let told = state.fields();
    let reference = fields
        .text("workflowRef")
        .or_else(|| fields.text("workflowRef.value"));
    let recorded = told.get("workflowRef");
    let recorded = recorded.and_then(|value| value.as_str().or_else(|| value["value"].as_str()));
    let workflow = package.workflow(reference.or(recorded))?;
    let graph = read_graph(root, &workflow)?;
    let node = state.current_node(&graph)?;
    let reference = match &workflow.id {
        Some(id) => json!({"type": "workflowId", "value": id}),
        None => json!({"type": "packagePath", "value": workflow.file}),
    };
    added.insert("workflowRef".to_owned(), reference);
    added.insert("graphRelPath".to_owned(), json!(workflow.graph));
    added.insert("stateSummary".to_owned(), summary(state, node));
    let told_so = fields.get("workflowCompleted").and_then(Value::as_bool);
    let completed = told_so.unwrap_or_else(|| state.is_completed(&graph));
    added.insert("workflowCompleted".to_owned(), json!(completed));
    // After the end no step is looked at any more.
    if !completed && fields.get("nodeBrief").is_none() {
        added.insert(
            "nodeBrief".to_owned(),
            brief(root, &graph, node, &workflow)?,
        );
    }
    let active = told.get("activeAgentId").and_then(Value::as_str);
    let named = fields
        .text("activeAgentId")
        .or_else(|| fields.text("agentId"));
    Ok(node
        .agent_id
        .as_deref()
        .or(named)
        .or(active)
        .map(str::to_owned))
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
    let mut reader = Reader::new(root);
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

/// Returns the agent that counts; the only one of a package needs no name, and a chat needs no agent.
fn choose(
    named: Option<&str>,
    package: &Package,
    fields: Fields<'_>,
    given: bool,
) -> Result<Option<String>, Error> {
    if let Some(named) = named {
        return Ok(Some(named.to_owned()));
    }
    match package.agent_ids().as_slice() {
        [only] => Ok(Some((*only).to_owned())),
        _ if given || fields.text("mode") == Some("chat") => Ok(None),
        several => Err(missing("agentId").expecting("", several.iter().copied())),
    }
}

/// Returns the agent's own prompt as a part of the file that it stands in.
fn persona(definition: &Value, agents: &str) -> Option<Piece> {
    let text = definition["systemPrompt"].as_str()?;
    if strip(text).is_empty() {
        return None;
    }
    let source = Origin::new(OriginKind::File, "@pkg/agents.json", agents);
    let body = Traced::transformed(text, &source, agents.len(), Transform::Converted);
    Some(Piece {
        name: "persona".to_owned(),
        body,
        source,
    })
}
