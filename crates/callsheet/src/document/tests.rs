//! Documents: what they say, what they keep, and what is wrong with them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn told(read: Result<serde_json::Value, Malformed>) -> String {
    match read {
        Ok(value) => value.to_string(),
        Err(malformed) => malformed.to_string(),
    }
}

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

#[test]
fn numbers_of_json_are_printed_as_they_were_written() {
    let text = r#"{"a":1.10,"b":[12345678901234567890123,-0,1E5,1e5,0.50],"c":{"d":1e400}}"#;
    assert_eq!(json(text).unwrap().to_string(), text);
}

#[test]
fn numbers_of_yaml_are_printed_as_they_were_written() {
    for written in words(
        "7 -12 1.10 1e5 1E5 12345678901234567890123 -12345678901234567890123 0.10 1e400 \
         1234567890123456789012345678901234567890123",
    ) {
        assert_eq!(
            told(yaml(&format!("a: {written}"))),
            format!("{{\"a\":{written}}}")
        );
        assert_eq!(told(yaml(&format!("[{written}]"))), format!("[{written}]"));
    }
    for written in words(
        "007 0644 -01 0o17 0x1F 1_000 +5 .5 5. .inf -.INF .nan 12:30:45 190:20:30 2026-01-02 \
         2026-01-02T03:04:05Z 1,000 0b101 1.2.3 yes off y 00 +1.5 1e 0777777777777777777777777",
    ) {
        assert_eq!(
            yaml(&format!("a: {written}")).unwrap(),
            json!({"a": written})
        );
        assert_eq!(
            yaml(&format!("a: '{written}'")).unwrap(),
            json!({"a": written})
        );
    }
    let text = "\u{feff}é: 1.10\nb: &x 007\nc: *x\nd: !!str 5\ne: !!int '6'\nf: True\ng: ~\nh:\ni: !!float 1.50\n3: 1.0 # three\n";
    assert_eq!(
        told(yaml(text)),
        r#"{"é":1.10,"b":"007","c":"007","d":"5","e":6,"f":true,"g":null,"h":null,"i":1.50,"3":1.0}"#
    );
    assert_eq!(told(yaml("# nothing\n")), "null");
    let merged = "base: &b {x: 1.10, y: 2}\nall: {<<: *b, y: 3.00}\n";
    assert_eq!(
        told(yaml(merged)),
        r#"{"base":{"x":1.10,"y":2},"all":{"y":3.00,"x":1.10}}"#
    );
}

#[test]
fn a_key_that_is_there_twice_is_an_error_at_any_depth() {
    for text in [
        "{\"a\": 1,\n\"a\": 1}",
        "[0, {\"x\": {\"y\": [\n{\"a\": 1, \"b\": 2, \"\\u0061\": 3}]}}]",
        "{\"a\": {\"b\": 1},\n\n\"a\": {\"b\": 1}}",
    ] {
        let malformed = json(text).unwrap_err();
        assert_eq!(malformed.fault, Fault::DuplicateKey, "{text}");
    }
    assert_eq!(
        told(json("{\"a\": 1,\n\"b\": {\"k\": 1,\n\"k\": 2}}")),
        "line 3: the key `k` is there twice, first in line 2"
    );
    let malformed = yaml("a: 1\nb:\n  k: 1\n  k: 2\n").unwrap_err();
    assert_eq!(malformed.fault, Fault::DuplicateKey);
    assert_eq!(malformed.to_string(), "line 4: the key `k` is there twice");
}

