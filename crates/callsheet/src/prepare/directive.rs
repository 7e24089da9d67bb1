//! The function `directive`: what a turn of a run is about.

use serde_json::json;

use super::fields::{FieldText, Fields, missing};
use super::lines::LineValues;
use super::made::Made;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// Returns what a turn of a run is about; the node is that of the brief, where there is one.
pub(super) fn directive(
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Made>, Error> {
    if !fields.is_run() {
        return Ok(None);
    }
    let agent = ["effectiveAgentId", "activeAgentId", "agentDefinition.id"];
    let agent = agent.into_iter().find_map(|path| fields.field_text(path));
    let agent = agent.ok_or_else(|| missing("effectiveAgentId"))?;
    let intent = lines.value(fields.required("intent")?)?;
    let workflow = workflow(fields, lines)?;
    let graph = lines.in_package(fields.required("graphRelPath")?)?;
    let agent = lines.value(FieldText {
        path: "effectiveAgentId".to_owned(),
        ..agent
    })?;
    let mut made = vec![
        ("intent", intent.into()),
        ("workflow", workflow.into()),
        ("graph", graph.into()),
        ("effectiveAgentId", agent.into()),
        (
            "autopilot",
            Made::Flag(fields.get("autopilot") != Some(&json!(false))),
        ),
    ];
    if let Some(node) = fields.field_text("brief.nodeId") {
        made.push(("currentNodeId", node.text.into()));
    }
    Ok(Some(Made::Fields(made)))
}

/// Returns the id of the workflow, or its file in the package.
fn workflow(fields: Fields<'_>, lines: &mut LineValues<'_>) -> Result<Traced, Error> {
    let mut paths = ["workflowRef", "workflowRef.value"].into_iter();
    let told = paths.find_map(|path| fields.field_text(path));
    let told = told.ok_or_else(|| missing("workflowRef"))?;
    let lower = told.text.text().to_lowercase();
    let classic = [".yaml", ".yml", ".xml"];
    if classic.iter().any(|end| lower.ends_with(end)) {
        let detail = format!(
            "`workflowRef`: NotSupportedClassicWorkflow: `{}` is a classic workflow; a run needs one of micro files",
            lines.mounts.sanitise(told.text.text())
        );
        return Err(Error::new(ErrorKind::BadInput, detail));
    }
    if fields.text("workflowRef.type") == Some("packagePath") {
        return lines.in_package(told);
    }
    lines.value(told)
}
