//! The proof of a run: the facts that a decision about it can rest on, and where they come from.
//!
//! It passes no verdict. Texts of prompts and outputs of checks are not in it; hashes and names refer to them.

use serde_json::{Map, Value, json};

use super::annotated::annotated;

/// The name and version of the shape, as all documents have it.
pub(crate) const PROOF_SCHEMA: &str = "callsheet.proof/1";
/// The version of the bundle, as other tools know it.
pub(crate) const PROOF_VERSION: &str = "1.0";

/// Returns the proof of a run.
///
/// `request` is what was frozen when the run was queued, `document` the run document without annotations, `annotations` an
/// array as [`annotated`] takes it, and `generated_at` the current time, in the unit of the other times. What is not known
/// is null.
pub fn proof(request: &Value, document: &Value, annotations: &Value, generated_at: i64) -> Value {
    let run = annotated(document, annotations);
    let violation = ["id", "path", "reason", "approval", "decided_at"];
    json!({
        "schema": PROOF_SCHEMA,
        "version": PROOF_VERSION,
        "run_id": run["id"],
        "task_id": run["task"],
        "generated_at": generated_at,
        "prompt_hash": run["delivered"]["prompt"]["fingerprint"],
        "scope_snapshot": request["scope"],
        "dod_snapshot": request["checks"],
        "changed_files": run["changed_files"],
        "diff_stat": fields(&run["diff_stat"], &["added", "deleted", "files"]),
        "head_sha": run["head"],
        "result": run["result"],
        "exit_code": run["exit_code"],
        "dod_results": rows(&run["checks"], &["name", "status", "exit_code", "tree"]),
        "scope_violations": rows(&run["violations"], &violation),
    })
}

/// Returns each entry of a list with these fields only; null if it is not a list.
fn rows(list: &Value, names: &[&str]) -> Value {
    let Some(rows) = list.as_array() else {
        return Value::Null;
    };
    rows.iter().map(|row| fields(row, names)).collect()
}

/// Returns an object with these fields only, in this order; null if it is not an object.
fn fields(object: &Value, names: &[&str]) -> Value {
    if !object.is_object() {
        return Value::Null;
    }
    let field = |name: &&str| ((*name).to_owned(), object[*name].clone());
    Value::Object(names.iter().map(field).collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pretty(value: &Value) -> String {
        serde_json::to_string_pretty(value).unwrap()
    }

    #[test]
    fn a_proof_has_the_facts_with_what_came_after_the_run() {
        let request = json!({
            "task": "t1",
            "scope": {"version": 1, "write": ["src/**"], "exclude": [], "sources": {"project": [], "profile": [], "task": ["src/**"]}},
            "checks": [{"name": "test", "command": ["./test"], "timeout_s": 600, "required": true}],
        });
        let document = json!({
            "schema": "callsheet.run/1", "id": "r1", "task": "t1", "status": "completed", "exit_code": 0,
            "head": "h1", "result": "k1", "dirty": true,
            "delivered": {"prompt": {"fingerprint": "b3:00", "bytes": 5, "read": 5}, "system": null},
            "changed_files": ["README.md", "src/a.rs"],
            "diff_stat": {"added": 3, "deleted": 1, "files": 2, "binary": 0},
            "checks": [{"name": "test", "required": true, "status": "failed", "exit_code": 1, "tree": "a", "took_ms": 5, "output": "no"}],
            "violations": [{"id": "r1.1", "path": "README.md", "reason": "outside_write"}],
        });
        let annotations = json!([
            {"at": 1000, "kind": "violation", "name": "r1.1", "value": {"approval": "approved"}},
            {"at": 2000, "kind": "check", "name": "test", "value": {"required": true, "status": "passed", "exit_code": 0, "tree": "b"}},
        ]);
        insta::assert_snapshot!(pretty(&proof(&request, &document, &annotations, 3000)), @r#"
    {
      "schema": "callsheet.proof/1",
      "version": "1.0",
      "run_id": "r1",
      "task_id": "t1",
      "generated_at": 3000,
      "prompt_hash": "b3:00",
      "scope_snapshot": {
        "version": 1,
        "write": [
          "src/**"
        ],
        "exclude": [],
        "sources": {
          "project": [],
          "profile": [],
          "task": [
            "src/**"
          ]
        }
      },
      "dod_snapshot": [
        {
          "name": "test",
          "command": [
            "./test"
          ],
          "timeout_s": 600,
          "required": true
        }
      ],
      "changed_files": [
        "README.md",
        "src/a.rs"
      ],
      "diff_stat": {
        "added": 3,
        "deleted": 1,
        "files": 2
      },
      "head_sha": "h1",
      "result": "k1",
      "exit_code": 0,
      "dod_results": [
        {
          "name": "test",
          "status": "passed",
          "exit_code": 0,
          "tree": "b"
        }
      ],
      "scope_violations": [
        {
          "id": "r1.1",
          "path": "README.md",
          "reason": "outside_write",
          "approval": "approved",
          "decided_at": 1000
        }
      ]
    }
    "#);
    }

    #[test]
    fn what_is_not_known_is_null() {
        let known = json!({"id": "r1", "checks": [1, {"name": "test"}], "violations": []});
        insta::assert_snapshot!(pretty(&proof(&json!(null), &known, &json!([]), 0)), @r#"
    {
      "schema": "callsheet.proof/1",
      "version": "1.0",
      "run_id": "r1",
      "task_id": null,
      "generated_at": 0,
      "prompt_hash": null,
      "scope_snapshot": null,
      "dod_snapshot": null,
      "changed_files": null,
      "diff_stat": null,
      "head_sha": null,
      "result": null,
      "exit_code": null,
      "dod_results": [
        null,
        {
          "name": "test",
          "status": null,
          "exit_code": null,
          "tree": null
        }
      ],
      "scope_violations": []
    }
    "#);
    }
}
