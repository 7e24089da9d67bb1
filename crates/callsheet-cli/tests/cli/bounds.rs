//! What a project or an input can ask for is bounded: templates, and how deep values are nested.

use crate::project::Project;
use crate::sealed::{id_of, said};

fn with_template(body: &str) -> Project {
    let project = Project::new();
    project.file(
        "callsheet/recipes/r/recipe.toml",
        "description = \"d\"\nschema = \"s.json\"\n[[layers]]\nname = \"a\"\ntemplate = \"t.md\"\n",
    );
    project.file("callsheet/recipes/r/s.json", "{}");
    project.file("callsheet/recipes/r/t.md", body);
    project
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn templates_that_grow_end_with_an_error() {
    for (body, expected) in [
        (
            "{{ [1]|batch(4000000000, 0) }}",
            "makes values of more than 268435456 bytes in all",
        ),
        (
            "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
            "makes values of more than 268435456 bytes in all",
        ),
        (
            "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = [n.l] %}{% endfor %}",
            "makes a value that is nested more than 32 levels deep",
        ),
    ] {
        let project = with_template(&format!("---\nengine: jinja\n---\n{body}"));
        let run = project.run(&["compose", "r"]);
        assert_eq!(run.code(), Some(2), "{body}");
        assert_eq!(
            said(&run),
            format!("error: callsheet/recipes/r/t.md:4: {expected}\n"),
            "{body}"
        );
    }
}

#[test]
fn a_condition_is_bounded_as_a_template_is() {
    let project = with_template("x");
    let layers = "[[layers]]\nname = \"a\"\ntext = \"x\"\nwhen = \"('x' * 4000000000)|length\"\n";
    let recipe = format!("description = \"d\"\nschema = \"s.json\"\n{layers}");
    project.file("callsheet/recipes/r/recipe.toml", &recipe);
    insta::assert_snapshot!(project.callsheet(&["compose", "r"]), @"
    exit: 2
    --- stderr
    error: callsheet/recipes/r/recipe.toml:6: bad condition `('x' * 4000000000)|length`: makes values of more than 268435456 bytes in all
    ");
}

#[test]
fn every_input_has_the_same_limit_on_nested_values() {
    let project = with_template("{{a}}");
    let too_deep = "nested more than 32 levels deep";
    project.file("deep.json", format!("{{\"a\": {}}}", nested(32)));
    project.file("deep.yaml", format!("a: {}\n", nested(32)));
    for deep in [33, 126, 127, 20_000] {
        let key = vec!["a"; deep].join(".") + "=1";
        let json = format!("a:={}", nested(deep));
        for args in [
            ["-D", &key],
            ["-D", &json],
            ["--input", "deep.json"],
            ["--input", "deep.yaml"],
        ] {
            let run = project.run(&[&["compose", "r", "--seal"], &args[..]].concat());
            assert_eq!(run.code(), Some(2), "{deep}");
            assert!(said(&run).contains(too_deep), "{}", said(&run));
            assert!(said(&run).len() < 400, "{}", said(&run));
        }
    }
    project.file(
        "callsheet/recipes/r/s.json",
        format!("{{\"enum\": {}}}", nested(32)),
    );
    let run = project.run(&["compose", "r", "-D", "a=1"]);
    assert!(said(&run).contains(too_deep), "{}", said(&run));
}

#[test]
fn the_deepest_input_is_sealed_and_can_be_verified_and_replayed() {
    let project = with_template("{{a}}");
    let key = vec!["a"; 32].join(".") + "=1";
    let json = format!("a:={}", nested(31));
    for define in [&key, &json] {
        let sealed = project.run(&["compose", "r", "--seal", "-D", define]);
        assert_eq!(sealed.code(), Some(0), "{}", said(&sealed));
        let id = id_of(&sealed);
        for args in [["replay", &id], ["verify", &id], ["show", &id]] {
            let run = project.run(&args);
            assert_eq!(run.code(), Some(0), "{args:?}: {}", said(&run));
        }
    }
}
