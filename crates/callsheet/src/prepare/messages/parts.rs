//! The blocks of a run, and the data of a menu command.

use serde_json::{Value, json};

use super::fields::{Fields, missing};
use super::printer::Printer;
use crate::blocks::{NodeBrief, NodeFile, RunDirective, Transition};
use crate::omission::Reason;
use crate::policy::ToolPolicy;
use crate::trace::Traced;
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
        graph: printer.in_package(LAYER, "graphRelPath", fields.required("graphRelPath")?)?,
        current_node_id: node.map(str::to_owned),
        effective_agent_id: printer.value(LAYER, "effectiveAgentId", agent)?,
        autopilot: fields.get("autopilot") != Some(&json!(false)),
    })
}

fn workflow(fields: Fields<'_>, printer: &mut Printer<'_>) -> Result<String, Error> {
    const LAYER: &str = "run-directive";
    let (field, value) = ["workflowRef", "workflowRef.value"]
        .into_iter()
        .find_map(|field| Some((field, fields.text(field)?)))
        .ok_or_else(|| missing("workflowRef"))?;
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
        return printer.in_package(LAYER, field, value);
    }
    printer.value(LAYER, field, value)
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
    let mut files = |list: &str| -> Result<Vec<NodeFile>, Error> {
        let names = fields.list(list).into_iter().enumerate();
        names
            .map(|(nth, name)| printer.file(LAYER, &format!("{list}[{nth}]"), name))
            .map(|name| name.map(NodeFile::new))
            .collect()
    };
    let (inputs, outputs) = (files("nodeBrief.inputs")?, files("nodeBrief.outputs")?);
    let rules = fields.list("nodeBrief.validation").into_iter().enumerate();
    let validation = rules
        .map(|(nth, rule)| printer.value(LAYER, &format!("nodeBrief.validation[{nth}]"), rule))
        .collect::<Result<_, _>>()?;
    let transitions = fields
        .get("nodeBrief.transitions")
        .and_then(Value::as_array);
    let transitions = transitions
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(nth, edge)| transition(edge, &format!("nodeBrief.transitions[{nth}]"), printer))
        .collect::<Result<_, _>>()?;
    let step = "nodeBrief.stepFilePathInPkg";
    Ok(NodeBrief {
        node_id: printer.value(LAYER, "nodeBrief.nodeId", node_id)?,
        node_type: fields.required("nodeBrief.nodeType")?.to_owned(),
        step_file: printer.in_package(LAYER, step, fields.required(step)?)?,
        inputs,
        outputs,
        validation,
        transitions,
    })
}

fn transition(edge: &Value, field: &str, printer: &mut Printer<'_>) -> Result<Transition, Error> {
    let text = |key: &str| edge.get(key).and_then(Value::as_str);
    let mut value =
        |key: &str, text: &str| printer.value("node-brief", &format!("{field}.{key}"), text);
    Ok(Transition {
        to: value("to", text("to").unwrap_or_default())?,
        label: value("label", text("label").unwrap_or_default())?,
        is_default: edge.get("isDefault") == Some(&json!(true)),
        condition_text: text("conditionText")
            .filter(|condition| !condition.is_empty())
            .map(|condition| value("conditionText", condition))
            .transpose()?,
    })
}

/// Returns the data of a menu command: its preview is no longer than one read may be.
pub(super) fn data(
    fields: Fields<'_>,
    policy: &ToolPolicy,
    printer: &mut Printer<'_>,
) -> Result<Option<Value>, Error> {
    const LAYER: &str = "data-context";
    if fields.get("dataContext").is_none() {
        return Ok(None);
    }
    let text = |field: &str| {
        let value = fields.get(field);
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let (label, path, preview) = (
        "dataContext.label",
        "dataContext.path",
        "dataContext.preview",
    );
    let whole = text(preview);
    let most = policy.fs.max_read_bytes.unwrap_or(u64::MAX);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let end = printer
        .mounts
        .cut_at(whole, whole.floor_char_boundary(most));
    if end < whole.len() {
        printer.lost(LAYER, preview, Reason::Capped, whole.len() - end);
    }
    printer.text(preview, Traced::frame(&whole[..end]))?;
    let lines: Vec<String> = whole[..end]
        .lines()
        .map(|line| printer.line(preview, line))
        .collect::<Result<_, _>>()?;
    let path = NodeFile::new(printer.file(LAYER, path, text(path))?).path;
    let label = printer.value(LAYER, label, text(label))?;
    let readable = policy.fs.enabled == Some(true);
    Ok(Some(
        json!({"label": label, "path": path, "preview": lines, "readable": readable}),
    ))
}
