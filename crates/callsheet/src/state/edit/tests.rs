//! Changes of a header: what they say, and that nothing else changes.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use super::*;
use crate::document;

/// Sets variables in a header that has these lines, and returns its new lines.
fn set(header: &str, variables: &Value) -> Result<String, String> {
    let text = format!("---\n{header}---\nbody\n");
    let mut new = match frontmatter::parse(&text).unwrap().fields.get("variables") {
        Some(Value::Object(old)) => old.clone(),
        _ => Map::new(),
    };
    new.extend(variables.as_object().unwrap().clone());
    let new = rewrite(&text, &[("variables", Value::Object(new))])?;
    Ok(new
        .strip_prefix("---\n")
        .and_then(|new| new.strip_suffix("---\nbody\n"))
        .unwrap()
        .to_owned())
}

#[test]
fn only_the_line_of_a_variable_changes() {
    let header = "a: 1 # one\nvariables: # all of them\n  # first\n  x: 1.10   # a price\n\n  id: 12345678901234567890123\n  'q': \"old\"  # quoted\n  s: 'it''s'\n# odd\n  z: 007\nend: ~\n";
    for (change, from, to) in [
        (json!({"x": 2}), "x: 1.10   # a", "x: 2   # a"),
        (json!({"q": "new"}), "\"old\"  #", "\"new\"  #"),
        (json!({"q": 5}), "\"old\"  #", "5  #"),
        (json!({"s": "can't"}), "'it''s'", "'can''t'"),
        (json!({"s": "two\nlines"}), "'it''s'", "\"two\\nlines\""),
        (
            json!({"id": {"a": [1, "b c"]}}),
            "12345678901234567890123",
            "{\"a\":[1,\"b c\"]}",
        ),
        (json!({"z": null}), "007", "null"),
        (json!({"new": "here"}), "z: 007\n", "z: 007\n  new: here\n"),
        (
            json!({"y": "\u{2028}\u{85}"}),
            "z: 007\n",
            "z: 007\n  \"y\": \"\\u2028\\u0085\"\n",
        ),
        (json!({"x": 1, "z": 2, "w": 3}), "", ""),
    ] {
        let new = set(header, &change).unwrap();
        if from.is_empty() {
            assert_eq!(
                new,
                header
                    .replace("1.10 ", "1 ")
                    .replace("z: 007\n", "z: 2\n  w: 3\n")
            );
        } else {
            assert_eq!(new, header.replace(from, to), "{change}");
        }
        let windows = set(&header.replace('\n', "\r\n"), &change).unwrap();
        assert_eq!(windows, new.replace('\n', "\r\n"), "{change}");
    }
}

