//! `--json`: one document on stdout, with the name and version of its shape.

use crate::project::{Project, words};

/// Every command once, those with a verdict twice.
const COMMANDS: [&str; 26] = [
    "init",
    "demo todo",
    "demo --compose shop",
    "compose layers -D rules=a",
    "inject --command dev --story 2a-1",
    "pack a.txt",
    "explain pack",
    "why pack --text a",
    "why pack --text zzz",
    "diff a.txt a.txt",
    "diff a.txt b.txt",
    "template list",
    "template show supervisor",
    "template render supervisor",
    "template check",
    "template vars w.yaml",
    "recipe list",
    "recipe show pack",
    "recipe eject pack",
    "recipe check",
    "schema pack",
    "adapter list",
    "adapter show codex",
    "adapter parse codex",
    "task list",
    "completions bash",
];

#[test]
fn every_command_names_the_shape_of_its_document() {
    let project = Project::new();
    project
        .file("a.txt", "a")
        .file("b.txt", "b")
        .file("w.yaml", "a: b");
    let mut shapes = String::new();
    for command in COMMANDS {
        let run = project.run(&[&words(command)[..], &["--json"]].concat());
        let document = run.json();
        assert!(run.stdout.ends_with(b"}\n"), "{command}");
        let schema = document["schema"].as_str().unwrap_or("none");
        shapes.push_str(&format!(
            "{command}: {} {schema}\n",
            run.code().unwrap_or(-1)
        ));
    }
    insta::assert_snapshot!(shapes, @r"
    init: 0 callsheet.init/1
    demo todo: 0 callsheet.demo-sprint/1
    demo --compose shop: 0 callsheet.demo/1
    compose layers -D rules=a: 0 callsheet.composition/1
    inject --command dev --story 2a-1: 0 callsheet.composition/1
    pack a.txt: 0 callsheet.composition/1
    explain pack: 0 callsheet.explanation/1
    why pack --text a: 0 callsheet.why/1
    why pack --text zzz: 1 callsheet.why/1
    diff a.txt a.txt: 0 callsheet.diff/1
    diff a.txt b.txt: 1 callsheet.diff/1
    template list: 0 callsheet.templates/1
    template show supervisor: 0 callsheet.template/1
    template render supervisor: 0 callsheet.rendered/1
    template check: 0 callsheet.check/1
    template vars w.yaml: 0 callsheet.vars/1
    recipe list: 0 callsheet.recipes/1
    recipe show pack: 0 callsheet.recipe/1
    recipe eject pack: 0 callsheet.ejected/1
    recipe check: 0 callsheet.check/1
    schema pack: 0 callsheet.schema/1
    adapter list: 0 callsheet.adapters/1
    adapter show codex: 0 callsheet.adapter/1
    adapter parse codex: 0 callsheet.adapter-parse/1
    task list: 0 callsheet.tasks/1
    completions bash: 0 callsheet.completions/1
    ");
}

#[test]
fn an_error_has_no_document() {
    let project = Project::new();
    for command in [
        &["compose", "nope"][..],
        &["pack", "["],
        &["explain", "injection"],
    ] {
        let run = project.run(&[command, &["--json"]].concat());
        assert_eq!((run.code(), run.stdout.len()), (Some(2), 0), "{command:?}");
    }
}

#[test]
fn the_same_with_the_flag_in_front() {
    let project = Project::new();
    assert_eq!(
        project.run(&["--json", "recipe", "list"]),
        project.run(&["recipe", "list", "--json"])
    );
}

#[test]
fn the_schema_of_the_settings() {
    let project = Project::new();
    assert_eq!(
        project.run(&["schema", "--settings"]).json()["title"],
        "callsheet.toml"
    );
    insta::assert_snapshot!(project.callsheet(&["schema", "--settings", "pack"]), @r"
    exit: 2
    --- stderr
    error: the argument '--settings' cannot be used with '[RECIPE]'

    Usage: callsheet schema [OPTIONS] [RECIPE]

    For more information, try '--help'.
    ");
}
