//! stdout carries data, stderr carries talk; how much of it, in which colours, and who reads it.

use std::io::Read as _;
use std::process::Stdio;

use crate::project::{Project, finish, words};

/// A tree with a file that is left out, and one that is named and cannot be taken.
fn talkative() -> (Project, [&'static str; 3]) {
    let project = Project::new();
    project.file("a.txt", "a").file("b.png", b"\0");
    project.file("nope", b"\xff");
    (project, ["pack", "*", "nope"])
}

#[test]
fn talk_is_normal_verbose_or_quiet_and_data_stays_the_same() {
    let (project, args) = talkative();
    insta::assert_snapshot!(project.callsheet(&args), @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    </tree>
    <file path="a.txt">
    a
    </file>
    --- stderr
    warning: `nope` is not UTF-8 text: invalid UTF-8 at byte 0
    note: 1 file left out (1 binary); `-v` names them
    "#);
    let data = project.run(&args).stdout;
    for (flag, said) in [
        ("-q", ""),
        ("--quiet", ""),
        (
            "-v",
            "warning: `nope` is not UTF-8 text: invalid UTF-8 at byte 0\nnote: `b.png` is binary\n",
        ),
        (
            "--verbose",
            "warning: `nope` is not UTF-8 text: invalid UTF-8 at byte 0\nnote: `b.png` is binary\n",
        ),
    ] {
        let run = project.run(&[&args[..], &[flag]].concat());
        assert_eq!(
            (run.stdout, String::from_utf8_lossy(&run.stderr).as_ref()),
            (data.clone(), said),
            "{flag}"
        );
    }
}

#[test]
fn quiet_keeps_errors() {
    insta::assert_snapshot!(Project::new().callsheet(&["-q", "compose", "nope"]), @"
    exit: 2
    --- stderr
    error: no recipe named `nope`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    ");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let (project, args) = talkative();
    let said =
        |more: &[&str]| String::from_utf8(project.run(&[&args[..], more].concat()).stderr).unwrap();
    let plain = said(&[]);
    assert!(!plain.contains('\x1b'));
    assert_eq!(said(&["--color", "auto"]), plain);
    assert_eq!(said(&["--color", "never"]), plain);
    insta::assert_snapshot!(said(&["--color", "always"]).escape_debug(), @r"\u{1b}[1m\u{1b}[33mwarning\u{1b}[0m: `nope` is not UTF-8 text: invalid UTF-8 at byte 0\n\u{1b}[1m\u{1b}[34mnote\u{1b}[0m: 1 file left out (1 binary); `-v` names them\n");
    let table = project
        .run(&words(r#"explain pack -D globs:=["a.txt"] --color always"#))
        .text();
    assert!(table.starts_with("\x1b[1mLAYER"), "{table:?}");
}

#[test]
fn colours_never_get_into_a_prompt() {
    let (project, args) = talkative();
    let run = project.run(&[&args[..], &["--color", "always"]].concat());
    assert_eq!(run.stdout, project.run(&args).stdout);
}

#[test]
fn the_environment_can_ask_for_colours_and_forbid_them() {
    let (mut project, args) = talkative();
    project.variable("CLICOLOR_FORCE", "1");
    assert!(project.run(&args).stderr.contains(&b'\x1b'));
    let never = project.run(&[&args[..], &["--color", "never"]].concat());
    assert!(!never.stderr.contains(&b'\x1b'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let project = Project::new();
    project.file("big.txt", "line\n".repeat(40_000));
    let commands: [&[&str]; 3] = [
        &["pack"],
        &["pack", "--json"],
        &["why", "pack", "--text", "line", "--json"],
    ];
    for args in commands {
        let mut command = project.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        // Taken out of the child and dropped: that is how `| head -c1` ends.
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_full_is_a_refusal() {
    let project = Project::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = project.command(&["recipe", "list"]);
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"error: cannot write to stdout: no space left on device");
}

#[test]
fn completions_for_every_shell() {
    let project = Project::new();
    for (shell, begins) in [
        ("bash", "_callsheet() {"),
        ("zsh", "#compdef callsheet"),
        ("fish", "# Print an optspec"),
    ] {
        let run = project.run(&["completions", shell]);
        assert_eq!((run.code(), run.stderr.len()), (Some(0), 0));
        assert!(run.text().starts_with(begins), "{shell}: {}", run.text());
        for command in ["compose", "inject", "template"] {
            assert!(run.text().contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn the_scripts_are_scripts() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish"] {
        project.file("script", project.run(&["completions", shell]).stdout);
        let Some(program) = ["/bin", "/usr/bin", "/usr/local/bin"]
            .iter()
            .map(|folder| std::path::Path::new(folder).join(shell))
            .find(|program| program.exists())
        else {
            continue;
        };
        let run = finish(project.tool(program).args(["-n", "script"]));
        assert_eq!((run.code(), run.stderr.len()), (Some(0), 0), "{shell}");
    }
}
