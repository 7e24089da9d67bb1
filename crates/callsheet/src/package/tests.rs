use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::*;

/// A small package that is in order.
fn lay_out(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let json = |value: Value| value.to_string();
    write(
        "bmad.json",
        &json(
            json!({"schemaVersion": "1.1", "name": "p", "version": "1.0.0",
            "entry": {"workflow": "workflow.md", "graph": "workflow.graph.json", "agents": "agents.json"}}),
        ),
    );
    write(
        "agents.json",
        &json(json!({"schemaVersion": "1.1.0", "agents": [{"id": "ann",
            "metadata": {"name": "Ann", "title": "Analyst", "icon": "*"},
            "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": "p"}}]})),
    );
    write(
        "workflow.graph.json",
        &json(json!({"schemaVersion": "1.1", "entryNodeId": "a",
            "nodes": [{"id": "a", "type": "step", "file": "steps/a.md"}, {"id": "z", "type": "end", "file": "steps/z.md"}],
            "edges": [{"from": "a", "to": "z", "label": "next", "isDefault": true}]})),
    );
    write(
        "workflow.md",
        "---\nschemaVersion: \"1.1\"\nworkflowType: t\nstepsCompleted: []\ncurrentNodeId: \"\"\n---\n# W\n",
    );
    for (id, kind) in [("a", "step"), ("z", "end")] {
        write(
            &format!("steps/{id}.md"),
            &format!("---\nschemaVersion: \"1.1\"\nnodeId: {id}\ntype: {kind}\n---\nDo it.\n"),
        );
    }
}

/// Returns the problems of the package after a change to it.
fn problems(change: impl Fn(&Path)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path());
    change(folder.path());
    let issues = check(&Root::open(folder.path()).unwrap());
    issues
        .iter()
        .map(|issue| format!("{:?} {issue}", issue.severity).to_lowercase())
        .collect()
}

fn edited(file: &'static str, from: &'static str, to: &'static str) -> impl Fn(&Path) {
    move |folder: &Path| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    }
}

