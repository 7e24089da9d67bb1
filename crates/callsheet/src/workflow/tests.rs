//! Workflow variables: names, configuration files, circles and limits.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn known() -> BTreeMap<String, String> {
    [("project-root", "/p"), ("installed_path", "/i")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn resolved(text: &str, config: &str) -> Resolved {
    resolved_with(text, config, &[])
}

fn resolved_with(text: &str, config: &str, given: &[(&str, &str)]) -> Resolved {
    let read = |path: &str| match path {
        "/p/_bmad/bmm/config.yaml" => Ok(config.to_owned()),
        _ => Err("does not exist".to_owned()),
    };
    let given = given.iter();
    let given = given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let names = Names {
        given: &given.collect(),
        known: &known(),
    };
    resolve(text, "workflow.yaml", names, &read).unwrap()
}

fn open(resolved: &Resolved) -> Vec<String> {
    let open = resolved.open.iter();
    open.map(|open| {
        let line = open
            .line
            .map_or_else(|| "-".to_owned(), |line| line.to_string());
        let required = if open.required { " required" } else { "" };
        format!("{line} {}: {}{required}", open.key, open.name)
    })
    .collect()
}

fn pairs(resolved: &Resolved) -> Vec<(&str, &str)> {
    let values = resolved.values.iter();
    values
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

fn problems(resolved: &Resolved) -> Vec<String> {
    let problems = resolved.problems.iter();
    problems
        .map(|problem| {
            let line = problem
                .line
                .map_or_else(|| "-".to_owned(), |line| line.to_string());
            format!(
                "{line} {} {:?}: {}",
                problem.key, problem.kind, problem.message
            )
        })
        .collect()
}

#[test]
fn names_and_configuration_are_resolved() {
    let config = "user_name: Ada\nroot: '{project-root}/out'\nimplementation_artifacts: '{root}/impl'\nnested: {deep: 1.10}\n";
    let text = "\
name: sprint
config_source: '{project-root}/_bmad/bmm/config.yaml'
user_name: '{config_source}:user_name'
implementation_artifacts: \"{config_source}:implementation_artifacts\"
story_dir: '{config_source}:implementation_artifacts/stories'
deep: 'v{config_source}:nested.deep.'
installed_path: '{installed_path}/sub'
instructions: '{installed_path}/instructions.xml'
date: system-generated
standalone: yes
version: 1.10
nothing:
prompt: '{{story_key}} {{ x }} {{{y}}} {not a name} { \"json\": {} }'
variables:
  story_key: ''
  plain: '{user_name}!'
  review_attempt: {description: d, required: true, default: \"1\"}
  optional: {description: d}
task_ids: [setup, '{name}']
";
    let resolved = resolved(text, config);
    assert_eq!(problems(&resolved), Vec::<String>::new());
    assert_eq!(
        pairs(&resolved),
        [
            ("name", "sprint"),
            ("config_source", "/p/_bmad/bmm/config.yaml"),
            ("user_name", "Ada"),
            ("implementation_artifacts", "/p/out/impl"),
            ("story_dir", "/p/out/impl/stories"),
            ("deep", "v1.10."),
            ("installed_path", "/i/sub"),
            ("instructions", "/i/sub/instructions.xml"),
            ("date", "system-generated"),
            ("standalone", "yes"),
            ("version", "1.10"),
            ("nothing", ""),
            (
                "prompt",
                "{{story_key}} {{ x }} {{{y}}} {not a name} { \"json\": {} }"
            ),
            ("variables.story_key", ""),
            ("variables.plain", "Ada!"),
            ("variables.review_attempt", "1"),
            ("task_ids.0", "setup"),
            ("task_ids.1", "sprint"),
        ]
    );
}

#[test]
fn what_cannot_be_resolved_is_told_and_stays() {
    let text = "\
config_source: '{project-root}/_bmad/bmm/config.yaml'
other_source: /gone.yaml
a: '{nope}/{nope}/{project-root}'
b: '{config_source}:gone'
c: '{other_source}:key'
d: '{none_source}:key'
e: '{config_source}:bad'
f: '{other_source}'
variables:
  story_key: {description: the story, required: true}
";
    let resolved = resolved(text, "bad: 'x{y}'");
    assert_eq!(
        pairs(&resolved)[2..],
        [
            ("a", "{nope}/{nope}//p"),
            ("b", "{config_source}:gone"),
            ("c", "{other_source}:key"),
            ("d", "{none_source}:key"),
            ("e", "x{y}"),
            ("f", "/gone.yaml"),
        ]
    );
    assert_eq!(
        problems(&resolved),
        [
            "4 b MissingKey: `/p/_bmad/bmm/config.yaml` has no key `gone`",
            "5 c MissingConfig: cannot read `/gone.yaml`: it does not exist",
        ]
    );
    assert_eq!(
        open(&resolved),
        [
            "3 a: nope",
            "6 d: none_source",
            "- bad: y",
            "10 variables.story_key: story_key required",
        ]
    );
    let kinds = serde_json::to_value(resolved.problems[1].kind).unwrap();
    assert_eq!(kinds, "missing_config");
}

#[test]
fn variables_of_the_block_are_names() {
    let text = "\
name: sprint
default_output_file: '{status_file}'
tests: '{test_dir}/{name}'
title: '{story_title}'
both: '{name}'
itself: '{itself}'
ids: '{tasks} {variables}'
variables:
  status_file: '{artifacts}/status.yaml'
  artifacts: '{project-root}/out'
  test_dir: {description: where, default: '{project-root}/tests'}
  story_title: ''
  name: '{name}-x'
  itself: block
  need: {description: d, required: true}
  may: {description: d}
tasks: [a]
";
    let resolved = resolved(text, "");
    assert_eq!(
        pairs(&resolved),
        [
            ("name", "sprint"),
            ("default_output_file", "/p/out/status.yaml"),
            ("tests", "/p/tests/sprint"),
            ("title", "{story_title}"),
            ("both", "sprint"),
            ("itself", "block"),
            ("ids", "{tasks} {variables}"),
            ("variables.status_file", "/p/out/status.yaml"),
            ("variables.artifacts", "/p/out"),
            ("variables.test_dir", "/p/tests"),
            ("variables.story_title", ""),
            ("variables.name", "sprint-x"),
            ("variables.itself", "block"),
            ("tasks.0", "a"),
        ]
    );
    assert_eq!(
        open(&resolved),
        ["4 title: story_title", "15 variables.need: need required"]
    );
    assert_eq!(
        problems(&resolved),
        [
            "7 ids NotText: `tasks` is a list, and only a text can stand in a text",
            "7 ids NotText: `variables` is a mapping, and only a text can stand in a text",
        ]
    );
}

#[test]
fn given_values_win_and_are_not_looked_into() {
    let text = "\
date: system-generated
file: '{out}/{story_id}-{date}.md'
out: '{config_source}:out'
config_source: '{project-root}/_bmad/bmm/config.yaml'
variables:
  story_key: ''
  need: {required: true}
";
    let given = [
        ("date", "2026-01-02"),
        ("story_id", "{out}"),
        ("story_key", "2a-1"),
        ("need", "N"),
        ("unknown", "U"),
    ];
    let resolved = resolved_with(text, "out: '{story_id}'", &given);
    assert_eq!(
        pairs(&resolved),
        [
            ("date", "2026-01-02"),
            ("file", "{out}/{out}-2026-01-02.md"),
            ("out", "{out}"),
            ("config_source", "/p/_bmad/bmm/config.yaml"),
            ("variables.story_key", "2a-1"),
            ("variables.need", "N"),
        ]
    );
    assert_eq!((open(&resolved), problems(&resolved)), (vec![], vec![]));
    assert_eq!(resolved.unused, ["unknown"]);
}

#[test]
fn what_is_there_as_something_else_than_text_is_told_as_such() {
    let text = "\
config_source: '{project-root}/_bmad/bmm/config.yaml'
module_source: '{project-root}/{module}/config.yaml'
a: '{config_source}:list'
b: '{config_source}:map'
c: '{config_source}:map.deep'
d: '{config_source}:empty'
e: '{module_source}:key'
f: '{config_source}:list.0'
";
    let config = "list: [x, y]\nmap: {deep: 1}\nempty: {}\n";
    let resolved = resolved(text, config);
    assert_eq!(
        pairs(&resolved)[4..],
        [
            ("c", "1"),
            ("d", "{config_source}:empty"),
            ("e", "{module_source}:key"),
            ("f", "x"),
        ]
    );
    let told = |key: &str, what: &str| {
        format!(
            "NotText: `{key}` of `/p/_bmad/bmm/config.yaml` is {what}, and only a text can stand in a text"
        )
    };
    assert_eq!(
        problems(&resolved),
        [
            format!("3 a {}", told("list", "a list")),
            format!("4 b {}", told("map", "a mapping")),
            format!("6 d {}", told("empty", "a mapping")),
        ]
    );
    assert_eq!(open(&resolved), ["2 module_source: module", "7 e: module"]);
}

#[test]
fn keys_that_are_there_twice_are_told() {
    let text = "a: 1\nb: {c: 1, c: 2}\na: 2\nconfig_source: '{project-root}/_bmad/bmm/config.yaml'\nd: '{config_source}:k'\n";
    let resolved = resolved(text, "k: x\nk: 'y'\n");
    assert_eq!(
        pairs(&resolved)[..2],
        [("a", "2"), ("b.c", "2")],
        "the last one counts"
    );
    let twice = |line: usize| {
        format!("Duplicate: the key is there twice, first in line {line}; the last one counts")
    };
    assert_eq!(
        problems(&resolved),
        [
            format!("2 b.c {}", twice(2)),
            format!("3 a {}", twice(1)),
            format!("- k {}", twice(1)),
        ]
    );
}

#[test]
fn circles_are_told_once_and_their_texts_stay() {
    let resolved = resolved(
        "a: '{b}1'\nb: '{c}2'\nc: '{a}3'\nd: '<{b}>'\ne: '{e}'\nproject-root: '{project-root}/x'\n",
        "",
    );
    assert_eq!(
        pairs(&resolved),
        [
            ("a", "{b}1"),
            ("b", "{c}2"),
            ("c", "{a}3"),
            ("d", "<{c}2>"),
            ("e", "{e}"),
            ("project-root", "/p/x"),
        ]
    );
    assert_eq!(
        problems(&resolved),
        [
            "1 a Cycle: refers to itself: `a → b → c → a`",
            "5 e Cycle: refers to itself: `e → e`",
        ]
    );
}

#[test]
fn a_configuration_that_names_itself_ends() {
    let text = "config_source: '{project-root}/_bmad/bmm/config.yaml'\na: '{config_source}:a'\n";
    let resolved = resolved(
        text,
        "config_source: '{project-root}/_bmad/bmm/config.yaml'\na: '{config_source}:b'\nb: '{config_source}:a'",
    );
    assert_eq!(pairs(&resolved)[1].1, "{config_source}:b");
    assert_eq!(
        problems(&resolved),
        ["- a Cycle: refers to itself: `a → b → a`"]
    );
}

#[test]
fn bombs_are_refused() {
    let mut bomb = (0..40)
        .map(|n| format!("k{n}: '{{k{m}}}{{k{m}}}'\n", m = n + 1))
        .collect::<Vec<_>>()
        .concat();
    bomb += "k40: boom\n";
    let grown = resolved(&bomb, "");
    assert!(
        grown
            .values
            .iter()
            .all(|(_, value)| value.len() <= VALUE_LIMIT)
    );
    assert_eq!(
        problems(&grown)[0],
        "26 k25 TooLong: grows past 65536 bytes"
    );

    let chain = (0..10_000)
        .map(|n| format!("k{n}: '{{k{}}}'\n", n + 1))
        .collect::<Vec<_>>()
        .concat();
    let deep = resolved(&(chain + "k10000: end\n"), "");
    assert_eq!(
        problems(&deep)[0],
        "64 k63 TooLong: refers through more than 64 keys"
    );

    let mut wide = format!("big: {}\n", "x".repeat(60_000));
    wide.extend((0..2_000).map(|n| format!("k{n}: '{{big}}'\n")));
    let wide = resolved(&wide, "");
    let total: usize = wide.values.iter().map(|(_, value)| value.len()).sum();
    assert!(total < TOTAL_LIMIT + VALUE_LIMIT, "{total}");
    assert!(
        wide.problems
            .iter()
            .all(|problem| problem.kind == ProblemKind::TooLong)
    );
}

#[test]
fn malformed_files_are_bad_input() {
    let told = |text: &str| {
        let names = Names {
            given: &BTreeMap::new(),
            known: &known(),
        };
        let error = resolve(text, "w.yaml", names, &|_| Err(String::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadInput);
        error.to_string()
    };
    assert_eq!(
        told("a: 1\nb: [x"),
        "w.yaml:2: not valid YAML: `[` has no `]`"
    );
    assert_eq!(
        told("a: {project-root}/x"),
        "w.yaml:1: not valid YAML: expected `key: value`, or more indentation"
    );
    assert_eq!(told("- a"), "w.yaml:1: the file is not a mapping");
    assert_eq!(
        told(&format!("{}: {{a: 1}}", "k".repeat(1023))),
        "w.yaml:1: a key is longer than 1024 bytes"
    );
    assert_eq!(resolved("# nothing\n", ""), Resolved::default());
}

#[test]
fn epics_are_read_from_story_keys() {
    for (key, epic) in [
        ("A-1", "A"),
        ("2a-1", "2a"),
        ("5-sr-3", "5-sr"),
        ("2a-1-slug-name", "2a"),
        ("2a-sr-1-slug", "2a-sr"),
        ("12-3-4", "12"),
        ("1-slug", "1"),
        ("1-slug-name", "1-slug"),
        ("2ab-1", "2ab"),
        ("key", "key"),
        ("é-1", "é"),
        ("-1", ""),
        ("7", "7"),
        ("", ""),
    ] {
        assert_eq!(epic_id(key), epic, "{key}");
    }
    let keys = ["2a-1".to_owned(), "2a-2".to_owned()];
    assert_eq!(
        serde_json::to_string(&prompt_variables(&keys, 2)).unwrap(),
        r#"{"story_key":"2a-1","story_keys":"2a-1,2a-2","epic_id":"2a","review_attempt":"2"}"#
    );
    assert_eq!(prompt_variables(&[], 1)["story_keys"], "");
}

proptest! {
    #[test]
    fn nothing_panics(text in any::<String>(), soup in "([a-c]: ['\"]?[{}a-c:_.é]{0,12}['\"]?\n){0,5}") {
        for text in [text, soup] {
            let names = Names { given: &known(), known: &known() };
            let _ = resolve(&text, "w.yaml", names, &|_| Ok(text.clone()));
            epic_id(&text);
        }
    }
}