/// What a header has, which variables are set, and what it has then.
const WAYS: &[(&str, &str, &str)] = &[
    (
        "variables: {x: 1} # c\n",
        r#"{"x": 2}"#,
        "variables: {x: 2} # c\n",
    ),
    (
        "variables: {x: 1} # c\n",
        r#"{"y": "t"}"#,
        "variables: {x: 1, \"y\": t} # c\n",
    ),
    (
        "variables: { x: 1.10, }\n",
        r#"{"b": [1]}"#,
        "variables: { x: 1.10, b: [1], }\n",
    ),
    (
        "variables: {}\n",
        r#"{"b": 1, "c": 2}"#,
        "variables: {b: 1, c: 2}\n",
    ),
    (
        "variables: {x: , b}\n",
        r#"{"x": 1, "b": 2}"#,
        "variables: {x: 1 , b: 2}\n",
    ),
    (
        "variables: {\n  x: 1, # one\n  z: [a, # first\n  b]\n} # end\n",
        r#"{"z": ["a", "b", "c"], "n": 1}"#,
        "variables: {\n  x: 1, # one\n  z: [a, # first\n  b, c], \"n\": 1\n} # end\n",
    ),
    (
        "variables: # none\nz: 1\n",
        r#"{"b": 1}"#,
        "variables: # none\n  b: 1\nz: 1\n",
    ),
    ("variables: ~\n", r#"{"b": 1}"#, "variables: {\"b\":1}\n"),
    (
        "a: 1\n# end\n",
        r#"{"b": 1}"#,
        "a: 1\n# end\nvariables:\n  b: 1\n",
    ),
    (
        "{a: 1, b: x} # c\n",
        r#"{"b": 1}"#,
        "{a: 1, b: x, variables: {\"b\":1}} # c\n",
    ),
    (
        "{variables: {x: 1}}\n",
        r#"{"b": 1}"#,
        "{variables: {x: 1, b: 1}}\n",
    ),
    (
        "variables:\n    deep: # why\n        x: 1.10 # a\n        # b\n        z: 2\n    more: 1\n",
        r#"{"deep": {"x": 1.5, "z": 2, "n": 3}}"#,
        "variables:\n    deep: # why\n        x: 1.5 # a\n        # b\n        z: 2\n        \"n\": 3\n    more: 1\n",
    ),
    (
        "variables:\n  deep:\n    x: 1\n    z: 2 # two\n  more: 1\n",
        r#"{"deep": {"z": 3}}"#,
        "variables:\n  deep:\n    z: 3 # two\n  more: 1\n",
    ),
    (
        "variables:\n  deep: # why\n    x: 1\n\n  more: 1\n",
        r#"{"deep": 5}"#,
        "variables:\n  deep: 5 # why\n\n  more: 1\n",
    ),
    (
        "variables:\n  list:\n  - a # one\n  - b: 1\n    c: 2\n  more: 1\n",
        r#"{"list": ["a", {"b": 3, "c": 2}, "d"]}"#,
        "variables:\n  list:\n  - a # one\n  - b: 3\n    c: 2\n  - d\n  more: 1\n",
    ),
    (
        "variables:\n  text: | # kept\n    one\n    two\n\n  more: 1\n",
        r#"{"text": "three"}"#,
        "variables:\n  text: three # kept\n\n  more: 1\n",
    ),
    (
        "variables:\n  text: |\n    one\n",
        r#"{"b": 1}"#,
        "variables:\n  text: |\n    one\n  b: 1\n",
    ),
    (
        "variables:\n  text: long\n    and longer # c\n  more: 1\n",
        r#"{"text": "short"}"#,
        "variables:\n  text: short # c\n  more: 1\n",
    ),
    (
        "base: &b {x: 1, z: 2}\nvariables:\n  <<: *b # merged\n  z: 3\n",
        r#"{"x": 5, "z": 4}"#,
        "base: &b {x: 1, z: 2}\nvariables:\n  <<: *b # merged\n  z: 4\n  x: 5\n",
    ),
    (
        "base: &b {x: 1}\nvariables: *b # shared\n",
        r#"{"x": 5}"#,
        "base: &b {x: 1}\nvariables: {\"x\":5} # shared\n",
    ),
    (
        "variables:\n  x: &a 1\n  z: 2\n",
        r#"{"x": 5}"#,
        "variables:\n  x: &a 5\n  z: 2\n",
    ),
    (
        "variables:\n  x: !!str 1\n",
        r#"{"x": 5}"#,
        "variables:\n  x: 5\n",
    ),
];

#[test]
fn variables_are_changed_in_whatever_way_they_are_written() {
    for (old, change, new) in WAYS {
        let change = document::json(change).unwrap();
        assert_eq!(set(old, &change).as_deref(), Ok(*new), "{old}{change}");
    }
}

#[test]
fn what_cannot_be_changed_in_place_is_refused() {
    let shared = "variables:\n  x: &a 1\n  z: *a\n";
    assert_eq!(
        set(shared, &json!({"x": 2})).unwrap_err(),
        "`variables` cannot be changed as the frontmatter is written"
    );
}

/// How one variable is written, from its value on, with the lines below it; `~` is the indentation.
const WRITTEN: &[&str] = &[
    "1",
    "1.10",
    "12345678901234567890123",
    "007 # seven",
    "\"quoted\"",
    "'it''s' # t",
    "plain text",
    "[1, 2] # l",
    "{a: 1, b: [x]}",
    "",
    "null",
    "# nothing",
    "|\n~  one\n\n~  two",
    ">- # folded\n~  one",
    "\n~  - a # i\n~  - b",
    "\n~- a\n~- b",
    "\n~  a: 1 # i\n~  # own\n~  b: 2",
    "long\n~  and longer # c",
    "\"a # b\" # c",
    "a#b",
    "{}",
    "[]",
    "2026-01-02",
    "yes",
    "\n~  - a: 1\n~    b: 2\n~  -\n~    - c",
];

fn any_new() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z #:'\"{}\\[\\]\\n|>-]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(document::json("1.10").unwrap()),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((select(&["a", "b", "k"][..]), inner), 0..3).prop_map(
                |fields| {
                    let fields = fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value));
                    Value::Object(fields.collect())
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn every_other_line_stays(
        written in proptest::collection::vec((select(WRITTEN), select(&["", "~# own\n", "\n", "# odd\n"][..])), 1..6),
        which in any::<Index>(),
        is_new in any::<bool>(),
        (indent, line_end) in (select(&["  ", "    "][..]), select(&["\n", "\r\n"][..])),
        new in any_new(),
    ) {
        let mut lines = vec!["first: 1.10 # f".to_owned(), "variables: # v".to_owned()];
        let mut places = Vec::new();
        for (at, (value, before)) in written.iter().enumerate() {
            lines.extend(before.replace('~', indent).lines().map(str::to_owned));
            let entry = format!("{indent}v{at}: {value}").replace('~', indent);
            let start = lines.len();
            lines.extend(entry.lines().map(|line| line.trim_end().to_owned()));
            places.push(start..lines.len());
        }
        lines.extend(["# last".to_owned(), "end: [a, b] # e".to_owned()]);
        let joined = |lines: &[String]| {
            let lines = lines.iter().flat_map(|line| [line.as_str(), line_end]);
            lines.collect::<String>()
        };
        let header = joined(&lines);
        let chosen = which.index(places.len());
        let key = if is_new { "new".to_owned() } else { format!("v{chosen}") };
        let text = format!("---{line_end}{header}---{line_end}");
        let old = frontmatter::parse(&text).unwrap().fields;
        let mut expected = old.clone();
        expected["variables"][&key] = new.clone();
        let changed = rewrite(&text, &[("variables", expected["variables"].clone())]).unwrap();
        prop_assert_eq!(&frontmatter::parse(&changed).unwrap().fields, &expected);

        let place = if is_new { places[places.len() - 1].end..places[places.len() - 1].end } else { places[chosen].clone() };
        let (before, after) = (joined(&lines[..place.start]), joined(&lines[place.end..]));
        prop_assert!(changed.starts_with(&format!("---{line_end}{before}")), "{}", changed);
        prop_assert!(changed.ends_with(&format!("{after}---{line_end}")), "{}", changed);
        prop_assert!(!changed.replace("\r\n", "").contains('\r'));
        if line_end == "\r\n" {
            prop_assert_eq!(changed.matches('\n').count(), changed.matches("\r\n").count());
        }
    }
}
