//! A run document with what was found out or decided after the run finished.
//!
//! The run itself never changes: an annotation stands beside it, and is merged into the document when it is shown.

use serde_json::{Value, json};

use super::status::Approval;

/// The kind of an annotation that decides about a violation: its name is the id of the violation, its value `{"approval"}`.
pub const VIOLATION: &str = "violation";
/// The kind of an annotation with a check that was run again: its name is that of the check, its value the new result.
pub const CHECK: &str = "check";
/// The kind of an annotation with a merge: its value says what was merged into what.
pub const MERGE: &str = "merge";

/// Returns the document of a run with its annotations merged into it.
///
/// `annotations` is an array of `{"at", "kind", "name", "value"}`, the oldest first.
///
/// - Each violation has `approval` and `decided_at`. A decision stands: only the first one about a violation counts.
/// - A check that was run again stands in the place of the one before, and is as required as that was; one that is new
///   comes last.
/// - `merge` is the value of the latest merge with its time as `at`, where there was one.
///
/// What is not of the expected shape stays as it is.
pub fn annotated(document: &Value, annotations: &Value) -> Value {
    let mut document = document.clone();
    let none = Vec::new();
    let annotations = annotations.as_array().unwrap_or(&none);
    let of = |kind: &'static str| {
        let named = annotations.iter().filter(|one| one["name"].is_string());
        named.filter(move |one| one["kind"] == kind)
    };
    if let Some(violations) = list(&mut document, "violations") {
        for violation in violations.iter_mut().filter(|one| one.is_object()) {
            let mut about = of(VIOLATION).filter(|one| one["name"] == violation["id"]);
            let (approval, at) = about
                .find_map(decision)
                .unwrap_or((Approval::Pending, &Value::Null));
            violation["approval"] = json!(approval);
            violation["decided_at"] = at.clone();
        }
    }
    if let Some(checks) = list(&mut document, "checks") {
        for again in of(CHECK).filter(|one| one["value"].is_object()) {
            let before = checks
                .iter_mut()
                .find(|check| check["name"] == again["name"]);
            let mut check = again["value"].clone();
            check["name"] = again["name"].clone();
            match before {
                Some(before) => {
                    // Whether a check is required was frozen with the run.
                    check["required"] = before["required"].clone();
                    *before = check;
                }
                None => checks.push(check),
            }
        }
    }
    let merge = of(MERGE).next_back().filter(|one| one["value"].is_object());
    if let (Some(merge), true) = (merge, document.is_object()) {
        document["merge"] = merge["value"].clone();
        document["merge"]["at"] = merge["at"].clone();
    }
    document
}

fn list<'a>(document: &'a mut Value, field: &str) -> Option<&'a mut Vec<Value>> {
    document.get_mut(field)?.as_array_mut()
}

/// Returns what an annotation decides, and when.
fn decision(annotation: &Value) -> Option<(Approval, &Value)> {
    let approval = match annotation["value"]["approval"].as_str()? {
        "approved" => Approval::Approved,
        "rejected" => Approval::Rejected,
        _ => return None,
    };
    Some((approval, &annotation["at"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_merged_where_they_belong() {
        let document = json!({
            "id": "r1",
            "checks": [{"name": "lint", "required": false, "status": "passed"}, {"name": "test", "required": true, "status": "failed", "exit_code": 1}],
            "violations": [{"id": "r1.1", "path": "a"}, {"id": "r1.2", "path": "b"}, {"id": "r1.3", "path": "c"}],
        });
        let annotations = json!([
            {"at": 1, "kind": "check", "name": "test", "value": {"status": "failed"}},
            {"at": 2, "kind": "violation", "name": "r1.2", "value": {"approval": "approved"}},
            {"at": 3, "kind": "violation", "name": "r1.2", "value": {"approval": "rejected"}},
            {"at": 4, "kind": "violation", "name": "r1.3", "value": {"approval": "perhaps"}},
            {"at": 5, "kind": "violation", "name": "r1.3", "value": {"approval": "rejected"}},
            {"at": 6, "kind": "check", "name": "test", "value": {"name": "lint", "required": false, "status": "passed", "exit_code": 0}},
            {"at": 7, "kind": "check", "name": "new", "value": {"status": "passed"}},
            {"at": 8, "kind": "merge", "name": "main", "value": {"commit": "c1"}},
            {"at": 9, "kind": "merge", "name": "main", "value": {"commit": "c2"}},
            {"at": 10, "kind": "violation", "name": "r2.1", "value": {"approval": "approved"}},
        ]);
        let shown = annotated(&document, &annotations);
        let lines = ["checks", "violations"].map(|list| shown[list].as_array().unwrap().clone());
        let lines = lines.concat().into_iter().chain([shown["merge"].clone()]);
        let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
    {"name":"lint","required":false,"status":"passed"}
    {"name":"test","required":true,"status":"passed","exit_code":0}
    {"status":"passed","name":"new"}
    {"id":"r1.1","path":"a","approval":"pending","decided_at":null}
    {"id":"r1.2","path":"b","approval":"approved","decided_at":2}
    {"id":"r1.3","path":"c","approval":"rejected","decided_at":5}
    {"commit":"c2","at":9}
    "#);
    }

    #[test]
    fn what_is_not_of_the_expected_shape_stays_as_it_is() {
        for document in [
            json!(null),
            json!([1]),
            json!({"violations": null, "checks": "none"}),
            json!({"violations": [1, "two"], "checks": [3]}),
        ] {
            for annotations in [
                json!(null),
                json!([1, {}, {"kind": "check", "value": 1}, {"kind": "merge"}]),
            ] {
                assert_eq!(annotated(&document, &annotations), document);
            }
        }
    }
}
