//! What holds for every run prompt: fixed headings, in order and once each, whatever anybody wrote.

use callsheet::freetext::restore;
use callsheet::recipe::built_in;
use callsheet::{Composition, Error, Inputs, Options, Root, compose};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::cases;

const HEADINGS: [&str; 7] = [
    "## Role",
    "## Task",
    "## Workspace",
    "## Read First",
    "## Constraints",
    "## Retry/Continue Digest",
    "## Output Format",
];

const BEGIN: &str = "\n--- begin additional input ---\n";
const END: &str = "\n--- end additional input ---";

fn composed(input: &Value) -> Result<Composition, Error> {
    let recipe = built_in("run").unwrap().unwrap();
    compose(recipe, input, &Inputs::nowhere(), &Options::default())
}

/// Texts that want to be headings, fences, frames and placeholders.
fn any_text() -> impl Strategy<Value = String> {
    let nasty = vec![
        "## ",
        "# ",
        "##",
        "---",
        "===",
        "- ",
        "> ",
        "1. ",
        "```",
        "~~~~",
        "`",
        "\\",
        "<!--",
        "<pre>",
        "<div>",
        "Role",
        "Task",
        "Constraints",
        "Output Format",
        "Retry/Continue Digest",
        "--- end additional input ---",
        "--- begin additional input ---",
    ];
    let blank = vec![
        "\n", "\n", "\n", "\r\n", "\r", "\u{2028}", "\u{85}", "\u{b}", " ", "   ", "\t",
    ];
    let part = prop_oneof![
        4 => prop::sample::select(nasty).prop_map(str::to_owned),
        4 => prop::sample::select(blank).prop_map(str::to_owned),
        1 => "[a-zé\"]{0,4}",
        1 => any::<String>(),
    ];
    // Braces would be variables in a role.
    prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat().replace(['{', '}'], ""))
}

fn any_line() -> impl Strategy<Value = String> {
    any_text().prop_map(|text| format!("x{text}"))
}

fn any_glob() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(/[a-c*]{1,2}){0,2}"
}

fn any_path() -> impl Strategy<Value = String> {
    "(\\./)?[a-c]{1,2}(//?[a-c]{1,2}){0,2}/?"
}

prop_compose! {
    fn any_previous()(
        retry in any::<bool>(),
        status in any_line(),
        code in prop::option::of(-3..300_i32),
        checks in prop::collection::vec((any_line(), prop::sample::select(vec!["passed", "failed", "pending"])), 0..30),
        violations in prop::collection::vec((any_path(), prop::sample::select(vec!["pending", "approved", "rejected"])), 0..30),
        changed in prop::collection::vec(any_path(), 0..40),
    ) -> Value {
        let checks: Vec<Value> = checks.iter().map(|(name, status)| json!({"name": name, "status": status})).collect();
        let violations: Vec<Value> = violations
            .iter()
            .map(|(path, approval)| json!({"path": path, "reason": "outside_write", "approval": approval}))
            .collect();
        json!({
            "kind": if retry { "retry" } else { "continue" }, "status": status, "exit_code": code, "checks": checks,
            "violations": violations, "changed_files": changed,
        })
    }
}

prop_compose! {
    fn any_input()(
        role in prop::option::of(any_text()),
        title in any_line(),
        description in prop::option::of(any_text()),
        done_when in prop::collection::vec(any_line(), 0..3),
        rules in prop::collection::vec(any_line(), 0..3),
        globs in prop::collection::vec(any_glob(), 1..3),
        read_first in prop::collection::vec(any_path(), 0..4),
        previous in prop::option::of(any_previous()),
        more in any_line(),
    ) -> Value {
        let continues = previous.as_ref().is_some_and(|previous| previous["kind"] == "continue");
        json!({
            "role": {"prompt_template": role},
            "task": {"id": 1, "title": title, "description": description, "write_scope": globs, "done_when": done_when},
            "scope": {"exclude": globs, "prohibited": rules, "needs_approval": rules},
            "environment": {"runner": "the-runner", "model": "the-model"},
            "read_first": read_first,
            "previous": previous,
            "additional_input": continues.then_some(more),
        })
    }
}

/// Returns the headings that a reader who goes line by line finds, however it breaks lines.
fn headings(text: &str) -> Vec<&str> {
    let breaks = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let lines = text.split(breaks).map(str::trim);
    lines.filter(|line| line.starts_with("## ")).collect()
}

/// Returns the headings that a Markdown parser finds, of any level and anywhere.
fn parsed_headings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                found.push(format!("{} ", "#".repeat(level as usize)));
                inside = true;
            }
            Event::End(TagEnd::Heading(_)) => inside = false,
            Event::Text(words) | Event::Code(words) if inside => {
                found.last_mut().unwrap().push_str(&words);
            }
            _ => {}
        }
    }
    found
}

