use serde_json::json;

use super::*;

const OLD: &str = "---\n# who made this\nschemaVersion: \"1.1\"\nworkflowType: t # a kind\nstepsCompleted:\n  - a\ncurrentNodeId: b\n\n# values\nvariables: {x: 1}\nextra: 1.10\n---\n\n# Body\r\n---\nkept  \n";

fn graph() -> Graph {
    let node = |id: &str| json!({"id": id, "type": if id == "z" { "end" } else { "step" }, "file": "s.md"});
    let edge = |from: &str, to: &str| json!({"from": from, "to": to, "label": "next"});
    Graph::from_value(&json!({
        "entryNodeId": "a", "nodes": [node("a"), node("b"), node("c"), node("z")],
        "edges": [edge("a", "b"), edge("b", "c"), edge("c", "z")],
    }))
    .unwrap()
}

fn change(value: serde_json::Value) -> Result<String, StateError> {
    update(OLD, &graph(), &serde_json::from_value(value).unwrap(), None)
}

fn code(result: Result<String, StateError>) -> &'static str {
    result.unwrap_err().code.as_str()
}

#[test]
fn only_the_changed_keys_change() {
    let new = change(json!({
        "stepsCompleted": {"append": ["b", "a"]}, "currentNodeId": {"set": "c"}, "variables": {"set": {"y": "two\nlines"}},
        "artifacts": {"append": ["artifacts/x.md"]}, "decisionLog": {"append": [{"from": "b", "to": "c", "label": "next"}]},
        "updatedAt": {"set": "2026-01-02T03:04:05Z"},
    }))
    .unwrap();
    assert_eq!(
        new,
        "---\n# who made this\nschemaVersion: \"1.1\"\nworkflowType: t # a kind\nstepsCompleted:\n  - a\n  - b\ncurrentNodeId: c\n\n# values\nvariables: {x: 1, \"y\": \"two\\nlines\"}\nextra: 1.10\nartifacts:\n  - artifacts/x.md\ndecisionLog:\n  - {\"from\":\"b\",\"to\":\"c\",\"label\":\"next\"}\nupdatedAt: \"2026-01-02T03:04:05Z\"\n---\n\n# Body\r\n---\nkept  \n"
    );
    assert_eq!(change(json!({})).unwrap(), OLD, "nothing to change");
    let flow = "---\n{schemaVersion: \"1.1\", workflowType: t, stepsCompleted: [], currentNodeId: \"\"}\n---\nbody";
    let append = serde_json::from_value(json!({"stepsCompleted": {"append": ["a"]}})).unwrap();
    let new = update(flow, &graph(), &append, None).unwrap();
    assert_eq!(State::parse(new.clone()).unwrap().steps_completed(), ["a"]);
    assert!(new.ends_with("\n---\nbody"));
}

#[test]
fn a_run_goes_along_the_graph_only() {
    let error = change(json!({"currentNodeId": {"set": "z"}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "E_INVALID_TRANSITION: no edge leads from `b` to `z`; allowed: `c`"
    );
    assert_eq!(
        error.details,
        json!({"from": "b", "to": "z", "allowedNext": [{"to": "c", "label": "next"}]})
    );
    assert_eq!(
        code(change(json!({"currentNodeId": {"set": "nowhere"}}))),
        "E_INVALID_TRANSITION"
    );
    assert!(
        change(json!({"currentNodeId": {"set": "b"}})).is_ok(),
        "staying is not a transition"
    );
}

#[test]
fn a_new_text_is_guarded_like_a_change() {
    let put = |new: &str| replace(OLD, new, &graph(), None);
    assert_eq!(
        put(&OLD.replace("currentNodeId: b", "currentNodeId: c"))
            .unwrap()
            .matches("kept")
            .count(),
        1
    );
    assert_eq!(code(put("no header")), "E_INVALID_FRONTMATTER");
    assert_eq!(
        code(put(&OLD.replace("variables: {x: 1}", "variables: {x: "))),
        "E_INVALID_FRONTMATTER"
    );
    assert_eq!(
        code(put(&OLD.replace("workflowType: t", "workflowType: 5"))),
        "E_SCHEMA_VALIDATION"
    );
    assert_eq!(
        code(put(&OLD.replace("  - a\n", "  - b\n"))),
        "E_SCHEMA_VALIDATION"
    );
    let other = Fingerprint::of("another");
    assert_eq!(
        code(replace(OLD, OLD, &graph(), Some(other))),
        "E_PRECONDITION_FAILED"
    );
    assert!(replace(OLD, OLD, &graph(), Some(Fingerprint::of(OLD))).is_ok());
}

#[test]
fn artifacts_are_relative_to_the_project() {
    let append = |path: &str| {
        let change = serde_json::json!({"artifacts": {"append": [path]}});
        let change: Update = serde_json::from_value(change).unwrap();
        update(OLD, &graph(), &change, None)
    };
    assert!(append("artifacts/a..b.md").is_ok());
    for path in ["/etc/x", "../x", "a/../../x", "C:\\x", "~/x", "@pkg/x", ""] {
        let error = append(path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "E_SCHEMA_VALIDATION: `artifacts` are relative to the project; `{path}` is not"
            )
        );
    }
}

#[test]
fn reading_has_its_own_codes() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::open(folder.path()).unwrap();
    assert_eq!(
        State::read(&root).unwrap_err().code,
        StateCode::StateFileNotFound
    );
    std::fs::write(folder.path().join(STATE_FILE), [0xff]).unwrap();
    assert_eq!(
        State::read(&root).unwrap_err().code,
        StateCode::StateFileReadFailed
    );
    assert_eq!(
        State::parse("x").unwrap_err().code,
        StateCode::FrontmatterParseFailed
    );
    assert_eq!(
        State::parse("---\na: 1\n---\n").unwrap_err().code,
        StateCode::FrontmatterSchemaInvalid
    );
    let lost = State::parse(OLD.replace("currentNodeId: b", "currentNodeId: q")).unwrap();
    let error = lost.current_node(&graph()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "CURRENT_NODE_INVALID: the graph has no node `q`; it has `a`, `b`, `c`, `z`"
    );
    let done = OLD
        .replace("currentNodeId: b", "currentNodeId: z")
        .replace("  - a\n", "  - z\n");
    assert!(State::parse(done).unwrap().is_completed(&graph()));
    assert!(
        State::parse(OLD.replace("{x: 1}", "{workflowStatus: complete}"))
            .unwrap()
            .is_completed(&graph())
    );
    assert!(!State::parse(OLD).unwrap().is_completed(&graph()));
}
