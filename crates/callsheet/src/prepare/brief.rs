//! The function `brief`: the current node of a run, its files, and where it may lead.

use serde_json::{Value, json};

use super::fields::{FieldText, Fields, missing};
use super::lines::LineValues;
use super::made::Made;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// Returns the brief of the current node, which a run that goes on has to have.
pub(super) fn brief(fields: Fields<'_>, lines: &mut LineValues<'_>) -> Result<Option<Made>, Error> {
    if !fields.is_run() || completed(fields) {
        return Ok(None);
    }
    fields.get("nodeBrief").ok_or_else(|| {
        missing("nodeBrief").because("a run that is not completed needs the brief of its node")
    })?;
    let node = fields.required("nodeBrief.nodeId")?;
    check_current(fields, &node, lines)?;
    let (inputs, outputs) = (
        files(fields, "nodeBrief.inputs", lines)?,
        files(fields, "nodeBrief.outputs", lines)?,
    );
    let rules = fields.list("nodeBrief.validation");
    let rules: Vec<Traced> = rules
        .map(|rule| lines.value(rule))
        .collect::<Result<_, _>>()?;
    let ways = fields.items("nodeBrief.transitions");
    let ways: Vec<Made> = ways
        .map(|(path, way)| transition(fields, &path, way, lines))
        .collect::<Result<_, _>>()?;
    let node = lines.value(node)?;
    let kind = lines.value(fields.required("nodeBrief.nodeType")?)?;
    let step = lines.in_package(fields.required("nodeBrief.stepFilePathInPkg")?)?;
    Ok(Some(Made::Fields(vec![
        ("nodeId", node.into()),
        ("nodeType", kind.into()),
        ("stepFile", step.into()),
        ("inputs", inputs),
        ("outputs", outputs),
        ("validation", rules.into()),
        ("transitions", Made::List(ways)),
    ])))
}

/// Tells whether the workflow of a run has ended.
///
/// Where the input does not say so, the state does: its variable `workflowStatus`, or an end node that is done.
fn completed(fields: Fields<'_>) -> bool {
    if let Some(told) = fields.get("workflowCompleted").and_then(Value::as_bool) {
        return told;
    }
    let status = fields.get("stateSummary.variables.workflowStatus");
    let mut done = fields.items("stateSummary.stepsCompleted");
    let at_end = fields.text("nodeBrief.nodeType") == Some("end")
        && fields
            .text("nodeBrief.nodeId")
            .is_some_and(|node| done.any(|(_, done)| done == node));
    status.and_then(Value::as_str) == Some("complete") || at_end
}

/// Fails if the state is at another node.
fn check_current(
    fields: Fields<'_>,
    node: &FieldText,
    lines: &LineValues<'_>,
) -> Result<(), Error> {
    let current = fields.text("stateSummary.currentNodeId");
    let Some(current) = current.filter(|current| current.trim() != node.text.text()) else {
        return Ok(());
    };
    let (node, current) = (
        lines.mounts.sanitise(node.text.text()),
        lines.mounts.sanitise(current),
    );
    let detail =
        format!("`nodeBrief.nodeId` is `{node}`, but `stateSummary.currentNodeId` is `{current}`");
    Err(Error::new(ErrorKind::BadInput, detail))
}

/// Returns files as the node names them, and where they are.
fn files(fields: Fields<'_>, list: &str, lines: &mut LineValues<'_>) -> Result<Made, Error> {
    let files = fields.list(list).map(|name| {
        let name = lines.file(name)?;
        let path = LineValues::placed(&name);
        Ok(Made::Fields(vec![
            ("name", name.into()),
            ("path", path.into()),
        ]))
    });
    files.collect::<Result<_, Error>>().map(Made::List)
}

fn transition(
    fields: Fields<'_>,
    path: &str,
    way: &Value,
    lines: &mut LineValues<'_>,
) -> Result<Made, Error> {
    let text = |key: &str| way.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut value = |key: &str| lines.value(fields.known(format!("{path}.{key}"), text(key)));
    let is_default = way.get("isDefault") == Some(&json!(true));
    let mut made = vec![
        ("to", value("to")?.into()),
        ("label", value("label")?.into()),
        ("isDefault", Made::Flag(is_default)),
    ];
    if !text("conditionText").is_empty() {
        made.push(("conditionText", value("conditionText")?.into()));
    }
    Ok(Made::Fields(made))
}