#[test]
fn a_package_in_order_has_no_problem() {
    assert_eq!(problems(|_| ()), Vec::<String>::new());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one flat table")]
fn every_rule_is_named_with_its_place() {
    let graph = "workflow.graph.json";
    for (change, expected) in [
        (
            edited(graph, r#""entryNodeId":"a""#, r#""entryNodeId":"b""#),
            "error workflow.graph.json#/entrynodeid: no node has the id `b`",
        ),
        (
            edited(graph, r#""to":"z""#, r#""to":"y""#),
            "error workflow.graph.json#/edges/0/to: no node has the id `y`",
        ),
        (
            edited(graph, r#""to":"z""#, r#""to":"a""#),
            "error workflow.graph.json#/edges: the edges form a circle: a → a",
        ),
        (
            edited(graph, "steps/z.md", "steps/none.md"),
            "error steps/none.md: the file does not exist",
        ),
        (
            edited(graph, "steps/z.md", "../z.md"),
            "error ../z.md: the path leads out of the package",
        ),
        (
            edited(graph, r#""type":"end""#, r#""type":"stop""#),
            "error workflow.graph.json#/nodes/1/type: `nodes[1].type`: expected one of `step`, `decision`, `merge`, `end`, `subworkflow`, found `stop`",
        ),
        (
            edited(
                graph,
                r#""type":"step""#,
                r#""type":"step","agentId":"bob""#,
            ),
            "error workflow.graph.json#/nodes/0/agentid: no agent has the id `bob`",
        ),
        (
            edited(
                graph,
                r#"{"id":"z""#,
                r#"{"id":"a","type":"step","file":"steps/a.md"},{"id":"z""#,
            ),
            "error workflow.graph.json#/nodes/1/id: the id `a` is taken by an earlier node",
        ),
        (
            edited(
                "agents.json",
                r#""icon":"*""#,
                r#""icon":"*","colour":"red""#,
            ),
            "error agents.json#/agents/0/metadata: unknown field `agents[0].metadata.colour`",
        ),
        (
            edited("agents.json", "1.1.0", "1.2"),
            "error agents.json#/schemaversion:",
        ),
        (
            edited("bmad.json", "{", "["),
            "error bmad.json: line 1: not valid json:",
        ),
        (
            edited("bmad.json", "workflow.md", "other.md"),
            "error other.md: the file does not exist",
        ),
        (
            edited("workflow.md", "---\nschema", "\n\n---\nschema"),
            "error workflow.md: blank lines stand before the frontmatter",
        ),
        (
            edited("workflow.md", "\n---\n#", "\n#"),
            "error workflow.md: the frontmatter has no closing `---`",
        ),
        (
            edited("workflow.md", "stepsCompleted: []\n", ""),
            "error workflow.md: missing field `stepscompleted`",
        ),
        (
            edited("workflow.md", "currentNodeId: \"\"", "currentNodeId: gone"),
            "error workflow.md#/currentnodeid: no node has the id `gone`",
        ),
        (
            edited("steps/a.md", "nodeId: a", "nodeId: b"),
            "warning steps/a.md#/nodeid: `nodeid` is `b`, but the graph says `a`",
        ),
        (
            edited("steps/a.md", "---\nschema", "- x\nschema"),
            "error steps/a.md: the file has no frontmatter",
        ),
    ] {
        let problems = problems(change);
        assert!(
            problems.iter().any(|problem| problem.starts_with(expected)),
            "{expected}: {problems:#?}"
        );
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let problems = problems(|folder| {
        edited("agents.json", "1.1.0", "2")(folder);
        edited("steps/a.md", "type: step", "type: stp")(folder);
        edited("workflow.md", "workflowType: t", "workflowType: \"\"")(folder);
        fs::remove_file(folder.join("steps/z.md")).unwrap();
    });
    assert_eq!(problems.len(), 4, "{problems:#?}");
}

#[test]
fn agents_are_found_by_their_id() {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path());
    let package = Package::open(&Root::open(folder.path()).unwrap()).unwrap();
    let agent = get_agent_definition(&package, "ann").unwrap();
    assert_eq!(agent["metadata"]["title"], "Analyst");
    let error = get_agent_definition(&package, "anne").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.allowed()),
        ("no agent named `anne`", ["ann".to_owned()].as_slice())
    );
    assert!(
        package
            .workflow(Some("other"))
            .unwrap_err()
            .to_string()
            .starts_with("WORKFLOW_REF_MISMATCH")
    );
    assert_eq!(package.workflow(None).unwrap().file, "workflow.md");
}

#[test]
fn a_problem_of_one_document_hides_no_problem_of_another() {
    let told = problems(|folder| {
        for (file, from, to) in [
            ("bmad.json", "\"1.0.0\"", "\"1\""),
            ("agents.json", "\"icon\"", "\"icno\""),
            (
                "workflow.graph.json",
                "\"label\":\"next\"",
                "\"label\":\"\"",
            ),
            (
                "workflow.graph.json",
                "\"entryNodeId\":\"a\"",
                "\"entryNodeId\":\"b\"",
            ),
            ("workflow.md", "stepsCompleted: []\n", ""),
            (
                "workflow.md",
                "currentNodeId: \"\"",
                "currentNodeId: nowhere",
            ),
            ("steps/a.md", "nodeId: a\n", ""),
        ] {
            edited(file, from, to)(folder);
        }
    });
    let files: Vec<&str> = told
        .iter()
        .filter_map(|line| line.split_whitespace().nth(1))
        .map(|place| place.trim_end_matches(':'))
        .collect();
    assert_eq!(
        files,
        [
            "bmad.json#/version",
            "agents.json#/agents/0/metadata",
            "agents.json#/agents/0/metadata",
            "workflow.md",
            "workflow.graph.json#/edges/0/label",
            "workflow.graph.json#/entrynodeid",
            "workflow.graph.json#/nodes",
            "workflow.md#/currentnodeid",
            "steps/a.md",
        ]
    );
}
