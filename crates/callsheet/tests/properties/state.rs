//! What holds for every change of a state: the body and all other keys stay, and what was set reads back.

use callsheet::package::Graph;
use callsheet::state::{State, Update, update};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cases;

/// Returns a graph of two nodes, and a third one that no way leads to.
fn graph(third: &str) -> Graph {
    let step = |id: &str| json!({"id": id, "type": "step", "file": "a.md"});
    serde_json::from_value(json!({
        "entryNodeId": "a",
        "nodes": [step("a"), {"id": "b", "type": "end", "file": "b.md"}, step(third)],
        "edges": [{"from": "a", "to": "b", "label": "next"}],
    }))
    .unwrap()
}

/// Texts that YAML could take for something else, and any others that it can hold.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~é\n\t]{0,12}",
        "[\u{20}-\u{7e}\u{a0}-\u{d7ff}]{0,6}",
        prop::sample::select(vec![
            "yes",
            "null",
            "~",
            "1.10",
            "0x1",
            "- a",
            "a: b",
            "#c",
            "---",
            "...",
            "{",
            "[",
            "*a",
            "&a",
            "!t",
            "|",
            ">",
            "%x",
            "'",
            "\"",
            "2026-01-01",
            " lead",
            "trail ",
            "\n",
            "true",
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::collection::vec(any_text(), 0..3).prop_map(|items| json!({"list": items})),
    ]
}

/// Headers with comments, blanks and values in several styles.
fn any_state() -> impl Strategy<Value = String> {
    let head = prop::sample::select(vec![
        "",
        "# a comment\n",
        "\n",
        "extra: [1, 2]\n",
        "note: |\n  two\n  lines\n",
    ]);
    let done = prop::sample::select(vec![
        "stepsCompleted: []\n",
        "stepsCompleted:\n- x\n- y\n",
        "stepsCompleted: [x] # done\n",
    ]);
    let tail = prop::sample::select(vec![
        "",
        "variables: {k: 1}\n",
        "variables:\n  k: v # here\n\n# end\n",
        "zeta: 1.10\n",
    ]);
    let body = prop_oneof![any_text(), Just("---\nmore\r\n".to_owned())];
    (head.clone(), done, head.prop_map(|text| text.replace("extra", "other").replace("note", "memo")), tail, body)
        .prop_map(|(one, done, two, tail, body)| {
            format!("---\n{one}schemaVersion: '1.1'\nworkflowType: t\n{done}{two}currentNodeId: a # here\n{tail}---\n{body}")
        })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_is_set_reads_back_and_the_rest_stays(
        old in any_state(), name in any_text(), value in any_value(), step in any_text(), go in any::<bool>(),
    ) {
        let mut change = json!({"variables": {"set": {name.clone(): value}}, "stepsCompleted": {"append": [step.clone()]}});
        if go {
            change["currentNodeId"] = json!({"set": "b"});
        }
        let change: Update = serde_json::from_value(change).unwrap();
        let new = update(&old, &graph(&step), &change, None).unwrap();
        let (before, after) = (State::parse(old.as_str()).unwrap(), State::parse(new.as_str()).unwrap());
        prop_assert_eq!(&after.fields()["variables"][&name], &value);
        prop_assert_eq!(after.steps_completed().into_iter().filter(|done| *done == step).count(), 1);
        prop_assert!(before.steps_completed().iter().all(|done| after.steps_completed().contains(done)));
        prop_assert_eq!(&after.fields()["currentNodeId"], if go { "b" } else { "a" });
        for (key, value) in before.fields() {
            if !["variables", "stepsCompleted", "currentNodeId"].contains(&key.as_str()) {
                prop_assert_eq!(&after.fields()[key], value);
            }
        }
        let body = |text: &str| text[4..].split_once("\n---\n").unwrap().1.to_owned();
        prop_assert_eq!(body(&new), body(&old));
        prop_assert_eq!(update(&new, &graph(&step), &change, None).unwrap(), new, "a change made twice is made once");
    }
}
