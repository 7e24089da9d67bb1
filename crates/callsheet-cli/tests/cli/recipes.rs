//! Recipes of one's own: found, shown, composed, and winning over the built-in ones.

use crate::project::{Project, words};

const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "required": ["who"],
  "properties": {"who": {"type": "string"}, "loud": {"type": "boolean", "default": false}}
}"#;

/// A recipe with a jinja template, an include, a condition and a schema.
pub(crate) const GREETING: [(&str, &str); 4] = [
    (
        "callsheet/recipes/greeting/recipe.toml",
        "description = 'Says hello'\nschema = 'input.schema.json'\n[[layers]]\nname = 'hello'\ntemplate = 'hello.md'\n[[layers]]\nname = 'shout'\nrole = 'user'\nwhen = 'loud'\ntext = 'LOUDER'\n",
    ),
    ("callsheet/recipes/greeting/input.schema.json", SCHEMA),
    (
        "callsheet/recipes/greeting/hello.md",
        "---\nengine: jinja\n---\nHello {{ who | upper }}. {% include 'sign.md' %}",
    ),
    (
        "callsheet/recipes/greeting/sign.md",
        "---\nengine: jinja\n---\nYours.",
    ),
];

fn greeting() -> Project {
    let project = Project::new();
    for (path, text) in GREETING {
        project.file(path, text);
    }
    project
}

#[test]
fn it_is_listed_shown_and_checked() {
    let project = greeting();
    insta::assert_snapshot!(project.callsheet(&["recipe", "list"]), @"
    exit: 0
    --- stdout
    NAME                     HOME                        DESCRIPTION
    greeting                 callsheet/recipes/greeting  Says hello
    injection                built in                    Files that belong to story keys, as XML for a system-prompt append
    layers                   built in                    Identity, project context, rules and context blocks as a system prompt with tools
    messages                 built in                    Messages for a workflow run, an agent session or a chat, with mounts instead of real paths
    pack                     built in                    A source tree as one prompt: the tree of paths, then every file
    review                   built in                    A change to review: the rules for its paths, its diff, and the changed files whole
    run                      built in                    Role, task, workspace, constraints and the facts of the run before, as one Markdown text
    sprint/code-review       built in                    Sprint: review the code of one story and fix it
    sprint/commit            built in                    Sprint: commit the stories that are done
    sprint/create-story      built in                    Sprint: write the story files, and decide which story needs a tech spec
    sprint/dev-story         built in                    Sprint: implement one story
    sprint/discovery         built in                    Sprint: explore the code that the stories touch
    sprint/project-context   built in                    Sprint: write the project context that all other phases are given
    sprint/resolve-conflict  built in                    Sprint: resolve the conflicts of a merge
    sprint/story-review      built in                    Sprint: review the story files and fix them
    sprint/tech-spec         built in                    Sprint: write tech specs
    sprint/tech-spec-review  built in                    Sprint: review the tech specs and fix them
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "show", "greeting"]), @r"
    exit: 0
    --- stdout
    greeting (callsheet/recipes/greeting): Says hello
    b3:b57f8863191d3d4f31de851b2e452cb705f5a6715ce1c2be5338819701438d05
    files: hello.md, input.schema.json, recipe.toml, sign.md

    LAYER  ROLE    PRIORITY  CHANGES   TRUST  WHEN
    hello  system  required  constant  own    always
    shout  user    required  constant  own    loud
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "check"]), @r"
    exit: 0
    --- stderr
    1 recipe checked, no problem found
    ");
    assert_eq!(
        project.run(&["schema", "greeting"]).json(),
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap_or_default()
    );
}

