//! What a case may say, and what is put into it.

use serde_json::json;

use super::*;
use crate::recipe::built_in;
use crate::{Inputs, Root, compose};

fn error(case: &Value) -> String {
    Case::parse(&case.to_string(), "a.json")
        .unwrap_err()
        .to_string()
}

const TOO_LONG: &str = "a.json: its texts have more than 67108864 bytes in all";

#[test]
fn what_is_no_case_is_told() {
    assert_eq!(
        Case::parse("{\n  \"input\": }", "a.json")
            .unwrap_err()
            .to_string(),
        "a.json:2: bad JSON: expected a value, found `}`"
    );
    for (case, told) in [
        (json!({}), "a.json: missing field `input`"),
        (
            json!({"input": {}, "files": {"a": 1}}),
            "a.json: not a form of a text: 1",
        ),
        (
            json!({"input": {}, "files": {"a": {"repeat": ["xxxx", 1_u64 << 40]}}}),
            TOO_LONG,
        ),
        (
            json!({"input": {}, "expected": vec![json!({"repeat": ["x", 60 << 20]}); 1000]}),
            TOO_LONG,
        ),
        (
            json!({"input": {}, "files": {
                "a": {"repeat": [{"repeat": ["x", 1 << 20]}, 60]}, "b": {"repeat": [["x", "y"], 2 << 20]}}}),
            TOO_LONG,
        ),
    ] {
        assert_eq!(error(&case), told);
    }
    // What a recipe is given is no text of the case.
    let given = json!({"input": {"repeat": ["x", 1_u64 << 40]}, "error": "x"});
    assert!(Case::parse(&given.to_string(), "a.json").is_ok());
    assert!(error(&json!({"input": {}, "inptu": 1})).starts_with("a.json: unknown field `inptu`"));
}

#[test]
fn no_path_leaves_the_folder_of_a_case() {
    for path in [
        "",
        "/etc/a",
        "../../a",
        "a/../../b",
        "..",
        "a/..",
        "../..",
        "./a",
    ] {
        for case in [
            json!({"input": {}, "files": {path: "x"}}),
            json!({"input": {}, "folders": [path]}),
            json!({"input": {}, "links": {path: "x"}}),
        ] {
            assert_eq!(
                error(&case),
                format!("a.json: `{path}` is not a path of a case")
            );
        }
    }
    let through = json!({"input": {}, "links": {"a": "/etc", "a/b": "x"}});
    assert_eq!(error(&through), "a.json: `a/b` leads through the link `a`");
    let through = json!({"input": {}, "links": {"a": "/etc"}, "files": {"a/b": "x"}});
    assert_eq!(error(&through), "a.json: `a/b` leads through the link `a`");
    let beside = json!({"input": {}, "files": {"../a": "x", "b/c": "y"}, "links": {"ab": "x"}});
    assert!(Case::parse(&beside.to_string(), "a.json").is_ok());
}

#[test]
fn what_was_composed_becomes_the_result() {
    let recipe = built_in("layers").unwrap().unwrap();
    let place = tempfile::tempdir().unwrap();
    let inputs = Inputs::new(Root::open(place.path()).unwrap());
    let text = "{\"input\": {\"rules\": \"a\\nb\", \"tools\": [{\"n\": 1.50}]}, \"error\": \"x\", \"description\": \"d\"}";
    let case = Case::parse(text, "a.json").unwrap();
    let composed = compose(recipe, &case.input, &inputs, &case.options());
    assert!(!case.differences(composed.as_ref()).is_empty());
    let updated = Case::updated(text, composed.as_ref());
    insta::assert_snapshot!(updated, @r#"
    {
      "input": {
        "rules": "a\nb",
        "tools": [
          {
            "n": 1.50
          }
        ]
      },
      "description": "d",
      "expected": [
        "a",
        "b"
      ],
      "tools": [
        {
          "n": 1.50
        }
      ]
    }
    "#);
    let case = Case::parse(&updated, "a.json").unwrap();
    assert_eq!(case.differences(composed.as_ref()), [""; 0]);
    assert_eq!(Case::updated(&updated, composed.as_ref()), updated);
}

#[test]
fn an_error_is_a_result_too() {
    let recipe = built_in("layers").unwrap().unwrap();
    let text = "{\"input\": {\"rulse\": 1}}";
    let case = Case::parse(text, "a.json").unwrap();
    let composed = compose(recipe, &case.input, &Inputs::nowhere(), &case.options());
    assert_eq!(
        case.differences(composed.as_ref()),
        ["a case needs one of `expected`, `messages` and `error`"]
    );
    let updated = Case::updated(text, composed.as_ref());
    let case = Case::parse(&updated, "a.json").unwrap();
    assert_eq!(case.differences(composed.as_ref()), [""; 0]);
}
