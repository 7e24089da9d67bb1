//! What the author of a recipe does: `recipe new`, then check, compose and test.

use callsheet::recipe::{built_in_names, built_in_sample};
use serde_json::Value;

use crate::project::{Project, words};
use crate::review::repository;

fn with_new() -> Project {
    let project = Project::new();
    let run = project.run(&words("recipe new triage"));
    assert_eq!(run.code(), Some(0), "{run:?}");
    project
}

const CASE: &str = "callsheet/recipes/triage/tests/list.json";

#[test]
fn a_new_recipe_says_what_to_do_next() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&words("recipe new triage")), @r"
    exit: 0
    --- stderr
    wrote callsheet/.schemas/recipe.json
    wrote callsheet/recipes/triage/recipe.toml
    wrote callsheet/recipes/triage/task.md
    wrote callsheet/recipes/triage/points.md
    wrote callsheet/recipes/triage/input.schema.json
    wrote callsheet/recipes/triage/sample.yaml
    wrote callsheet/recipes/triage/tests/list.json
    next:
      `callsheet compose triage --input callsheet/recipes/triage/sample.yaml` prints the prompt
      `callsheet recipe check triage` looks for mistakes, and composes the sample
      `callsheet recipe test triage` runs the cases in its folder tests/; `--update` writes what is expected
    ");
    insta::assert_snapshot!(project.callsheet(&words("recipe new team/triage --json")), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.new-recipe/1",
      "recipe": "team/triage",
      "home": "callsheet/recipes/team/triage",
      "files": [
        "recipe.toml",
        "task.md",
        "points.md",
        "input.schema.json",
        "sample.yaml",
        "tests/list.json"
      ]
    }
    --- stderr
    wrote callsheet/recipes/team/triage/recipe.toml
    wrote callsheet/recipes/team/triage/task.md
    wrote callsheet/recipes/team/triage/points.md
    wrote callsheet/recipes/team/triage/input.schema.json
    wrote callsheet/recipes/team/triage/sample.yaml
    wrote callsheet/recipes/team/triage/tests/list.json
    next:
      `callsheet compose team/triage --input callsheet/recipes/team/triage/sample.yaml` prints the prompt
      `callsheet recipe check team/triage` looks for mistakes, and composes the sample
      `callsheet recipe test team/triage` runs the cases in its folder tests/; `--update` writes what is expected
    "#);
    for name in ["", "..", "a/b/c", ".a", "recipe", "settings", "a\\b"] {
        let run = project.run(&["recipe", "new", name]);
        assert_eq!(run.code(), Some(2), "{run:?}");
    }
}