const WRONG_JSON: &[(&str, &str)] = &[
    ("", "line 1: expected a value, found the end of the text"),
    (
        "{\"a\": 01}",
        "line 1: `01` is not a number: it begins with a zero; put it in quotes to keep it",
    ),
    ("{\"a\": 1.}", "line 1: `1.` is not a number"),
    ("{\"a\": 0x1F}", "line 1: `0x1F` is not a number"),
    ("{\"a\": +1}", "line 1: expected a value, found `+1`"),
    ("{\"a\": NaN}", "line 1: expected a value, found `NaN`"),
    ("{\"a\": truer}", "line 1: expected a value, found `truer`"),
    (
        "{\"a\": 'x'}",
        "line 1: texts stand in double quotes, not in single ones",
    ),
    (
        "{a: 1}",
        "line 1: expected a key in double quotes, found `a`",
    ),
    (
        "{\n\"a\" 1}",
        "line 2: expected `:` after the key `a`, found `1`",
    ),
    (
        "{\"a\": 1\n\"b\": 2}",
        "line 2: expected `,` or `}` after a value, found `\"`",
    ),
    ("{\"a\": 1,\n}", "line 2: a comma stands before `}`"),
    ("[1,]", "line 1: a comma stands before `]`"),
    (
        "{\n\"a\": [1\n",
        "line 3: the text ends before the `]` of the list that begins in line 2",
    ),
    (
        "{\"a\": 1,\n",
        "line 2: the text ends before the `}` of the object that begins in line 1",
    ),
    (
        "{",
        "line 1: the text ends before the `}` of the object that begins in line 1",
    ),
    ("\"a", "line 1: a text has no closing quote"),
    (
        "\"a\nb\"",
        "line 1: a text goes over the end of its line; write `\\n` there",
    ),
    (
        "\"a\u{1}\"",
        "line 1: a text has a control character; write it as `\\u0001`",
    ),
    (
        r#""C:\q""#,
        "line 1: `\\q` is not an escape; a backslash is written `\\\\`",
    ),
    (r#""\u12""#, "line 1: `\\u` needs four hexadecimal digits"),
    (
        r#""\ud800x""#,
        "line 1: `\\ud800` is one half of a character of two halves",
    ),
    ("{} x", "line 1: expected the end of the text, found `x`"),
    (
        "{} // note",
        "line 1: expected the end of the text, found a comment",
    ),
    ("[1, # two\n2]", "line 1: expected a value, found `#`"),
];

#[test]
fn what_is_wrong_with_json_is_said_in_plain_words() {
    for (text, expected) in WRONG_JSON {
        assert_eq!(told(json(text)), *expected, "{text}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(told(json(&deep(32))), deep(32));
    assert_eq!(
        told(json(&deep(33))),
        "line 1: nested more than 32 levels deep"
    );
}

#[test]
fn what_is_wrong_with_yaml_is_said_in_plain_words() {
    for (text, expected) in [
        ("a: [x", "line 1: `[` has no `]`"),
        ("a: {x: 1", "line 1: `{` has no `}`"),
        (
            "a: {x}/y",
            "line 1: expected `key: value`, or more indentation",
        ),
        (
            "a: b: c",
            "line 1: `:` cannot stand here; put a text with `: ` in quotes",
        ),
        (
            "a: 1\n b: 2",
            "line 2: `:` cannot stand here; put a text with `: ` in quotes",
        ),
        ("a: 'x", "line 1: a text has no closing quote"),
        (
            "a: \"x\\q\"",
            "line 1: a text has an escape that YAML does not know; use single quotes to keep backslashes",
        ),
        (
            "a:\n\t- b",
            "line 2: a tab cannot stand here; indent with spaces",
        ),
        (
            "a: @x",
            "line 1: `@` cannot begin a value; put the text in quotes",
        ),
        (
            "a: `x",
            "line 1: ``` cannot begin a value; put the text in quotes",
        ),
        (
            "a: *x",
            "line 1: `*` stands for a name that has no `&` above it",
        ),
        ("a: !x 1", "line 1: the tag `!x` is not known"),
        (
            "a: 1\n---\nb: 2",
            "line 3: a second document begins here (`---`); only one is read",
        ),
        (
            "- a\nb: 1",
            "line 2: expected `- ` before the next item of the list",
        ),
        ("? [a]\n: b", "line 1: a key is not plain text"),
        ("a: 1\nb\nc: 2", "line 2: expected `key: value`"),
        ("a: ]", "line 1: a bracket closes that was not opened"),
        ("a: &x [*x]", "line 1: a value contains itself"),
    ] {
        assert_eq!(told(yaml(text)), expected, "{text}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(told(yaml(&deep(32))), deep(32));
    assert_eq!(
        told(yaml(&deep(33))),
        "line 1: nested more than 32 levels deep"
    );
}

#[test]
fn types_say_in_plain_words_what_they_want() {
    for (said, meant) in [
        (
            "invalid type: string \"much\", expected u64",
            "expected a whole number from 0, found the text `much`",
        ),
        (
            "invalid value: integer `300`, expected u8 at line 1 column 3",
            "expected a whole number from 0 to 255, found `300`",
        ),
        (
            "invalid type: integer `3`, expected a map",
            "expected a table, found `3`",
        ),
        (
            "invalid type: sequence, expected a string",
            "expected text, found a list",
        ),
        (
            "invalid type: null, expected struct Append",
            "expected a table, found nothing",
        ),
        (
            "invalid type: floating point `1.5`, expected usize",
            "expected a whole number from 0, found `1.5`",
        ),
        (
            "invalid length 1, expected a tuple of size 2",
            "expected a list, found 1 items",
        ),
        (
            "unknown variant `x`, expected `a` or `b`",
            "unknown value `x`, expected `a` or `b`",
        ),
        (
            "unknown field `x`, expected `a`",
            "unknown field `x`, expected `a`",
        ),
        ("missing field `x`", "missing field `x`"),
    ] {
        assert_eq!(plain_words(said, "a table"), meant);
    }
}

#[test]
fn typed_values_know_tagged_enums_with_numbers() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Event {
        Cost { usd: f64, tokens: u64 },
    }
    let read = |text: &str| typed::<Event>(json(text).unwrap());
    assert_eq!(
        read(r#"{"kind": "cost", "usd": 0.10, "tokens": 7}"#),
        Ok(Event::Cost {
            usd: 0.1,
            tokens: 7
        })
    );
    let error = read(r#"{"kind": "cost", "usd": "x", "tokens": 7}"#).unwrap_err();
    assert_eq!(error.to_string(), "expected a number, found the text `x`");
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_reads_what_was_printed(value in any_value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(json(&text).unwrap(), value.clone());
        }
    }

    #[test]
    fn json_takes_what_the_parser_takes(text in "[\\[\\]{}\",:0-9.eE+\\-\\\\u a\ntrufalsn]{0,24}") {
        let parsed = serde_json::from_str::<serde_json::Value>(&text);
        match json(&text) {
            Err(malformed) if malformed.fault == Fault::DuplicateKey => {}
            read => prop_assert_eq!(read.is_ok(), parsed.is_ok(), "{}", text),
        }
    }

    #[test]
    fn nothing_panics(text in any::<String>()) {
        let _ = json(&text);
        let _ = yaml(&text);
    }
}
