//! Input fields that are unknown, missing or of the wrong type: exit 2 with the path of the field.

use crate::project::{Project, words};

#[test]
fn missing_fields_are_all_named() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "injection"]), @r"
    exit: 2
    --- stderr
    error: missing field `command_name`
      missing field `story_keys`
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn an_unknown_field_with_a_near_name() {
    let args = words("compose injection -D command_name=x -D story_keys:=[] -D story_kyes=1");
    insta::assert_snapshot!(Project::new().callsheet(&args), @r"
    exit: 2
    --- stderr
    error: unknown field `story_kyes`
    hint: did you mean `story_keys`?
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn an_unknown_field_like_no_other() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "pack", "-D", "zzz=1"]), @r"
    exit: 2
    --- stderr
    error: unknown field `zzz`
    hint: allowed are `globs`, `exclude`, `hidden`, `format`
    hint: `callsheet schema pack` prints what the recipe takes
    ");
}

#[test]
fn an_unknown_field_in_a_field() {
    let args = words("compose layers -D identity.name=a -D identity.varaibles:={}");
    insta::assert_snapshot!(Project::new().callsheet(&args), @r"
    exit: 2
    --- stderr
    error: unknown field `identity.varaibles`
    hint: did you mean `variables`?
    hint: `callsheet schema layers` prints what the recipe takes
    ");
}

#[test]
fn wrong_types_deep_inside() {
    let project = Project::new();
    project.file(
        "input.yaml",
        "identity: {name: 3}\ncontext:\n  - name: a\n  - content: [1]\n",
    );
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "--input", "input.yaml"]), @r"
    exit: 2
    --- stderr
    error: input.yaml: `identity.name`: expected string, found number
      `context[1].content`: expected null or string, found array
      missing field `context[1].name`
    hint: `callsheet schema layers` prints what the recipe takes
    ");
}

#[test]
fn a_text_where_a_list_belongs() {
    let args = words("compose injection -D command_name=x -D story_keys=2a-1");
    insta::assert_snapshot!(Project::new().callsheet(&args), @r"
    exit: 2
    --- stderr
    error: `story_keys`: expected array, found string
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn a_value_that_is_not_among_the_allowed() {
    let args = ["compose", "pack", "-D", "format=yaml"];
    insta::assert_snapshot!(Project::new().callsheet(&args), @r"
    exit: 2
    --- stderr
    error: `format`: expected one of `xml`, `markdown`, `json`, found `yaml`
    hint: `callsheet schema pack` prints what the recipe takes
    ");
}

#[test]
fn a_negative_limit() {
    let args =
        words("compose injection -D command_name=x -D story_keys:=[] -D limits.error_bytes:=-1");
    insta::assert_snapshot!(Project::new().callsheet(&args), @"
    exit: 2
    --- stderr
    error: `limits.error_bytes`: expected a number from 0, found `-1`
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn an_empty_story_key() {
    insta::assert_snapshot!(Project::new().callsheet(&["inject", "--command", "dev", "--story", "2a-1", "--story", ""]), @r"
    exit: 2
    --- stderr
    error: `story_keys[1]` must not be empty
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn a_blank_story_key() {
    insta::assert_snapshot!(Project::new().callsheet(&["inject", "--command", "dev", "--story", " \t"]), @r"
    exit: 2
    --- stderr
    error: `story_keys[0]` must not be blank
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn an_empty_command() {
    insta::assert_snapshot!(Project::new().callsheet(&["inject", "--command", "", "--story", "2a-1"]), @r"
    exit: 2
    --- stderr
    error: `command_name` must not be empty
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn paths_that_lead_out_of_the_root() {
    let args = words(
        "compose injection -D command_name=x -D story_keys:=[] -D paths.implementation_artifacts=../elsewhere",
    );
    insta::assert_snapshot!(Project::new().callsheet(&args), @r"
    exit: 2
    --- stderr
    error: `paths.implementation_artifacts`: `../elsewhere` leads out of the root
    hint: `callsheet schema injection` prints what the recipe takes
    ");
}

#[test]
fn a_definition_without_a_value() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "-D", "rules"]), @r"
    exit: 2
    --- stderr
    error: `-D rules`: there is no `=`
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
}

#[test]
fn a_definition_without_a_key() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "-D", "=text"]), @r"
    exit: 2
    --- stderr
    error: `-D =text`: the key is empty
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
}

#[test]
fn a_definition_with_a_hole_in_its_key() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "-D", "identity..name=a"]), @r"
    exit: 2
    --- stderr
    error: `-D identity..name=a`: the key is empty
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
}

#[test]
fn a_definition_that_is_no_json() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "-D", "tools:=[run"]), @"
    exit: 2
    --- stderr
    error: `-D tools:=[run`: what follows `:=` is not JSON: expected a value, found `run`
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
}

#[test]
fn a_definition_below_a_text() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "-D", "rules=a", "-D", "rules.b=c"]), @r"
    exit: 2
    --- stderr
    error: `-D rules.b=c`: `rules` is not an object
    hint: write `-D key=text`, `-D key:=json` or `-D key=@FILE`, with dots for fields in fields
    ");
}

#[test]
fn a_field_that_the_settings_bring() {
    let project = Project::new();
    project.file("callsheet.toml", "[recipes.pack]\nglob = ['src']\n");
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r"
    exit: 2
    --- stderr
    error: unknown field `glob`
    hint: did you mean `globs`?
    hint: `callsheet schema pack` prints what the recipe takes
    hint: `callsheet.toml` sets fields of this recipe, too
    ");
}
