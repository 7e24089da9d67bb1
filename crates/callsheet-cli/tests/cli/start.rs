//! The first steps: `init` and `demo`.

use crate::project::Project;

#[test]
fn init_writes_what_is_not_there() {
    let project = Project::new();
    insta::assert_snapshot!(project.callsheet(&["init"]), @r"
    exit: 0
    --- stderr
    wrote callsheet.toml
    made  callsheet/recipes/
    made  callsheet/templates/
    wrote callsheet/.schemas/settings.json
    wrote callsheet/.schemas/recipe.json
    added .callsheet/ to .gitignore
    next: `callsheet recipe list`, or `callsheet recipe new mine` to write your own
    ");
    insta::assert_snapshot!(project.read(".gitignore"), @".callsheet/");
    insta::assert_snapshot!(project.callsheet(&["recipe", "check"]), @r"
    exit: 0
    --- stderr
    0 recipes checked, no problem found
    ");
}

#[test]
fn init_never_overwrites() {
    let project = Project::new();
    project.file("callsheet.toml", "max_file_bytes = 5\n");
    project.file(
        "callsheet/recipes/mine/recipe.toml",
        "[[layers]]\nname = 'a'\ntext = 'a'\n",
    );
    project.file(".gitignore", "target\n/.callsheet/");
    insta::assert_snapshot!(project.callsheet(&["init"]), @r"
    exit: 0
    --- stderr
    kept  callsheet.toml
    kept  callsheet/recipes/
    made  callsheet/templates/
    wrote callsheet/.schemas/settings.json
    wrote callsheet/.schemas/recipe.json
    kept  .gitignore
    next: `callsheet recipe list`, or `callsheet recipe new mine` to write your own
    ");
    insta::assert_snapshot!(project.callsheet(&["init"]), @r"
    exit: 0
    --- stderr
    kept  callsheet.toml
    kept  callsheet/recipes/
    kept  callsheet/templates/
    kept  callsheet/.schemas/settings.json
    kept  callsheet/.schemas/recipe.json
    kept  .gitignore
    next: `callsheet recipe list`, or `callsheet recipe new mine` to write your own
    ");
    assert_eq!(project.read("callsheet.toml"), "max_file_bytes = 5\n");
    assert_eq!(project.read(".gitignore"), "target\n/.callsheet/");
}

#[test]
fn init_adds_a_line_to_what_git_ignores() {
    let project = Project::new();
    project.file(".gitignore", "target");
    insta::assert_snapshot!(project.callsheet(&["init", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.init/1",
      "root": "[ROOT]",
      "steps": [
        {
          "did": "wrote",
          "path": "callsheet.toml"
        },
        {
          "did": "made",
          "path": "callsheet/recipes"
        },
        {
          "did": "made",
          "path": "callsheet/templates"
        },
        {
          "did": "wrote",
          "path": "callsheet/.schemas/settings.json"
        },
        {
          "did": "wrote",
          "path": "callsheet/.schemas/recipe.json"
        },
        {
          "did": "added",
          "path": ".gitignore"
        }
      ]
    }
    --- stderr
    wrote callsheet.toml
    made  callsheet/recipes/
    made  callsheet/templates/
    wrote callsheet/.schemas/settings.json
    wrote callsheet/.schemas/recipe.json
    added .callsheet/ to .gitignore
    next: `callsheet recipe list`, or `callsheet recipe new mine` to write your own
    "#);
    assert_eq!(project.read(".gitignore"), "target\n.callsheet/\n");
}

#[test]
fn init_sets_up_the_current_folder_and_no_other() {
    let project = Project::new();
    project.file("callsheet.toml", "").file("app/a.txt", "");
    assert_eq!(project.run(&["-C", "app", "init"]).code(), Some(0));
    assert!(project.path("app/callsheet.toml").exists());
    project.file("lib/a.txt", "");
    assert_eq!(project.run(&["--root", "lib", "init"]).code(), Some(0));
    assert!(project.path("lib/callsheet.toml").exists());
}

#[test]
fn the_settings_of_a_new_project_are_all_there_as_comments() {
    let project = Project::new();
    assert_eq!(project.run(&["init"]).code(), Some(0));
    let text = project.read("callsheet.toml");
    let output: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with('['))
        .collect();
    project.file("callsheet.toml", output.join("\n"));
    insta::assert_snapshot!(project.callsheet(&["recipe", "check"]), @r"
    exit: 0
    --- stderr
    0 recipes checked, no problem found
    ");
}

#[test]
fn the_demo_of_prompts_tells_its_story() {
    let project = Project::new();
    insta::assert_snapshot!(
        "the_demo",
        project.callsheet(&["demo", "--compose", "shop"])
    );
}

#[test]
fn what_the_demo_of_prompts_proposes_works() {
    let project = Project::new();
    let output = project.run(&["demo", "--compose", "other"]).text();
    let commands = output.lines().filter_map(|line| {
        let proposed = line.trim_start().strip_prefix("callsheet ");
        line.strip_prefix("$ callsheet ")
            .or_else(|| proposed.and_then(|line| line.split("    ").next()))
    });
    let mut number = 0;
    for command in commands {
        number += 1;
        let args: Vec<String> = command
            .split('\'')
            .enumerate()
            .flat_map(|(nth, part)| -> Vec<String> {
                if nth % 2 == 1 {
                    vec![part.to_owned()]
                } else {
                    part.split_whitespace().map(str::to_owned).collect()
                }
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = project.command(&args);
        let run = crate::project::finish(command.current_dir(project.path("other")));
        let differs = args[0] == "diff";
        assert_eq!(run.code(), Some(i32::from(differs)), "{args:?}");
        if args.contains(&"--seal") {
            // The demo has sealed the very same thing.
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert!(said.contains("already sealed "), "{args:?}: {said}");
        }
    }
    assert_eq!(number, 17, "{output}");
}

#[test]
fn the_demo_uses_no_server() {
    let mut project = Project::new();
    project.variable(
        "CALLSHEET_STORE",
        "postgres://nobody:secret@127.0.0.1:1/none",
    );
    let run = project.run(&["demo", "--compose", "shop"]);
    assert_eq!(run.code(), Some(0));
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        said.starts_with(
            "note: the demo seals into a file of its own; `CALLSHEET_STORE` is not used\n"
        ),
        "{said}"
    );
    assert!(project.path("shop/.callsheet/callsheet.db").is_file());
}

#[test]
fn the_demo_leaves_a_folder_that_is_not_empty_alone() {
    let project = Project::new();
    project.file("shop/mine.txt", "mine");
    insta::assert_snapshot!(project.callsheet(&["demo", "shop"]), @r"
    exit: 2
    --- stderr
    error: `shop` is not empty; nothing was changed
    ");
    let names = std::fs::read_dir(project.path("shop")).map(Iterator::count);
    assert!(matches!(names, Ok(1)));
}

#[test]
fn the_demo_in_place_of_a_file() {
    let project = Project::new();
    project.file("shop", "a file");
    insta::assert_snapshot!(project.callsheet(&["demo", "shop"]), @r"
    exit: 3
    --- stderr
    error: cannot make `shop`: file exists
    ");
}

#[test]
fn the_demo_makes_a_folder_of_its_own() {
    let mut project = Project::new();
    project.file("tmp/.keep", "");
    let folder = project.path("tmp").display().to_string();
    project.variable("TMPDIR", &folder);
    let document = project.run(&["demo", "--compose", "--json"]).json();
    let root = document["root"].as_str().unwrap_or_default();
    assert!(
        root.starts_with(&format!("{folder}/callsheet-demo-")),
        "{root}"
    );
    assert_eq!(document["compositions"].as_array().map(Vec::len), Some(6));
    assert_eq!(document["prompts"].as_array().map(Vec::len), Some(6));
    assert_eq!(document["verify"]["verified"], true);
    assert_eq!(document["diff"]["equal"], false);
    assert_eq!(document["replay"]["equal"], true);
    assert_eq!(document["replay"]["id"], document["prompts"][4]);
}