#[test]
fn it_is_composed() {
    let project = greeting();
    let run = project.run(&["compose", "greeting", "-D", "who=you"]);
    assert_eq!(run.text(), "Hello YOU. Yours.");
    let loud = ["compose", "greeting", "-D", "who=you", "-D", "loud:=true"];
    assert_eq!(project.run(&loud).text(), "Hello YOU. Yours.\n\nLOUDER");
    insta::assert_snapshot!(project.callsheet(&["compose", "greeting", "-D", "whom=you"]), @r"
    exit: 2
    --- stderr
    error: unknown field `whom`
      missing field `who`
    hint: did you mean `who`?
    hint: `callsheet schema greeting` prints what the recipe takes
    ");
}

#[test]
fn roles_become_messages() {
    let project = greeting();
    let args = words("compose greeting -D who=you -D loud:=true --format messages");
    insta::assert_snapshot!(project.callsheet(&args), @r#"
    exit: 0
    --- stdout
    [{"role":"system","content":"Hello YOU. Yours."},{"role":"user","content":"LOUDER"}]
    "#);
}

#[test]
fn the_built_in_ones_are_shown_with_their_layers() {
    insta::assert_snapshot!(Project::new().callsheet(&["recipe", "show", "injection"]), @r"
    exit: 0
    --- stdout
    injection (built in): Files that belong to story keys, as XML for a system-prompt append
    b3:d46eb5f09abaa5855befe1d141a239642f8c10e927db74ea16ede7170f780bb3
    files: input.schema.json, recipe.toml

    LAYER            ROLE    PRIORITY  CHANGES  TRUST      WHEN
    project-context  system  80        project  untrusted  always
    story            system  100       task     untrusted  always
    discovery        system  40        task     untrusted  always
    tech-spec        system  60        task     untrusted  always
    additional       system  90        task     untrusted  always
    ");
}

#[test]
fn an_ejected_recipe_wins_over_the_built_in_one() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "layers"]), @r"
    exit: 0
    --- stderr
    wrote callsheet/.schemas/recipe.json
    wrote callsheet/recipes/layers/input.schema.json
    wrote callsheet/recipes/layers/recipe.toml
    wrote callsheet/recipes/layers/sample.yaml
    `callsheet compose layers` uses it from now on
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "list"]), @"
    exit: 0
    --- stdout
    NAME                     HOME                      DESCRIPTION
    injection                built in                  Files that belong to story keys, as XML for a system-prompt append
    layers                   callsheet/recipes/layers  Identity, project context, rules and context blocks as a system prompt with tools
    messages                 built in                  Messages for a workflow run, an agent session or a chat, with mounts instead of real paths
    pack                     built in                  A source tree as one prompt: the tree of paths, then every file
    review                   built in                  A change to review: the rules for its paths, its diff, and the changed files whole
    run                      built in                  Role, task, workspace, constraints and the facts of the run before, as one Markdown text
    sprint/code-review       built in                  Sprint: review the code of one story and fix it
    sprint/commit            built in                  Sprint: commit the stories that are done
    sprint/create-story      built in                  Sprint: write the story files, and decide which story needs a tech spec
    sprint/dev-story         built in                  Sprint: implement one story
    sprint/discovery         built in                  Sprint: explore the code that the stories touch
    sprint/project-context   built in                  Sprint: write the project context that all other phases are given
    sprint/resolve-conflict  built in                  Sprint: resolve the conflicts of a merge
    sprint/story-review      built in                  Sprint: review the story files and fix them
    sprint/tech-spec         built in                  Sprint: write tech specs
    sprint/tech-spec-review  built in                  Sprint: review the tech specs and fix them
    ");
    let compose = words("compose layers -D rules=a -D project_context=b");
    assert_eq!(project.run(&compose).text(), "b\n\n---\n\na");
    let toml = project.read("callsheet/recipes/layers/recipe.toml");
    project.file(
        "callsheet/recipes/layers/recipe.toml",
        toml.replace("\\n\\n---\\n\\n", " + "),
    );
    assert_eq!(project.run(&compose).text(), "b + a");
}

#[test]
fn a_second_ejection_changes_nothing() {
    let project = Project::new();
    assert_eq!(project.run(&["recipe", "eject", "pack"]).code(), Some(0));
    project.file("callsheet/recipes/pack/recipe.toml", "changed");
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "pack"]), @r"
    exit: 2
    --- stderr
    error: `callsheet/recipes/pack` exists already; nothing was changed
    hint: name the copy with `--as NAME`
    ");
    assert_eq!(
        project.read("callsheet/recipes/pack/recipe.toml"),
        "changed"
    );
}

#[test]
fn a_copy_has_a_name_of_its_own() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "pack", "--as", "tree"]), @r"
    exit: 0
    --- stderr
    wrote callsheet/.schemas/recipe.json
    wrote callsheet/recipes/tree/input.schema.json
    wrote callsheet/recipes/tree/recipe.toml
    wrote callsheet/recipes/tree/sample.yaml
    `callsheet compose tree` uses it from now on
    ");
    project.file("a.txt", "a");
    assert_eq!(
        project
            .run(&["compose", "tree", "-D", "globs:=[\"a.txt\"]"])
            .text(),
        project.run(&["pack", "a.txt"]).text()
    );
}

#[test]
fn names_that_are_none() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "pack", "--as", "../tree"]), @r"
    exit: 2
    --- stderr
    error: `../tree` is not a valid name for a recipe
    ");
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "pakc"]), @r"
    exit: 2
    --- stderr
    error: no built-in recipe named `pakc`
    hint: did you mean `pack`?
    ");
    assert!(!project.path("callsheet").exists());
}

#[test]
fn a_folder_without_a_recipe_file_says_what_is_missing() {
    let project = Project::new();
    project.file("callsheet/recipes/mine/intro.md", "Hello");
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml: the folder has no such file
    ");
}

#[test]
fn names_with_a_slash_work_everywhere_and_lead_nowhere_else() {
    let project = Project::new();
    project.file(
        "callsheet.toml",
        "[recipes.\"sprint/dev-story\"]\nworkflow = \"built-in\"\nepic_id = \"mine\"\n",
    );
    let compose = [
        "compose",
        "sprint/dev-story",
        "-D",
        "story_keys:=[\"2a-1\"]",
        "-q",
    ];
    let before = project.callsheet(&compose);
    assert!(before.contains("Epic ID: mine"), "{before}");
    let ejected = project.callsheet(&["recipe", "eject", "sprint/dev-story"]);
    assert!(ejected.starts_with("exit: 0"), "{ejected}");
    assert_eq!(
        project.callsheet(&compose),
        before,
        "an ejected recipe is complete"
    );
    let steps = "callsheet/recipes/sprint/dev-story/steps.md";
    project.file(steps, "Only this.");
    assert!(project.callsheet(&compose).contains("Only this."));
    assert!(
        project
            .callsheet(&["recipe", "list"])
            .contains("sprint/dev-story         callsheet/recipes/sprint/dev-story")
    );
    for name in [
        "sprint/../x",
        "/sprint",
        "sprint//dev",
        "a/b/c",
        "sprint/.hidden",
        "a\\b",
        "",
    ] {
        let copy = project.callsheet(&["recipe", "eject", "sprint/dev-story", "--as", name]);
        assert!(
            copy.contains("is not a valid name for a recipe"),
            "{name}: {copy}"
        );
        let found = project.callsheet(&["compose", name]);
        assert!(found.contains("no recipe named"), "{name}: {found}");
    }
}
