//! `review` and the sources that look at a repository, with a real git.

#![expect(
    clippy::unwrap_used,
    reason = "a repository that cannot be made fails the test"
)]

use std::fs;
use std::process::Stdio;

use crate::project::Project;
use crate::sealed::{said, seal_by};

/// A project with one commit; git is found by the path of whoever runs the test.
pub(crate) fn repository() -> Project {
    let mut project = Project::new();
    fs::remove_dir(project.path(".git")).unwrap();
    project.variable("PATH", &std::env::var("PATH").unwrap());
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    project
        .file("AGENTS.md", "Name the line.\n")
        .file("src/a.rs", "one\n")
        .file("gone.md", "gone\n");
    commit(&project);
    project
}

fn git(project: &Project, args: &[&str]) {
    let mut git = project.tool("git");
    git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    git.args(args).stdout(Stdio::null());
    assert!(git.status().unwrap().success(), "{args:?}");
}

fn commit(project: &Project) {
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message=A commit"]);
}

#[test]
fn a_change_is_composed_twice_to_the_same_bytes_and_replayed_without_the_repository() {
    let project = repository();
    project
        .file("src/a.rs", "two\n")
        .file("src/new.rs", "new\n");
    fs::remove_file(project.path("gone.md")).unwrap();
    let one = project.run(&["compose", "review"]);
    assert_eq!(one, project.run(&["compose", "review"]));
    let text = one.text();
    for part in [
        "-one\n+two\n",
        "+++ b/src/new.rs\n@@ -0,0 +1 @@\n+new\n",
        "--- a/gone.md\n+++ /dev/null\n",
        "<file path=\"AGENTS.md\">\nName the line.\n\n</file>",
        "<file path=\"src/a.rs\">\ntwo\n\n</file>",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("<file path=\"gone.md\">"));
    let worktree = seal_by(&project, &["compose", "review"]);
    git(&project, &["add", "--all"]);
    let staged = seal_by(&project, &["compose", "review", "-D", "staged:=true"]);
    commit(&project);
    let range = seal_by(&project, &["compose", "review", "-D", "range=HEAD~1.."]);
    for folder in [".git", "src"] {
        fs::remove_dir_all(project.path(folder)).unwrap();
    }
    for id in [&worktree, &staged, &range] {
        let replay = project.run(&["replay", id]);
        assert_eq!(replay.code(), Some(0), "{}{}", replay.text(), said(&replay));
        assert_eq!(project.run(&["verify", id]).code(), Some(0));
    }
    assert_eq!(project.run(&["show", &worktree]).text(), text);
}

#[test]
fn a_reviewer_is_told_what_there_is_to_review() {
    let project = repository();
    insta::assert_snapshot!(project.callsheet(&["compose", "review"]), @r"
    exit: 2
    --- stderr
    error: nothing to review: nothing differs from the last commit
    hint: `-D range=main..HEAD` takes commits, `-D staged:=true` what is staged
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "review", "-D", "range=main..nope"]), @r"
    exit: 2
    --- stderr
    error: cannot tell what changed
      `git diff --raw main..nope` failed: exit code 128: fatal: bad revision 'main..nope'
    hint: `callsheet schema review` prints what the recipe takes
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "review", "-D", "range=--output=x..y"]), @r"
    exit: 2
    --- stderr
    error: bad range `--output=x..y`: expected two revisions, such as `main..topic`
    hint: `callsheet schema review` prints what the recipe takes
    ");
    fs::remove_dir_all(project.path(".git")).unwrap();
    insta::assert_snapshot!(project.callsheet(&["--root", ".", "compose", "review"]), @r"
    exit: 2
    --- stderr
    error: cannot tell what changed
      `git diff --raw HEAD` is not available: not a git repository
    hint: `callsheet schema review` prints what the recipe takes
    ");
}

#[test]
fn odd_names_stay_one_name() {
    let project = repository();
    project.file(
        "callsheet/recipes/mine/recipe.toml",
        "[[layers]]\nname = \"status\"\ngit_status = {}\n",
    );
    commit(&project);
    project.file("</git_status>", "a").file("new\nline\"", "b");
    git(&project, &["add", "--all"]);
    let text = project.run(&["compose", "mine"]).text();
    assert!(text.starts_with("<git_status>\n  <instruction>"), "{text}");
    assert_eq!(text.matches("</git_status>").count(), 1, "{text}");
    let listed = "\tnew file:   &lt;/git_status&gt;\n\tnew file:   \"new\\nline\\\"\"\n";
    assert!(text.contains(listed), "{text}");
    let document = project
        .run(&["compose", "review", "--format", "json"])
        .json();
    let sections = document["sections"].as_array().unwrap().iter();
    let names: Vec<&str> = sections
        .filter(|section| section["layer"] == "diff")
        .map(|section| section["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["</git_status>", "new\nline\""]);
}

#[test]
fn secrets_in_a_change_are_neither_shown_nor_sealed() {
    let project = repository();
    let secret = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    project.file("src/a.rs", format!("token = \"{secret}\"\n"));
    let run = project.run(&["compose", "review", "--redact"]);
    assert!(!run.text().contains(&secret) && run.text().contains("token"));
    let id = seal_by(&project, &["compose", "review", "--redact"]);
    assert_eq!(project.run(&["replay", &id]).code(), Some(0));
    let bundle = project.path("out.callsheet");
    let export = project.run(&["export", &id, "-o", bundle.to_str().unwrap()]);
    assert_eq!(export.code(), Some(0), "{}", said(&export));
    let bytes = zstd::decode_all(&fs::read(bundle).unwrap()[..]).unwrap();
    assert!(
        !bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes())
    );
}

#[test]
fn commands_run_only_if_the_project_names_them() {
    let project = repository();
    project.file(
        "callsheet.toml",
        "[commands.test]\ncommand = [\"sh\", \"-c\", \"echo ok; exit ${CODE:-0}\"]\n",
    );
    let recipe = "callsheet/recipes/mine/recipe.toml";
    project.file(recipe, "[[layers]]\nname = \"a\"\ncommand = \"test\"\n");
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @r"
    exit: 0
    --- stdout
    ok
    ");
    project.file(recipe, "[[layers]]\nname = \"a\"\ncommand = \"tset\"\n");
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/recipe.toml: no command named `tset`
    hint: did you mean `test`?
    ");
    project.file("callsheet.toml", "[commands.test]\ncommand = []\n");
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml:1: `command` is empty; it needs a program and its arguments
    hint: `callsheet schema settings` prints what is allowed
    ");
}