#[test]
fn a_new_recipe_works_at_once() {
    let project = with_new();
    let args = "compose triage --input callsheet/recipes/triage/sample.yaml --fail-on-loss";
    insta::assert_snapshot!(project.callsheet(&words(args)), @r#"
    exit: 0
    --- stdout
    Review "Login". Name the file and the line of every finding.

    ## Look at

    - Errors that nobody sees
    - Names that lie

    Every one of these points is a must.

    ## The change

    ```diff
    +let limit = 5;
    ```
    "#);
    insta::assert_snapshot!(project.callsheet(&words("compose triage -D title=Login")), @r#"
    exit: 0
    --- stdout
    Review "Login". Name the file and the line of every finding.
    "#);
    insta::assert_snapshot!(project.callsheet(&words("recipe check")), @r"
    exit: 0
    --- stderr
    1 recipe checked, no problem found
    ");
    insta::assert_snapshot!(project.callsheet(&words("recipe test")), @r"
    exit: 0
    --- stdout
    ok      triage/list
    --- stderr
    1 case run, none failed
    ");
    insta::assert_snapshot!(project.callsheet(&words("template check --prompts-dir callsheet/recipes/triage")), @r"
    exit: 0
    --- stderr
    2 templates checked, no problem found
    ");
}

#[test]
fn nothing_is_overwritten() {
    let project = with_new();
    project.file("callsheet/recipes/triage/task.md", "mine");
    insta::assert_snapshot!(project.callsheet(&words("recipe new triage")), @r"
    exit: 2
    --- stderr
    error: `callsheet/recipes/triage` exists already; nothing was changed
    hint: choose another name
    ");
    assert_eq!(project.read("callsheet/recipes/triage/task.md"), "mine");
}

#[test]
fn a_check_composes_the_sample() {
    let project = with_new();
    let sample = "callsheet/recipes/triage/sample.yaml";
    project.file(sample, "titel: Login\n");
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 1
    --- stdout
    callsheet/recipes/triage/sample.yaml: unknown field `titel`
      missing field `title`
      did you mean `title`?
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
    project.file(sample, "title: [a\n");
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 1
    --- stdout
    callsheet/recipes/triage/sample.yaml:1: malformed YAML: `[` has no `]`
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
    project.file(sample, [0xff]);
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 1
    --- stdout
    callsheet/recipes/triage/sample.yaml: not UTF-8 text
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
    std::fs::remove_file(project.path(sample)).unwrap();
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 0
    --- stderr
    1 recipe checked, no problem found
    ");
    insta::assert_snapshot!(project.callsheet(&words("-v recipe check triage")), @r"
    exit: 0
    --- stderr
    note: there is no callsheet/recipes/triage/sample.yaml to compose the recipe with
    1 recipe checked, no problem found
    ");
}

#[test]
fn a_mistake_of_a_template_is_told_once() {
    let project = with_new();
    project.file(
        "callsheet/recipes/triage/task.md",
        "---\nengine: jinja\n---\n{% if %}\n",
    );
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 1
    --- stdout
    callsheet/recipes/triage/task.md:4: syntax error: unexpected end of block
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_mistake_that_only_composing_finds_has_its_file_and_line() {
    let project = with_new();
    project.file(
        "callsheet/recipes/triage/points.md",
        "---\nengine: jinja\nvariables: [points]\n---\n{% for point in points %}\n{{ point.name.first }}\n{% endfor %}\n",
    );
    insta::assert_snapshot!(project.callsheet(&words("recipe check triage")), @r"
    exit: 1
    --- stdout
    callsheet/recipes/triage/points.md:6: `point.name` is undefined
    --- stderr
    error: 1 recipe checked, 1 problem found
    ");
}

#[test]
fn a_sample_is_no_part_of_its_recipe() {
    let project = with_new();
    let fingerprint =
        || project.run(&words("recipe show triage --json")).json()["fingerprint"].clone();
    let before = fingerprint();
    project.file("callsheet/recipes/triage/sample.yaml", "title: Other\n");
    project.file(CASE, "{}");
    assert_eq!(fingerprint(), before);
    project.file("callsheet/recipes/triage/task.md", "Other.\n");
    assert_ne!(fingerprint(), before);
}

#[test]
fn ejected_recipes_compose_the_same_bytes() {
    let project = repository();
    project
        .file("README.md", "A shop.\n")
        .file("callsheet.toml", "");
    project.file(
        "_bmad-output/implementation-artifacts/sprint-2a-1.md",
        "# Story\n",
    );
    for (number, name) in built_in_names().enumerate() {
        let Some(sample) = built_in_sample(name) else {
            continue;
        };
        project.file("sample.yaml", sample);
        let copy = format!("copy-{number}");
        let args = |recipe| ["compose", recipe, "--input", "sample.yaml", "-q"];
        let own = project.run(&args(name));
        let home = format!("callsheet/recipes/{copy}");
        assert_eq!(
            project
                .run(&["recipe", "eject", name, "--as", &copy])
                .code(),
            Some(0)
        );
        assert_eq!(project.read(&format!("{home}/sample.yaml")), sample);
        let checked = project.run(&["recipe", "check", &copy]);
        assert_eq!(checked.code(), Some(0), "{checked:?}");
        let copied = project.run(&args(&copy));
        match name {
            // What is packed has the copy in it, and nothing is staged.
            "pack" => assert_eq!(copied.code(), Some(0)),
            "review" => assert_eq!(copied.stderr, own.stderr),
            _ => assert_eq!(copied, own, "{name}"),
        }
        assert_eq!(own.code() == Some(0), name != "review", "{name}: {own:?}");
    }
}

#[test]
fn a_case_that_differs_is_shown_and_updated() {
    let project = with_new();
    let task = "callsheet/recipes/triage/task.md";
    let text = project.read(task).replace("every finding", "each finding");
    project.file(task, text);
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage")), @r#"
    exit: 1
    --- stdout
    FAILED  triage/list: The points are a list
      prompt differs from line 1 on:
      - "Review \"Login\". Name the file and the line of every finding."
      + "Review \"Login\". Name the file and the line of each finding."
    --- stderr
    error: 1 case run, 1 failed
    hint: `--update` writes what is composed now into the cases; look at the difference
    "#);
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage --json")), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.recipe-test/1",
      "cases": [
        {
          "recipe": "triage",
          "case": "list",
          "description": "The points are a list",
          "passed": false,
          "updated": false,
          "differences": [
            "  prompt differs from line 1 on:\n  - \"Review \\\"Login\\\". Name the file and the line of every finding.\"\n  + \"Review \\\"Login\\\". Name the file and the line of each finding.\"\n"
          ]
        }
      ]
    }
    --- stderr
    error: 1 case run, 1 failed
    hint: `--update` writes what is composed now into the cases; look at the difference
    "#);
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage --update")), @r"
    exit: 0
    --- stdout
    updated triage/list
    --- stderr
    1 case run, none failed
    ");
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage")), @r"
    exit: 0
    --- stdout
    ok      triage/list
    --- stderr
    1 case run, none failed
    ");
    let case: Value = serde_json::from_str(&project.read(CASE)).unwrap();
    assert_eq!(
        case["expected"][0],
        "Review \"Login\". Name the file and the line of each finding."
    );
}

#[test]
fn a_case_begins_with_its_input() {
    let project = with_new();
    project
        .file(CASE, "{\"input\": {}}")
        .file(
            "callsheet/recipes/triage/tests/b.json",
            "{\n  \"input\": {\"title\": \"x\"},\n  \"expectd\": 1\n}",
        )
        .file(
            "callsheet/recipes/triage/tests/c.json",
            "{\n  \"input\": ,\n}",
        )
        .file(
            "callsheet/recipes/triage/tests/d.json",
            "{\"input\": {}, \"files\": {\"../../up.txt\": \"x\"}}",
        )
        .file(
            "callsheet/recipes/triage/tests/e.json",
            "{\"input\": {}, \"recipe\": {\"recipe.toml\": \"\"}}",
        )
        .file("callsheet/recipes/triage/tests/notes.txt", "no case");
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage")), @r"
    exit: 1
    --- stdout
    FAILED  triage/b
      callsheet/recipes/triage/tests/b.json: unknown field `expectd`, expected one of `description`, `files`, `folders`, `links`, `recipe`, `observed`, `input`, `options`, `expected`, `messages`, `error`, `events`, `omissions`, `tools`
    FAILED  triage/c
      callsheet/recipes/triage/tests/c.json:2: bad JSON: expected a value, found `,`
    FAILED  triage/d
      callsheet/recipes/triage/tests/d.json: `../../up.txt` is not a path of a case
    FAILED  triage/e
      callsheet/recipes/triage/tests/e.json: a case of a recipe has no `recipe` of its own
    FAILED  triage/list
      a case needs one of `expected`, `messages` and `error`
    --- stderr
    error: 5 cases run, 5 failed
    hint: `--update` writes what is composed now into the cases; look at the difference
    ");
    insta::assert_snapshot!(project.callsheet(&words("recipe test triage --update")), @r"
    exit: 1
    --- stdout
    FAILED  triage/b
      callsheet/recipes/triage/tests/b.json: unknown field `expectd`, expected one of `description`, `files`, `folders`, `links`, `recipe`, `observed`, `input`, `options`, `expected`, `messages`, `error`, `events`, `omissions`, `tools`
    FAILED  triage/c
      callsheet/recipes/triage/tests/c.json:2: bad JSON: expected a value, found `,`
    FAILED  triage/d
      callsheet/recipes/triage/tests/d.json: `../../up.txt` is not a path of a case
    FAILED  triage/e
      callsheet/recipes/triage/tests/e.json: a case of a recipe has no `recipe` of its own
    updated triage/list
    --- stderr
    error: 5 cases run, 4 failed
    hint: `--update` writes what is composed now into the cases; look at the difference
    ");
    insta::assert_snapshot!(project.read(CASE), @r#"
    {
      "input": {},
      "error": "missing field `title`"
    }
    "#);
}

#[test]
fn a_case_brings_its_files_along_and_knows_no_settings() {
    let project = Project::new();
    project
        .file("callsheet.toml", "[recipes.look]\nfocus = \"settings\"\n[commands.test]\ncommand = [\"false\"]\n")
        .file("notes.md", "of the project\n")
        .file(
            "callsheet/recipes/look/recipe.toml",
            "[[layers]]\nname = 'notes'\nfiles = {globs = ['*.md']}\nframe = 'xml'\n[[layers]]\nname = 'focus'\nvalue = 'focus'\noptional = true\n[[layers]]\nname = 'test'\ncommand = 'test'\n",
        )
        .file(
            "callsheet/recipes/look/tests/one.json",
            r#"{"input": {}, "files": {"a.md": "A", "../beside.md": "B"}, "links": {"l.md": "../beside.md"}, "folders": ["f"],
               "observed": [{"question": {"ask": "command", "name": "test"}, "answer": "3 passed"}]}"#,
        );
    insta::assert_snapshot!(project.callsheet(&words("recipe test look --update")), @r"
    exit: 0
    --- stdout
    updated look/one
    --- stderr
    1 case run, none failed
    ");
    let case: Value =
        serde_json::from_str(&project.read("callsheet/recipes/look/tests/one.json")).unwrap();
    assert_eq!(case["expected"][4], "3 passed");
    assert_eq!(case["omissions"][0]["reason"], "outside-root");
    assert_eq!(case["omissions"][1]["reason"], "no-value");
    assert_eq!(project.run(&words("recipe test")).code(), Some(0));
}

#[test]
fn a_recipe_that_cannot_be_read_fails_its_cases() {
    let project = with_new();
    project.file("callsheet/recipes/triage/recipe.toml", "layer = []\n");
    insta::assert_snapshot!(project.callsheet(&words("recipe test")), @r#"
    exit: 1
    --- stdout
    FAILED  triage/list: The points are a list
      expected a prompt, found the error:
      + "callsheet/recipes/triage/recipe.toml:1: unknown field `layer`, expected one of `description`, `shape`, `prepare`, `separator`, `missing`, `frame`, `unique`, `single_system`, `marker`, `redact`, `denie" … (285 bytes)
    --- stderr
    error: 1 case run, 1 failed
    hint: `--update` writes what is composed now into the cases; look at the difference
    "#);
    insta::assert_snapshot!(project.callsheet(&words("recipe test triag")), @r"
    exit: 2
    --- stderr
    error: no recipe named `triag`
    hint: did you mean `triage`?
    ");
    insta::assert_snapshot!(Project::new().callsheet(&words("recipe test pack")), @r"
    exit: 0
    --- stderr
    note: recipe `pack` has no cases; write one to callsheet/recipes/pack/tests/NAME.json
    0 cases run, none failed
    ");
    insta::assert_snapshot!(Project::new().callsheet(&words("recipe test")), @r"
    exit: 0
    --- stderr
    0 cases run, none failed
    ");
}

#[test]
fn what_the_project_lacks_is_no_problem_of_a_recipe() {
    let project = Project::new();
    assert_eq!(
        project.run(&words("recipe eject review --as look")).code(),
        Some(0)
    );
    let run = project.run(&words("recipe check look"));
    assert_eq!(run.code(), Some(0), "{run:?}");
    let said = String::from_utf8(run.stderr).unwrap();
    let note = "note: callsheet/recipes/look/sample.yaml cannot be composed here: ";
    assert!(said.starts_with(note), "{said}");
}
