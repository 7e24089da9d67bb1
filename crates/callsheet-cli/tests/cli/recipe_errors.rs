//! What is wrong with a recipe of one's own: `file:line`, what was found, what is allowed.

use crate::project::Project;

/// The recipe `mine` of these files, checked.
pub(crate) fn check(files: &[(&str, &str)]) -> String {
    recipe(files).callsheet(&["recipe", "check"])
}

/// A project with the recipe `mine` of these files.
pub(crate) fn recipe(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (name, text) in files {
        project.file(&format!("callsheet/recipes/mine/{name}"), text);
    }
    project
}

#[test]
fn broken_toml() {
    insta::assert_snapshot!(check(&[("recipe.toml", "description = \"a\n")]), @r#"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: invalid basic string, expected `"`
    --- stderr
    error: 1 recipe checked, 1 problem found
    "#);
}

#[test]
fn an_unknown_key() {
    insta::assert_snapshot!(check(&[("recipe.toml", "\ndescripton = 'a'\n")]), @"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:2: unknown field `descripton`, expected one of `description`, `shape`, `prepare`, `separator`, `missing`, `frame`, `unique`, `single_system`, `marker`, `redact`, `denies`, `warning`, `error`, `empty`, `schema`, `defaults`, `messages`, `frames`, `layers`
      did you mean `description`?
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_wrong_kind_of_redaction() {
    insta::assert_snapshot!(check(&[("recipe.toml", "description = 'a'\nredact = 'entrpy'\n")]), @r#"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:2: expected true, false or "entropy", found the text `entrpy`
    --- stderr
    error: 1 recipe checked, 1 problem found
    "#);
}

#[test]
fn no_layers() {
    insta::assert_snapshot!(check(&[("recipe.toml", "description = 'a'\n")]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: `layers` is empty; a recipe needs at least one `[[layers]]`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn the_same_layer_twice() {
    let toml = "[[layers]]\nname = 'a'\ntext = 'a'\n[[layers]]\nname = 'a'\ntext = 'b'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", toml)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:5: duplicate layer `a`; every layer needs a name of its own
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_layer_without_a_source_and_one_with_two() {
    insta::assert_snapshot!(check(&[("recipe.toml", "[[layers]]\nname = 'a'\n")]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: layer `a` has 0 sources; it needs exactly one of `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
    let two = "[[layers]]\nname = 'a'\ntext = 'a'\nvalue = 'b'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", two)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: layer `a` has 2 sources; it needs exactly one of `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_template_that_is_not_there() {
    let toml = "[[layers]]\nname = 'a'\ntemplate = 'gret.md'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", toml), ("greet.md", "hi")]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:3: no template `gret.md` in the recipe's folder
      did you mean `greet.md`?
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_frame_that_is_not_there() {
    let toml = "[[layers]]\nname = 'a'\ntext = 'a'\nframe = 'xlm'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", toml)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:4: no frame named `xlm`
      did you mean `xml`?
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_priority_of_the_wrong_kind() {
    let toml = "[[layers]]\nname = 'a'\ntext = 'a'\npriority = 'high'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", toml)]), @r#"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:4: expected "required" or a number from 0, found the text `high`
    --- stderr
    error: 1 recipe checked, 1 problem found
    "#);
}

#[test]
fn a_bad_condition() {
    let toml = "[[layers]]\nname = 'a'\nwhen = 'b =='\ntext = 'a'\n";
    insta::assert_snapshot!(check(&[("recipe.toml", toml)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:3: bad condition `b ==`: unexpected end of input, expected expression
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

const WITH_SCHEMA: &str =
    "schema = 'input.json'\n[[layers]]\nname = 'a'\nwhen = 'loud'\ntext = 'a'\n";

#[test]
fn a_schema_that_is_not_there() {
    insta::assert_snapshot!(check(&[("recipe.toml", WITH_SCHEMA)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: no schema file `input.json` in the recipe's folder
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_schema_that_is_no_json() {
    let files = [
        ("recipe.toml", WITH_SCHEMA),
        ("input.json", "{\n  \"type\": \"object\",\n}"),
    ];
    insta::assert_snapshot!(check(&files), @"
    exit: 1
    --- stdout
    callsheet/recipes/mine/input.json:3: bad JSON: a comma stands before `}`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_schema_that_is_no_schema() {
    let files = [
        ("recipe.toml", WITH_SCHEMA),
        ("input.json", "{\n  \"type\": \"objekt\"\n}"),
    ];
    insta::assert_snapshot!(check(&files), @"
    exit: 1
    --- stdout
    callsheet/recipes/mine/input.json:2: bad JSON Schema: `type`: `objekt` has none of the allowed forms
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_condition_over_no_field_of_the_input() {
    let schema = "{\"type\": \"object\", \"properties\": {\"quiet\": {\"type\": \"boolean\"}}}";
    insta::assert_snapshot!(check(&[("recipe.toml", WITH_SCHEMA), ("input.json", schema)]), @r"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:4: `loud` in the condition is not a field of the input (`quiet`)
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_named_source_that_nobody_has() {
    let files = [("recipe.toml", "[[layers]]\nname = 'a'\nsource = 'moon'\n")];
    insta::assert_snapshot!(recipe(&files).callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml: no source named `moon`
    ");
}

#[test]
fn a_frame_that_only_an_input_names() {
    let files = [(
        "recipe.toml",
        "[[layers]]\nname = 'a'\ntext = 'a'\nframe = '{{form}}'\n",
    )];
    insta::assert_snapshot!(recipe(&files).callsheet(&["compose", "mine", "-D", "form=yaml"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml: no frame named `yaml` in recipe `mine`
      in the `text` of layer `a`
    hint: allowed are `bare`, `git_status`, `json`, `markdown`, `xml`
    ");
}

#[test]
fn an_unknown_recipe_is_no_verdict() {
    insta::assert_snapshot!(Project::new().callsheet(&["recipe", "check", "nope"]), @"
    exit: 2
    --- stderr
    error: no recipe named `nope`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    ");
}

#[test]
fn problems_of_all_recipes_are_reported_at_once() {
    let project = recipe(&[("recipe.toml", "a = 1\n")]);
    project.file(
        "callsheet/recipes/other/recipe.toml",
        "[[layers]]\nname = 'frame'\ntext = ''\n",
    );
    let good = "[[layers]]\nname = 'a'\ntext = 'a'\n";
    project.file("callsheet/recipes/good/recipe.toml", good);
    insta::assert_snapshot!(project.callsheet(&["recipe", "check"]), @"
    exit: 1
    --- stdout
    callsheet/recipes/mine/recipe.toml:1: unknown field `a`, expected one of `description`, `shape`, `prepare`, `separator`, `missing`, `frame`, `unique`, `single_system`, `marker`, `redact`, `denies`, `warning`, `error`, `empty`, `schema`, `defaults`, `messages`, `frames`, `layers`
    callsheet/recipes/other/recipe.toml:2: a layer cannot be named `frame`
    --- stderr
    error: 3 recipes checked, 2 problems found
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "check", "good"]), @r"
    exit: 0
    --- stderr
    1 recipe checked, no problem found
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "check", "other", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.check/1",
      "checked": [
        "other"
      ],
      "problems": [
        "callsheet/recipes/other/recipe.toml:2: a layer cannot be named `frame`"
      ]
    }
    --- stderr
    error: 1 recipe checked, 1 problem found
    "#);
    insta::assert_snapshot!(project.callsheet(&["recipe", "list"]), @"
    exit: 0
    --- stdout
    NAME                     HOME                     DESCRIPTION
    good                     callsheet/recipes/good
    injection                built in                 Files that belong to story keys, as XML for a system-prompt append
    layers                   built in                 Identity, project context, rules and context blocks as a system prompt with tools
    messages                 built in                 Messages for a workflow run, an agent session or a chat, with mounts instead of real paths
    mine                     callsheet/recipes/mine   (cannot be read: `callsheet recipe check mine` says why)
    other                    callsheet/recipes/other  (cannot be read: `callsheet recipe check other` says why)
    pack                     built in                 A source tree as one prompt: the tree of paths, then every file
    review                   built in                 A change to review: the rules for its paths, its diff, and the changed files whole
    run                      built in                 Role, task, workspace, constraints and the facts of the run before, as one Markdown text
    sprint/code-review       built in                 Sprint: review the code of one story and fix it
    sprint/commit            built in                 Sprint: commit the stories that are done
    sprint/create-story      built in                 Sprint: write the story files, and decide which story needs a tech spec
    sprint/dev-story         built in                 Sprint: implement one story
    sprint/discovery         built in                 Sprint: explore the code that the stories touch
    sprint/project-context   built in                 Sprint: write the project context that all other phases are given
    sprint/resolve-conflict  built in                 Sprint: resolve the conflicts of a merge
    sprint/story-review      built in                 Sprint: review the story files and fix them
    sprint/tech-spec         built in                 Sprint: write tech specs
    sprint/tech-spec-review  built in                 Sprint: review the tech specs and fix them
    ");
}
