//! Numbers are printed as they were written, wherever they come from and wherever they go.

use crate::project::Project;
use crate::sealed::{said, seal_by};

const RECIPE: &str = r#"schema = "input.json"

[[layers]]
name = "plain"
template = "plain.md"

[[layers]]
name = "jinja"
template = "jinja.md"

[[layers]]
name = "value"
value = "list"
"#;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "id": {},
    "list": {"type": "array"},
    "price": {"type": "number", "minimum": 0, "multipleOf": 0.01},
    "big": {"type": "integer", "minimum": 3}
  }
}"#;

fn project() -> Project {
    let project = Project::new();
    let jinja = "---\nengine: jinja\n---\n{{ id }} {{ price }}{% if price > 1 %} > 1{% endif %} {{ big }} {{ list|tojson }}";
    project
        .file("callsheet/recipes/n/recipe.toml", RECIPE)
        .file("callsheet/recipes/n/input.json", SCHEMA)
        .file(
            "callsheet/recipes/n/plain.md",
            "{{id}} {{price}} {{big}} {{list}}",
        )
        .file("callsheet/recipes/n/jinja.md", jinja);
    project
}

const YAML: &str = "id: 007\nprice: 1.10\nbig: 12345678901234567890123\nlist: [0644, 1E5, 2.50, 0x1F, 1_000, 12:30]\n";

#[test]
fn numbers_of_yaml() {
    let project = project();
    project.file("in.yaml", YAML);
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "--input", "in.yaml"]), @r#"
    exit: 0
    --- stdout
    007 1.10 12345678901234567890123 ["0644",1E5,2.50,"0x1F","1_000","12:30"]

    007 1.10 > 1 12345678901234567890123 ["0644", 1E5, 2.50, "0x1F", "1_000", "12:30"]

    ["0644",1E5,2.50,"0x1F","1_000","12:30"]
    "#);
}

#[test]
fn numbers_of_json_and_of_the_command_line() {
    let project = project();
    let json = r#"{"id": -0, "price": 0.50, "big": 12345678901234567890123, "list": [1e5, 2.50, -1.0E-7, 1e400]}"#;
    project.file("in.json", json);
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "--input", "in.json", "-D", "price:=3.00"]), @"
    exit: 0
    --- stdout
    -0 3.00 12345678901234567890123 [1e5,2.50,-1.0E-7,1e400]

    -0 3.00 > 1 12345678901234567890123 [1e5, 2.50, -1.0E-7, 1e400]

    [1e5,2.50,-1.0E-7,1e400]
    ");
}

#[test]
fn what_only_yaml_counts_is_text_for_a_schema() {
    let project = project();
    project.file("in.yaml", "id: 1\nprice: 1\nbig: 0x1F\nlist: []\n");
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "--input", "in.yaml"]), @"
    exit: 2
    --- stderr
    error: in.yaml: `big`: expected integer, found string
    hint: `callsheet schema n` prints what the recipe takes
    ");
}

#[test]
fn numbers_are_sealed_shown_and_replayed_as_they_were_written() {
    let project = project();
    project.file("in.yaml", YAML);
    let id = seal_by(&project, &["compose", "n", "--input", "in.yaml"]);
    insta::assert_snapshot!(project.callsheet(&["show", &id, "--part", "input"]), @r#"
    exit: 0
    --- stdout
    {
      "id": "007",
      "price": 1.10,
      "big": 12345678901234567890123,
      "list": [
        "0644",
        1E5,
        2.50,
        "0x1F",
        "1_000",
        "12:30"
      ]
    }
    "#);
    for command in ["verify", "replay"] {
        let run = project.run(&[command, &id]);
        assert_eq!(run.code(), Some(0), "{}{}", run.text(), said(&run));
    }
}

#[test]
fn giants_do_no_harm() {
    let project = project();
    let json = r#"{"id": 1, "list": [], "price": 1e999999999999, "big": 1e999999999}"#;
    project.file("in.json", json);
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "--input", "in.json"]), @"
    exit: 0
    --- stdout
    1 1e999999999999 1e999999999 []

    1 1e999999999999 > 1 1e999999999 []

    []
    ");
}

#[test]
fn a_field_of_json_that_is_there_twice() {
    let project = project();
    project.file(
        "in.json",
        "{\"id\": 1, \"list\": [\n{\"a\": 1,\n \"a\": 2}]}",
    );
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "--input", "in.json"]), @"
    exit: 2
    --- stderr
    error: in.json:3: malformed JSON: the key `a` is there twice, first in line 2
    hint: only one of the values would count; remove the other
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "n", "-D", r#"id:={"a": {"b": 1, "b": 2}}"#]), @r#"
    exit: 2
    --- stderr
    error: `-D id:={"a": {"b": 1, "b": 2}}`: what follows `:=` is not JSON: the key `b` is there twice, first in line 1
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    hint: only one of the values would count; remove the other
    "#);
    insta::assert_snapshot!(project.callsheet_with_stdin("id: 1\nlist: [{a: 1, a: 2}]", &["compose", "n", "--input", "-"]), @"
    exit: 2
    --- stderr
    error: stdin:2: malformed YAML: the key `a` is there twice
    hint: only one of the values would count; remove the other
    ");
}

#[test]
fn a_definition_names_what_was_written() {
    let project = project();
    project.file("callsheet/templates/t.md", "{{p}} {{a.b}}");
    insta::assert_snapshot!(project.callsheet(&["template", "render", "t", "-D", "p:=010"]), @"
    exit: 2
    --- stderr
    error: `-D p:=010`: what follows `:=` is not JSON: `010` is not a number: it begins with a zero; put it in quotes to keep it
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "render", "t", "-D", "p:=1.10", "-D", "a.b:=[1E5]"]), @"
    exit: 0
    --- stdout
    1.10 [1E5]
    ");
}

#[test]
fn a_task_can_be_called_by_a_number() {
    let project = project();
    for id in ["12E5", "007", "12345678901234567890123"] {
        let task = format!("task: {{id: {id}, title: T, write_scope: [src/**]}}\n");
        project.file("task.yaml", task);
        let run = project.run(&["compose", "run", "--input", "task.yaml"]);
        let line = format!("- id: {id}\n");
        assert!(run.text().contains(&line), "{}{}", run.text(), said(&run));
    }
}

#[test]
fn numbers_of_settings_and_of_defaults() {
    let project = project();
    let recipe = format!("{RECIPE}\n[defaults]\nprice = 2.50\n");
    project
        .file("callsheet/recipes/n/recipe.toml", recipe)
        .file(
            "callsheet.toml",
            "[recipes.n]\nid = 1.10\nbig = 1_000\nlist = [0.50, {x = 3.00}]\n",
        );
    insta::assert_snapshot!(project.callsheet(&["compose", "n"]), @r#"
    exit: 0
    --- stdout
    1.10 2.50 1000 [0.50,{"x":3.00}]

    1.10 2.50 > 1 1000 [0.50, {"x": 3.00}]

    [0.50,{"x":3.00}]
    "#);
}
