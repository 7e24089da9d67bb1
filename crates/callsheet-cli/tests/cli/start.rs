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
    added .callsheet/ to .gitignore
    next: `callsheet recipe list`, or `callsheet recipe eject layers --as mine` to write your own
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
    kept  .gitignore
    next: `callsheet recipe list`, or `callsheet recipe eject layers --as mine` to write your own
    ");
    insta::assert_snapshot!(project.callsheet(&["init"]), @r"
    exit: 0
    --- stderr
    kept  callsheet.toml
    kept  callsheet/recipes/
    kept  callsheet/templates/
    kept  .gitignore
    next: `callsheet recipe list`, or `callsheet recipe eject layers --as mine` to write your own
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
          "did": "added",
          "path": ".gitignore"
        }
      ]
    }
    --- stderr
    wrote callsheet.toml
    made  callsheet/recipes/
    made  callsheet/templates/
    added .callsheet/ to .gitignore
    next: `callsheet recipe list`, or `callsheet recipe eject layers --as mine` to write your own
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
    let told: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with('['))
        .collect();
    project.file("callsheet.toml", told.join("\n"));
    insta::assert_snapshot!(project.callsheet(&["recipe", "check"]), @r"
    exit: 0
    --- stderr
    0 recipes checked, no problem found
    ");
}

#[test]
fn the_demo_tells_its_story() {
    let project = Project::new();
    insta::assert_snapshot!("the_demo", project.callsheet(&["demo", "shop"]));
}

#[test]
fn what_the_demo_proposes_works() {
    let project = Project::new();
    assert_eq!(project.run(&["demo", "shop", "-q"]).code(), Some(0));
    let commands: [&[&str]; 7] = [
        &[
            "inject",
            "--command",
            "dev-story",
            "--story",
            "2a-1",
            "--discovery",
        ],
        &["compose", "layers", "--input", "layers.yaml"],
        &["pack", "src", "--byte-budget", "650"],
        &["explain", "layers", "--input", "layers.yaml"],
        &[
            "why",
            "layers",
            "--input",
            "layers.yaml",
            "--text",
            "Session tokens",
        ],
        &["recipe", "eject", "layers", "--as", "mine"],
        &["--help"],
    ];
    let told = project.run(&["demo", "other"]).text();
    for args in commands {
        let mut command = project.command(args);
        let run = crate::project::finish(command.current_dir(project.path("shop")));
        assert_eq!(run.code(), Some(0), "{args:?}");
        let line = args.iter().map(|arg| {
            if arg.contains(' ') {
                format!("'{arg}'")
            } else {
                (*arg).to_owned()
            }
        });
        let line = format!("callsheet {}", line.collect::<Vec<_>>().join(" "));
        assert!(told.contains(&line), "{line}");
    }
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
    let document = project.run(&["demo", "--json"]).json();
    let root = document["root"].as_str().unwrap_or_default();
    assert!(
        root.starts_with(&format!("{folder}/callsheet-demo-")),
        "{root}"
    );
    assert_eq!(document["compositions"].as_array().map(Vec::len), Some(5));
}
