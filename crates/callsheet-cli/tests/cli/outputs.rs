//! Where outputs go: never one over another, and what is not a plain file is never replaced.

#![expect(
    clippy::unwrap_used,
    reason = "a file that is not there fails the test"
)]

use std::fs::{File, OpenOptions};

use crate::project::{Project, Run, finish, words};

const RECIPE: &str = "callsheet/recipes/hello/recipe.toml";

fn world() -> Project {
    let project = Project::new();
    project.file(RECIPE, "[[layers]]\nname = \"hello\"\ntext = \"Hello.\"\n");
    project
}

/// Runs the program with stdout in a file, which is written at its end.
fn into_file(project: &Project, args: &str, file: &str) -> Run {
    let stdout = OpenOptions::new()
        .append(true)
        .create(true)
        .open(project.path(file));
    let mut command = project.command(&words(args));
    let status = command
        .stdout(stdout.unwrap())
        .stderr(std::process::Stdio::null())
        .status();
    let stdout = std::fs::read(project.path(file)).unwrap();
    Run {
        status: status.unwrap(),
        stdout,
        stderr: Vec::new(),
    }
}

#[test]
fn two_outputs_at_one_place_are_refused() {
    let project = world();
    std::os::unix::fs::symlink("new", project.path("link")).unwrap();
    project.file("old", "old");
    std::fs::hard_link(project.path("old"), project.path("other")).unwrap();
    for args in [
        "-o x --manifest x",
        "-o x --source-map ./x",
        "-o link --events new",
        "-o out --manifest old --source-map other",
        "-o - --manifest -",
        "--events /dev/stdout",
        "-o /dev/fd/1 --manifest /proc/self/fd/1",
    ] {
        let run = project.run(&[&["compose", "hello"][..], &words(args)].concat());
        assert_eq!((run.code(), run.text().as_str()), (Some(2), ""), "{args}");
    }
    insta::assert_snapshot!(project.callsheet(&words("compose hello -o x --manifest x")), @"
    exit: 2
    --- stderr
    error: the prompt and `--manifest` would both be written to `x`
    hint: name a file for each of them
    ");
    insta::assert_snapshot!(project.callsheet(&words("pack --manifest /dev/stdout")), @"
    exit: 2
    --- stderr
    error: the prompt and `--manifest` would both be written to stdout
    hint: name a file for each of them
    ");
    insta::assert_snapshot!(project.callsheet(&words("exec hello --runner scripted --manifest -")), @"
    exit: 2
    --- stderr
    error: the result and `--manifest` would both be written to stdout
    hint: name a file for each of them
    ");
    assert_eq!(project.read("old"), "old");
    assert!(!project.path("x").exists() && !project.path("new").exists());
    let run = into_file(&project, "compose hello --manifest ./f", "f");
    assert_eq!((run.code(), run.text().as_str()), (Some(2), ""));
}

#[test]
fn a_place_that_takes_many_outputs_takes_them() {
    let run = world().run(&words("compose hello -o /dev/null --manifest /dev/null"));
    assert_eq!((run.code(), run.stdout), (Some(0), Vec::new()));
}

#[test]
fn stdout_is_written_to_and_not_replaced() {
    let project = world();
    for args in [
        "-o -",
        "-o /dev/stdout",
        "-o /dev/fd/1",
        "-o /proc/self/fd/1",
    ] {
        project.file("f", "before ");
        let run = into_file(&project, &format!("compose hello {args}"), "f");
        assert_eq!(
            (run.code(), run.text().as_str()),
            (Some(0), "before Hello."),
            "{args}"
        );
    }
    project.file("f", "");
    let run = into_file(&project, "compose hello -o prompt --manifest -", "f");
    assert_eq!(project.read("prompt"), "Hello.");
    assert_eq!(run.json()["schema"], "callsheet.manifest/1");
    assert!(!project.path("-").exists());
}

#[test]
fn a_link_to_a_new_file_is_followed() {
    let project = world();
    std::fs::create_dir(project.path("deep")).unwrap();
    std::os::unix::fs::symlink("deep/one", project.path("two")).unwrap();
    std::os::unix::fs::symlink("two", project.path("three")).unwrap();
    project.run(&words("compose hello -o three"));
    assert_eq!(project.read("deep/one"), "Hello.");
    assert!(project.path("three").is_symlink() && project.path("two").is_symlink());
}

#[test]
fn events_are_those_of_this_composition_or_none() {
    let project = world();
    project.file("events", "of an earlier composition\n");
    project.file(RECIPE, "layers = 3\n");
    assert_eq!(
        project.run(&words("compose hello --events events")).code(),
        Some(2)
    );
    assert_eq!(project.read("events"), "");
    project.file("events", "kept");
    let run = project.run(&words("compose hello --events events --manifest events"));
    assert_eq!(
        (run.code(), project.read("events").as_str()),
        (Some(2), "kept")
    );
}

#[test]
fn a_pipe_gets_its_events_once() {
    let project = world();
    let pipe = project.path("pipe");
    assert!(
        project
            .tool("/usr/bin/mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader =
        std::thread::spawn(move || std::io::read_to_string(File::open(pipe).unwrap()).unwrap());
    let run = finish(&mut project.command(&words("compose hello --events pipe")));
    assert_eq!((run.code(), run.text().as_str()), (Some(0), "Hello."));
    assert_eq!(reader.join().unwrap(), "");
}

#[test]
fn json_beside_another_form_is_refused() {
    let project = world();
    insta::assert_snapshot!(project.callsheet(&words("compose hello --json --format text")), @"
    exit: 2
    --- stderr
    error: `--json` prints a document, `--format text` does not
    hint: `--json` is `--format json`; leave one of them out
    ");
    insta::assert_snapshot!(project.callsheet(&words(
        "inject --command dev --story 1-1 --format messages --json"
    )), @"
    exit: 2
    --- stderr
    error: `--json` prints a document, `--format messages` does not
    hint: `--json` is `--format json`; leave one of them out
    ");
    let both = project.run(&words("compose hello --json --format json"));
    assert_eq!(both.json()["text"], "Hello.");
}
