//! `state`: what a change leaves alone, and what it does not take.

use crate::project::Project;

const STATE: &str = "---
schemaVersion: \"1.1\"
workflowType: t
stepsCompleted: []
currentNodeId: step-01
# what the run knows
variables:
  price: 1.10 # with its zero

  id: 12345678901234567890123
  tone: \"dry\"   # as they like it
---
Body
";

/// A package with two steps, and a run of it.
fn project() -> Project {
    let project = Project::new();
    project
        .file("pkg/bmad.json", r#"{"schemaVersion": "1.1", "name": "p", "version": "1.0.0",
            "entry": {"workflow": "workflow.md", "graph": "graph.json", "agents": "agents.json"}}"#)
        .file("pkg/agents.json", r#"{"schemaVersion": "1.1", "agents": [{"id": "ann", "metadata": {"name": "Ann", "title": "T", "icon": "*"},
            "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": "p"}}]}"#)
        .file("pkg/graph.json", r#"{"schemaVersion": "1.1", "entryNodeId": "step-01",
            "nodes": [{"id": "step-01", "type": "step", "file": "a.md"}, {"id": "step-02", "type": "end", "file": "b.md"}],
            "edges": [{"from": "step-01", "to": "step-02", "label": "next"}]}"#)
        .file("run/workflow.md", STATE);
    project
}

fn set(project: &Project, args: &[&str]) -> String {
    project.callsheet(&[&["state", "set", "run", "--package", "pkg"], args].concat())
}

#[test]
fn only_the_lines_of_a_change_change() {
    let project = project();
    let shown = set(
        &project,
        &["-D", "price:=2.50", "-D", "new=x", "-D", "e:=1E5"],
    );
    assert!(shown.starts_with("exit: 0"), "{shown}");
    assert_eq!(
        project.read("run/workflow.md"),
        STATE
            .replace("1.10 #", "2.50 #")
            .replace("like it\n", "like it\n  new: x\n  e: 1E5\n")
    );
    project.file(
        "change.json",
        r#"{"variables": {"set": {"e": 2E5}}, "stepsCompleted": {"append": ["step-01"]}}"#,
    );
    let shown = set(&project, &["--update", "change.json"]);
    assert!(shown.starts_with("exit: 0"), "{shown}");
    let text = project.read("run/workflow.md");
    assert!(text.contains("\n  e: 2E5\n"), "{text}");
    assert!(text.contains("\nstepsCompleted: [step-01]\n"), "{text}");
}

#[test]
fn a_step_that_the_graph_does_not_have() {
    let project = project();
    insta::assert_snapshot!(set(&project, &["--done", "step-10"]), @"
    exit: 2
    --- stderr
    error: E_SCHEMA_VALIDATION: `stepsCompleted`: the graph has no node `step-10`
    hint: did you mean `step-01`?
    ");
    insta::assert_snapshot!(set(&project, &["--done", "elsewhere"]), @"
    exit: 2
    --- stderr
    error: E_SCHEMA_VALIDATION: `stepsCompleted`: the graph has no node `elsewhere`
    hint: there are `step-01`, `step-02`
    ");
    insta::assert_snapshot!(set(&project, &["--go", "step-2"]), @"
    exit: 2
    --- stderr
    error: E_INVALID_TRANSITION: no edge leads from `step-01` to `step-2`; allowed: `step-02`
    hint: did you mean `step-02`?
    ");
    project.file("new.md", STATE.replace("[]", "[nowhere]"));
    insta::assert_snapshot!(set(&project, &["--text", "new.md"]), @"
    exit: 2
    --- stderr
    error: E_SCHEMA_VALIDATION: `stepsCompleted`: the graph has no node `nowhere`
    hint: there are `step-01`, `step-02`
    ");
    assert_eq!(project.read("run/workflow.md"), STATE);
}

#[test]
fn a_change_that_cannot_be_read() {
    let project = project();
    let said = |text: &str| {
        project.file("change.json", text);
        set(&project, &["--update", "change.json"])
    };
    insta::assert_snapshot!(said("{\"variables\": {\"set\": {\"a\": 1,\n\"a\": 2}}}"), @"
    exit: 2
    --- stderr
    error: change.json:2: malformed JSON: the key `a` is there twice, first in line 1
    hint: only one of the values would count; remove the other
    ");
    insta::assert_snapshot!(said(r#"{"stepsCompleted": {"append": "x"}}"#), @"
    exit: 2
    --- stderr
    error: change.json: `stepsCompleted`: expected a list, found the text `x`
    ");
    insta::assert_snapshot!(said(r#"{"currentNodeId": {"sett": "x"}}"#), @"
    exit: 2
    --- stderr
    error: change.json: `currentNodeId`: unknown field `sett`, expected `set`
    ");
    insta::assert_snapshot!(said(r#"{"currentNode": {"set": "x"}}"#), @"
    exit: 2
    --- stderr
    error: change.json: unknown field `currentNode`, expected one of `stepsCompleted`, `variables`, `decisionLog`, `artifacts`, `currentNodeId`, `updatedAt`
    ");
    insta::assert_snapshot!(said("[]"), @"
    exit: 2
    --- stderr
    error: change.json: expected an object with changes
    ");
}

#[test]
fn a_package_with_several_workflows() {
    let project = project();
    project.file(
        "pkg/bmad.json",
        r#"{"schemaVersion": "1.1", "name": "p", "version": "1.0.0",
        "entry": {"workflow": "workflow.md", "graph": "graph.json", "agents": "agents.json"},
        "workflows": [{"id": "one", "workflow": "workflow.md", "graph": "graph.json"},
            {"id": "two", "workflow": "workflow.md", "graph": "graph.json"}]}"#,
    );
    insta::assert_snapshot!(project.callsheet(&["state", "show", "run", "--package", "pkg"]), @"
    exit: 2
    --- stderr
    error: WORKFLOW_REF_REQUIRED: the package has several workflows
    hint: name one with `--workflow`: `one`, `two`
    ");
    insta::assert_snapshot!(project.callsheet(&["state", "show", "run", "--package", "pkg", "--workflow", "tow"]), @"
    exit: 2
    --- stderr
    error: WORKFLOW_REF_UNKNOWN: the package has no workflow `tow`
    hint: did you mean `two`?
    ");
    insta::assert_snapshot!(project.callsheet(&["state", "show", "run", "--package", "pkg", "--workflow", "two"]), @"
    exit: 0
    --- stdout
    node         step-01 (step)
    done         -
    completed    no
    next         step-02 (next)
    fingerprint  b3:feb7eca98e667616c934d7e45f059b08f59a0fdc58e99053573fbab7421c7de7
    ");
}

#[test]
fn a_change_that_cannot_be_written_in_place() {
    let project = project();
    project.file(
        "run/workflow.md",
        STATE.replace("1.10", "&p 1.10").replace("\"dry\"", "*p"),
    );
    insta::assert_snapshot!(set(&project, &["-D", "price:=2"]), @"
    exit: 2
    --- stderr
    error: E_INVALID_FRONTMATTER: `variables` cannot be changed as the frontmatter is written
    hint: `--text FILE` takes the whole new text
    ");
}
