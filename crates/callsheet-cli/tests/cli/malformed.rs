//! Files that cannot be read as what they should be: exit 2 with `file:line`.

use crate::project::Project;

/// Composes `layers` from an input file with that name and content.
fn with_input(name: &str, text: impl AsRef<[u8]>) -> String {
    let project = Project::new();
    project.file(name, text);
    project.callsheet(&["compose", "layers", "--input", name])
}

#[test]
fn json() {
    insta::assert_snapshot!(with_input("input.json", "{\n  \"rules\": \"a\",\n  \"tools\" 2\n}"), @"
    exit: 2
    --- stderr
    error: input.json:3: malformed JSON: expected `:` after the key `tools`, found `2`
    ");
}

#[test]
fn json_that_ends_early() {
    insta::assert_snapshot!(with_input("input.json", "{\"rules\":\n"), @"
    exit: 2
    --- stderr
    error: input.json:2: malformed JSON: expected a value, found the end of the text
    ");
}

#[test]
fn yaml() {
    insta::assert_snapshot!(with_input("input.yaml", "rules: a\ntools: [1\nstrict: true\n"), @"
    exit: 2
    --- stderr
    error: input.yaml:3: malformed YAML: `:` cannot stand here; is a bracket above it not closed?
    ");
}

#[test]
fn yaml_with_a_field_twice() {
    insta::assert_snapshot!(with_input("input.yml", "rules: a\nrules: b\n"), @"
    exit: 2
    --- stderr
    error: input.yml:2: malformed YAML: the key `rules` is there twice
    hint: only one of the values would count; remove the other
    ");
}

#[test]
fn a_list() {
    insta::assert_snapshot!(with_input("input.json", "[1]"), @r"
    exit: 2
    --- stderr
    error: input.json: an input is an object with fields, found a list
    ");
}

#[test]
fn nothing() {
    insta::assert_snapshot!(with_input("input.yaml", ""), @r"
    exit: 2
    --- stderr
    error: input.yaml: an input is an object with fields, found nothing
    ");
}

#[test]
fn no_text() {
    insta::assert_snapshot!(with_input("input.json", b"{\"rules\": \"\xff\"}"), @r"
    exit: 2
    --- stderr
    error: input.json: not UTF-8 text
    ");
}

#[test]
fn a_name_that_does_not_tell_what_it_is() {
    insta::assert_snapshot!(with_input("input", "{\"rules\": }"), @"
    exit: 2
    --- stderr
    error: input:1: malformed JSON: expected a value, found `}`
    ");
}

#[test]
fn stdin() {
    let said = Project::new()
        .callsheet_with_stdin("\n{\"rules\": 'a'}", &["compose", "layers", "--input", "-"]);
    insta::assert_snapshot!(said, @"
    exit: 2
    --- stderr
    error: stdin:2: malformed JSON: texts stand in double quotes, not in single ones
    ");
}

#[test]
fn stdin_with_an_unknown_field() {
    let said =
        Project::new().callsheet_with_stdin("ruels: a", &["compose", "layers", "--input", "-"]);
    insta::assert_snapshot!(said, @r"
    exit: 2
    --- stderr
    error: unknown field `ruels`
    hint: did you mean `rules`?
    hint: `callsheet schema layers` prints what the recipe takes
    ");
}

#[test]
fn an_input_that_is_not_there() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "--input", "nope.yaml"]), @r"
    exit: 2
    --- stderr
    error: nope.yaml: no such file or directory
    ");
}

#[test]
fn an_input_that_is_a_folder() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "--input", ".git"]), @r"
    exit: 2
    --- stderr
    error: .git: is a directory
    ");
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    insta::assert_snapshot!(with_input("input.json", "\u{feff}{\"rules\": \"a\"}"), @r"
    exit: 0
    --- stdout
    a
    ");
    insta::assert_snapshot!(with_input("input.yaml", "\u{feff}rules: a"), @r"
    exit: 0
    --- stdout
    a
    ");
}
