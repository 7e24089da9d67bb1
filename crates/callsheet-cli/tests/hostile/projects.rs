//! A project cannot make anybody read or connect outside of it without saying so.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::os::unix::fs::{MetadataExt as _, chown, symlink};

use crate::project::{Project, skip};

/// Makes a project with a secret beside it.
fn project() -> Project {
    let project = Project::new();
    std::fs::create_dir(project.outside().join("other")).unwrap();
    let secret = "---\nname: secret\n---\nSECRET\n";
    std::fs::write(project.outside().join("other/secret.md"), secret).unwrap();
    project
}

const INJECT: [&str; 5] = ["inject", "--command", "dev", "--story", "1-1"];

#[test]
fn settings_do_not_allow_files_outside() {
    let project = project();
    project.file(
        "callsheet.toml",
        "[recipes.injection]\nallow_outside = true\nadditional_files = [\"../other/secret.md\"]\n",
    );
    insta::assert_snapshot!(project.callsheet(&INJECT), @"
    exit: 2
    --- stderr
    error: callsheet.toml: `recipes.injection`: `allow_outside` can be set in an input only: a project does not allow itself files outside of it
    hint: `callsheet schema settings` prints what is allowed
    ");
    project.file(
        "callsheet.toml",
        "[recipes.injection]\nadditional_files = [\"../other/secret.md\"]\n",
    );
    let run = project.run(&[
        "compose",
        "injection",
        "-D",
        "command_name=dev",
        "-D",
        "story_keys:=[]",
    ]);
    assert!(!run.text().contains("SECRET"), "{}", project.shown(&run));
    let named = [
        &INJECT[..],
        &["--file", "../other/secret.md", "--allow-outside"],
    ]
    .concat();
    insta::assert_snapshot!(project.callsheet(&named), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="../other/secret.md">
    ---
    name: secret
    ---
    SECRET

      </file>
    </file_injections>
    "#);
}

#[test]
fn a_recipe_does_not_allow_itself_files_outside() {
    let project = project();
    let layer = "[[layers]]\nname = \"a\"\nfiles = { paths_from = \"paths\", outside_from = \"allow_outside\" }\n";
    project
        .file(
            "callsheet/recipes/mine/recipe.toml",
            format!("schema = \"input.json\"\n[defaults]\nallow_outside = true\n{layer}"),
        )
        .file(
            "callsheet/recipes/mine/input.json",
            r#"{"type": "object", "properties": {"paths": {"type": "array"}, "allow_outside": {"type": "boolean"}}}"#,
        );
    let compose = ["compose", "mine", "-D", "paths:=[\"../other/secret.md\"]"];
    insta::assert_snapshot!(project.callsheet(&compose), @"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml:1: `allow_outside` can be set in an input only: a project does not allow itself files outside of it
    ");
    project.file(
        "callsheet/recipes/mine/recipe.toml",
        layer.replace("\"allow_outside\"", "\"paths\""),
    );
    insta::assert_snapshot!(project.callsheet(&compose), @"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml:1: `outside_from` can only be `allow_outside`
    ");
}

#[test]
fn templates_stay_below_the_root() {
    let project = project();
    let compose = ["compose", "layers", "-D", "identity.name=secret"];
    for settings in [
        "prompts_dir = \"../other\"\n",
        "prompts_dir = \"/etc\"\n",
        "[recipes.layers]\nprompts_dir = \"a/../../other\"\n",
    ] {
        project.file("callsheet.toml", settings);
        let run = project.run(&compose);
        assert_eq!(run.code(), Some(2), "{}", project.shown(&run));
    }
    insta::assert_snapshot!(project.callsheet(&compose), @"
    exit: 2
    --- stderr
    error: callsheet.toml: `recipes.layers`: `prompts_dir` must be relative and without `..` here; an input can name any directory: `a/../../other`
    hint: `callsheet schema settings` prints what is allowed
    ");
    project.file("callsheet.toml", "prompts_dir = \"prompts\"\n");
    symlink("../other", project.path("prompts")).unwrap();
    insta::assert_snapshot!(project.callsheet(&compose), @"
    exit: 0
    --- stderr
    warning: `secret` does not exist: no template has this name; the identity is empty
    warning: template:diagnostic: prompts: cannot open the folder: leads out of the root
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "show", "secret"]), @"
    exit: 2
    --- stderr
    error: no template named `secret`
    ");
    std::fs::remove_file(project.path("callsheet.toml")).unwrap();
    std::fs::create_dir(project.path("callsheet")).unwrap();
    symlink("../../other", project.path("callsheet/templates")).unwrap();
    insta::assert_snapshot!(project.callsheet(&compose), @"
    exit: 0
    --- stderr
    warning: `secret` does not exist: no template has this name; the identity is empty
    warning: template:diagnostic: templates: cannot open the folder: leads out of the root
    ");
    // Who names the directory has it.
    let named = [
        "compose",
        "layers",
        "-D",
        "identity.name=secret",
        "--prompts-dir",
        "../other",
    ];
    assert_eq!(project.run(&named).text(), "SECRET");
}

#[test]
fn a_recipe_in_the_place_of_a_built_in_one_is_told_of() {
    let project = project();
    project.file("a.txt", "A\n").file(
        "callsheet/recipes/pack/recipe.toml",
        "[[layers]]\nname = \"a\"\ntext = \"Mine.\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&["compose", "pack"]), @"
    exit: 0
    --- stdout
    Mine.
    --- stderr
    warning: `callsheet/recipes/pack` stands in the place of the built-in recipe `pack`; `--built-in` takes that one
    ");
    let both = project.run(&["pack", "a.txt", "--built-in"]);
    assert!(both.text().contains("a.txt"), "{}", project.shown(&both));
    assert_eq!(String::from_utf8_lossy(&both.stderr), "");
}

#[test]
fn settings_of_another_user_are_refused() {
    let mut project = Project::new();
    project.file("callsheet.toml", "store = \"postgres://127.0.0.1:1/x\"\n");
    if std::fs::metadata(project.root()).unwrap().uid() != 0 {
        return skip("only root can give a file to another user");
    }
    chown(project.path("callsheet.toml"), Some(65_533), None).unwrap();
    std::fs::create_dir(project.path("sub")).unwrap();
    insta::assert_snapshot!(project.callsheet(&["-C", "sub", "prompts"]), @"
    exit: 3
    --- stderr
    error: `callsheet.toml` in `[ROOT]` belongs to another user
    hint: it can run commands and name a store; read it, and set `CALLSHEET_SAFE_DIRECTORY=[ROOT]` if you trust it
    ");
    project.variable("SUDO_UID", "65533");
    assert_eq!(project.run(&["recipe", "list"]).code(), Some(0));
    project.variable("SUDO_UID", "1");
    assert_eq!(project.run(&["recipe", "list"]).code(), Some(3));
    let root = project.root().display().to_string();
    project.variable("CALLSHEET_SAFE_DIRECTORY", &format!("/a:{root}"));
    assert_eq!(project.run(&["recipe", "list"]).code(), Some(0));
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let project = project();
    let outside = project.outside().join("other");
    symlink("../other", project.path("callsheet")).unwrap();
    insta::assert_snapshot!(project.callsheet(&["recipe", "eject", "pack", "--as", "mine"]), @"
    exit: 3
    --- stderr
    error: `callsheet/recipes` leads out of the root: through a link; nothing was written to it
    ");
    insta::assert_snapshot!(project.callsheet(&["init"]), @"
    exit: 3
    --- stderr
    error: `callsheet/recipes` leads out of the root: through a link; nothing was written to it
    ");
    std::fs::remove_file(project.path("callsheet")).unwrap();
    symlink("../other", project.path(".callsheet")).unwrap();
    project.file("a.txt", "a\n");
    insta::assert_snapshot!(project.callsheet(&["pack", "a.txt", "--seal"]), @"
    exit: 3
    --- stderr
    error: the store `.callsheet/callsheet.db` leads out of the root
    ");
    let left: Vec<_> = std::fs::read_dir(outside).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
