//! The blocks of a run, and the data of a menu command.

use serde_json::{Value, json};

use super::fields::{Fields, missing};
use super::printer::Printer;
use crate::blocks::{NodeBrief, NodeFile, RunDirective, Transition};
use crate::mounts::{REDACTED, is_final};
use crate::omission::Reason;
use crate::policy::ToolPolicy;
use crate::{Error, ErrorKind};

/// Tells whether the workflow of a run has ended.
///
/// Where the input does not say so, the state does: its variable `workflowStatus`, or an end node that is done.
pub(super) fn completed(fields: Fields<'_>) -> bool {
    if let Some(told) = fields.get("workflowCompleted").and_then(Value::as_bool) {
        return told;
    }
    let status = fields.get("stateSummary.variables.workflowStatus");
    let done = fields.list("stateSummary.stepsCompleted");
    let at_end = fields.text("nodeBrief.nodeType") == Some("end")
        && fields
            .text("nodeBrief.nodeId")
            .is_some_and(|node| done.contains(&node));
    status.and_then(Value::as_str) == Some("complete") || at_end
}

/// Returns the directive of a turn; `node` is the current one.
pub(super) fn directive(
    fields: Fields<'_>,
    node: Option<&str>,
    printer: &mut Printer<'_>,
) -> Result<RunDirective, Error> {
    const LAYER: &str = "run-directive";
    let agent = ["effectiveAgentId", "activeAgentId", "agentDefinition.id"];
    let agent = agent.into_iter().find_map(|path| fields.text(path));
    let agent = agent.ok_or_else(|| missing("effectiveAgentId"))?;
    Ok(RunDirective {
        intent: fields.required("intent")?.to_owned(),
        workflow: workflow(fields, printer)?,
        graph: in_package(
            fields.required("graphRelPath")?,
            LAYER,
            "graphRelPath",
            printer,
        ),
        current_node_id: node.map(str::to_owned),
        effective_agent_id: printer.value(LAYER, "effectiveAgentId", agent),
        autopilot: fields.get("autopilot") != Some(&json!(false)),
    })
}

fn workflow(fields: Fields<'_>, printer: &mut Printer<'_>) -> Result<String, Error> {
    const LAYER: &str = "run-directive";
    let text = fields.text("workflowRef");
    let value = match text {
        Some(value) => value,
        None => fields
            .required("workflowRef.value")
            .map_err(|_| missing("workflowRef"))?,
    };
    let lower = value.to_lowercase();
    if [".yaml", ".yml", ".xml"]
        .iter()
        .any(|end| lower.ends_with(end))
    {
        let detail = format!(
            "`workflowRef`: NotSupportedClassicWorkflow: `{}` is a classic workflow; a run needs one of micro files",
            printer.mounts.sanitise(value)
        );
        return Err(Error::new(ErrorKind::BadInput, detail));
    }
    if fields.text("workflowRef.type") == Some("packagePath") {
        return Ok(in_package(value, LAYER, "workflowRef", printer));
    }
    Ok(printer.value(LAYER, "workflowRef", value))
}

/// Returns a path of the package with its mount.
fn in_package(path: &str, layer: &str, field: &str, printer: &mut Printer<'_>) -> String {
    let path = printer.path(layer, field, path);
    if is_final(&path) {
        path
    } else {
        format!("@pkg/{path}")
    }
}

/// Returns the brief of the current node, which has to be there.
pub(super) fn brief(fields: Fields<'_>, printer: &mut Printer<'_>) -> Result<NodeBrief, Error> {
    const LAYER: &str = "node-brief";
    fields.get("nodeBrief").ok_or_else(|| {
        missing("nodeBrief").because("a run that is not completed needs the brief of its node")
    })?;
    let node_id = fields.required("nodeBrief.nodeId")?;
    if let Some(current) = fields.text("stateSummary.currentNodeId")
        && current.trim() != node_id
    {
        let (node, current) = (
            printer.mounts.sanitise(node_id),
            printer.mounts.sanitise(current),
        );
        let detail = format!(
            "`nodeBrief.nodeId` is `{node}`, but `stateSummary.currentNodeId` is `{current}`"
        );
        return Err(Error::new(ErrorKind::BadInput, detail));
    }
    let mut files = |list: &str| -> Vec<NodeFile> {
        let names = fields.list(&format!("nodeBrief.{list}"));
        names
            .into_iter()
            .map(|name| NodeFile::new(printer.path(LAYER, list, name)))
            .collect()
    };
    let (inputs, outputs) = (files("inputs"), files("outputs"));
    let rules = fields.list("nodeBrief.validation").into_iter();
    let validation = rules
        .map(|rule| printer.value(LAYER, "validation", rule))
        .collect();
    let transitions = fields
        .get("nodeBrief.transitions")
        .and_then(Value::as_array);
    let transitions = transitions
        .into_iter()
        .flatten()
        .map(|edge| transition(edge, printer))
        .collect();
    let step = fields.required("nodeBrief.stepFilePathInPkg")?;
    Ok(NodeBrief {
        node_id: printer.value(LAYER, "nodeId", node_id),
        node_type: fields.required("nodeBrief.nodeType")?.to_owned(),
        step_file: in_package(step, LAYER, "stepFilePathInPkg", printer),
        inputs,
        outputs,
        validation,
        transitions,
    })
}

fn transition(edge: &Value, printer: &mut Printer<'_>) -> Transition {
    let text = |key: &str| edge.get(key).and_then(Value::as_str);
    let mut value = |key: &str, text: &str| printer.value("node-brief", key, text);
    Transition {
        to: value("to", text("to").unwrap_or_default()),
        label: value("label", text("label").unwrap_or_default()),
        is_default: edge.get("isDefault") == Some(&json!(true)),
        condition_text: text("conditionText")
            .filter(|condition| !condition.is_empty())
            .map(|condition| value("conditionText", condition)),
    }
}

/// Returns the data of a menu command: its preview is no longer than one read may be.
pub(super) fn data(
    fields: Fields<'_>,
    policy: &ToolPolicy,
    printer: &mut Printer<'_>,
) -> Option<Value> {
    const LAYER: &str = "data-context";
    fields.get("dataContext")?;
    let text = |key: &str| {
        let value = fields.get(&format!("dataContext.{key}"));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let path = NodeFile::new(printer.path(LAYER, "path", text("path"))).path;
    let preview = text("preview");
    let most = policy.fs.max_read_bytes.unwrap_or(u64::MAX);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let end = printer
        .mounts
        .cut_at(preview, preview.floor_char_boundary(most));
    if end < preview.len() {
        printer.lost(LAYER, "preview", Reason::Capped, preview.len() - end);
    }
    let lines: Vec<String> = preview[..end]
        .lines()
        .map(|line| printer.line(LAYER, "preview", line))
        .collect();
    let readable = policy.fs.enabled == Some(true) && !path.starts_with(REDACTED);
    let label = printer.value(LAYER, "label", text("label"));
    Some(json!({"label": label, "path": path, "preview": lines, "readable": readable}))
}
