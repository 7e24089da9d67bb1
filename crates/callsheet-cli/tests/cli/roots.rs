//! Which folder is the project's root.

use crate::project::{Project, words};

/// Packs `*.txt` of the root and returns the paths it found there.
fn packed(project: &Project, args: &[&str], folder: &str) -> String {
    let mut command = project.command(args);
    command.args(["pack", "**/*.txt", "-q"]);
    command.current_dir(project.path(folder));
    let text = crate::project::finish(&mut command).text();
    let tree = text.strip_prefix("<tree>\n").unwrap_or(&text);
    tree.split("\n</tree>")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Files at three depths, each named after where it stands.
fn nested() -> Project {
    let project = Project::new();
    project
        .file("top.txt", "")
        .file("app/app.txt", "")
        .file("app/src/src.txt", "");
    project
}

#[test]
fn the_nearest_folder_with_git_is_the_root() {
    let project = nested();
    assert_eq!(
        packed(&project, &[], "app/src"),
        "app/\n  app.txt\n  src/\n    src.txt\ntop.txt"
    );
    std::fs::create_dir(project.path("app/.git")).unwrap();
    assert_eq!(packed(&project, &[], "app/src"), "app.txt\nsrc/\n  src.txt");
}

#[test]
fn settings_above_win_over_git_nearby() {
    let project = nested();
    std::fs::create_dir(project.path("app/src/.git")).unwrap();
    project.file("app/callsheet.toml", "");
    assert_eq!(packed(&project, &[], "app/src"), "app.txt\nsrc/\n  src.txt");
}

#[test]
fn the_nearest_settings_win() {
    let project = nested();
    project
        .file("callsheet.toml", "")
        .file("app/src/callsheet.toml", "");
    assert_eq!(packed(&project, &[], "app/src"), "src.txt");
}

#[test]
fn without_either_it_is_the_current_folder() {
    let project = nested();
    std::fs::remove_dir(project.path(".git")).unwrap();
    assert_eq!(packed(&project, &[], "app"), "app.txt\nsrc/\n  src.txt");
}

#[test]
fn a_named_root_is_taken_as_it_is() {
    let project = nested();
    project.file("callsheet.toml", "");
    assert_eq!(packed(&project, &["--root", "app/src"], "."), "src.txt");
    assert_eq!(
        packed(&project, &["--root", ".."], "app/src"),
        "app.txt\nsrc/\n  src.txt"
    );
}

#[test]
fn another_start_folder_changes_where_the_search_begins() {
    let project = nested();
    project.file("app/callsheet.toml", "");
    assert_eq!(
        packed(&project, &["-C", "app/src"], "."),
        "app.txt\nsrc/\n  src.txt"
    );
}

#[test]
fn files_on_the_command_line_belong_to_the_current_folder() {
    let project = nested();
    project.file("app/input.yaml", "rules: be kind\n");
    let mut command = project.command(&words("compose layers --input input.yaml -o out.txt"));
    let run = crate::project::finish(command.current_dir(project.path("app")));
    assert_eq!(run.code(), Some(0));
    assert_eq!(project.read("app/out.txt"), "be kind");
}

#[test]
fn a_root_that_is_no_folder() {
    let project = nested();
    insta::assert_snapshot!(project.callsheet(&["--root", "nope", "pack"]), @r"
    exit: 2
    --- stderr
    error: `nope` is not a folder
    ");
    insta::assert_snapshot!(project.callsheet(&["--root", "top.txt", "pack"]), @r"
    exit: 2
    --- stderr
    error: `top.txt` is not a folder
    ");
    insta::assert_snapshot!(project.callsheet(&["--root", "nope", "init"]), @r"
    exit: 2
    --- stderr
    error: `[ROOT]/nope` is not a folder
    ");
}

#[test]
fn a_start_folder_that_is_none() {
    insta::assert_snapshot!(nested().callsheet(&["-C", "nope", "pack"]), @r"
    exit: 2
    --- stderr
    error: `nope` is not a folder
    ");
}

#[test]
fn root_and_start_folder_exclude_each_other() {
    insta::assert_snapshot!(nested().callsheet(&["-C", "app", "--root", "app", "pack"]), @r"
    exit: 2
    --- stderr
    error: the argument '-C <DIR>' cannot be used with '--root <DIR>'

    Usage: callsheet -C <DIR> <COMMAND>

    For more information, try '--help'.
    ");
}