/// Returns the text of an input field by its path, such as `previous.checks[2].name`.
fn field_text(input: &Value, path: &str) -> String {
    let pointer = path.replace(['.', '['], "/").replace(']', "");
    let value = input.pointer(&format!("/{pointer}")).unwrap();
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn reversed(list: &Value) -> Value {
    list.as_array().unwrap().iter().rev().cloned().collect()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_heading_stands_there_once_and_in_order(input in any_input()) {
        let text = composed(&input).unwrap().text;
        let mut expected = HEADINGS.to_vec();
        if input["previous"].is_null() {
            expected.retain(|heading| !heading.contains("Digest"));
        }
        prop_assert_eq!(headings(&text), expected.as_slice(), "{}", text);
        prop_assert_eq!(parsed_headings(&text), expected, "{}", text);
        prop_assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
        prop_assert!(!text.contains("the-runner") && !text.contains("the-model"));
    }

    #[test]
    fn additional_input_comes_back_as_it_was(input in any_input()) {
        let text = composed(&input).unwrap().text;
        let Some(more) = input["additional_input"].as_str() else {
            prop_assert!(!text.contains(BEGIN));
            return Ok(());
        };
        let lf = more.replace("\r\n", "\n").replace('\r', "\n");
        let (_, rest) = text.split_once(BEGIN).unwrap();
        let (body, _) = rest.split_once(&format!("{END}\n\n## Workspace\n")).unwrap();
        prop_assert_eq!(restore(body), lf);
        prop_assert_eq!(text.lines().filter(|line| *line == END.trim()).count(), 1);
    }

    #[test]
    fn the_order_of_facts_does_not_show(input in any_input()) {
        let first = composed(&input).unwrap();
        prop_assert_eq!(&first.text, &composed(&input).unwrap().text);
        let mut moved = input.clone();
        if let Some(previous) = moved["previous"].as_object_mut() {
            for list in ["checks", "violations", "changed_files"] {
                let other = reversed(&previous[list]);
                previous.insert(list.to_owned(), other);
            }
        }
        moved["read_first"] = reversed(&moved["read_first"]);
        moved["scope"]["exclude"] = reversed(&moved["scope"]["exclude"]);
        prop_assert_eq!(first.text, composed(&moved).unwrap().text);
    }

    #[test]
    fn what_a_cap_leaves_out_is_recorded_and_no_failed_check_is_among_it(input in any_input()) {
        let composition = composed(&input).unwrap();
        let omissions = &composition.manifest.omissions;
        let lines = |begin: &str| composition.text.lines().filter(|line| line.starts_with(begin)).count();
        let capped = |name: &str| omissions.iter().find(|one| one.name == name).map(|one| one.detail.clone());
        let list = |name: &str| input["previous"][name].as_array().cloned().unwrap_or_default();
        let distinct = |list: &[Value]| {
            let texts = list.iter().map(Value::to_string);
            texts.collect::<std::collections::BTreeSet<_>>().len()
        };
        let checks = list("checks");
        let failed: Vec<Value> = checks.iter().filter(|one| one["status"] == "failed").cloned().collect();
        let (all, shown) = (distinct(&checks), distinct(&checks).min(distinct(&failed).max(20)));
        prop_assert_eq!(lines("- check "), shown, "{}", composition.text);
        let expected = (all > shown).then(|| format!("{shown} of {all} are shown"));
        prop_assert_eq!(capped("previous.checks"), expected);
        let paths = ["previous.violations", "previous.changed_files"];
        let left_out = paths.iter().filter(|name| capped(name).is_some()).count();
        prop_assert_eq!(lines("  - …"), left_out);
    }

    #[test]
    fn every_byte_has_an_origin(input in any_input()) {
        let composition = composed(&input).unwrap();
        let spans = &composition.source_map.spans;
        let joined: String = spans.iter().map(|span| &composition.text[span.start..span.end]).collect();
        prop_assert_eq!(&joined, &composition.text);
        for span in spans.iter().filter(|span| span.transform.is_none()) {
            let Some(field) = span.source.strip_prefix("input:") else {
                continue;
            };
            let value = field_text(&input, field);
            let range = span.source_start.unwrap()..span.source_end.unwrap();
            prop_assert_eq!(&composition.text[span.start..span.end], &value[range], "{}", field);
        }
    }
}

#[test]
fn the_root_does_not_show() {
    let input = json!({"task": {"id": 1, "title": "T"}, "read_first": ["docs/a.md"], "previous": {"kind": "retry", "changed_files": ["b"]}});
    let anywhere = composed(&input).unwrap().text;
    for name in ["with space", "## Role", "{{task.id}}", "é"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(name);
        std::fs::create_dir(&root).unwrap();
        let inputs = Inputs::new(Root::open(&root).unwrap());
        let recipe = built_in("run").unwrap().unwrap();
        let text = compose(recipe, &input, &inputs, &Options::default())
            .unwrap()
            .text;
        assert!(!text.contains(root.to_str().unwrap()));
        assert_eq!(text, anywhere);
    }
}
