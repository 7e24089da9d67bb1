//! What the system does not let us read is told and costs nothing else.
//!
//! Permissions do not bind root, so there the program runs as nobody, from a copy that nobody can reach.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use crate::project::{Project, finish, skip};

const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";

pub(crate) fn chmod(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the command that runs the program as a user whom permissions bind; nothing where there is no way to.
pub(crate) fn bound(project: &Project, args: &[&str]) -> Option<Command> {
    if std::fs::metadata(project.root()).unwrap().uid() != 0 {
        return Some(project.command(args));
    }
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let Some(setpriv) = setpriv else {
        skip("root reads and writes everything, and there is no setpriv to become somebody else");
        return None;
    };
    let program = project.outside().join("callsheet");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_callsheet"), &program).unwrap();
    }
    chmod(&project.outside(), 0o755);
    chmod(&program, 0o755);
    let mut command = project.tool(setpriv);
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(args);
    Some(command)
}

/// Runs the program where permissions bind, and gives permissions back so that the folder can be removed.
fn shown(project: &Project, locked: &Path, args: &[&str]) -> Option<String> {
    chmod(locked, 0o000);
    let run = bound(project, args).map(|mut command| finish(&mut command));
    chmod(locked, 0o755);
    run.map(|run| project.shown(&run))
}

fn sprint() -> Project {
    let project = Project::new();
    project.file(&format!("{ARTIFACTS}/2a-1.md"), "good");
    project.file(&format!("{ARTIFACTS}/2a-1-locked.md"), "locked");
    project
}

const INJECT: [&str; 5] = ["inject", "--command", "dev", "--story", "2a-1"];

#[test]
fn a_file_that_cannot_be_read() {
    let project = sprint();
    let locked = project.path(ARTIFACTS).join("2a-1-locked.md");
    if let Some(said) = shown(&project, &locked, &INJECT) {
        insta::assert_snapshot!(said, @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-locked.md` cannot be read: permission denied
    "#);
    }
    if let Some(said) = shown(&project, &locked, &["pack"]) {
        insta::assert_snapshot!(said, @r#"
    exit: 0
    --- stdout
    <tree>
    _bmad-output/
      implementation-artifacts/
        2a-1.md
    </tree>
    <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
    </file>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-locked.md` cannot be read: permission denied
    "#);
    }
}

#[test]
fn a_folder_that_cannot_be_read() {
    let project = sprint();
    let locked = project.path(ARTIFACTS);
    if let Some(said) = shown(&project, &locked, &INJECT) {
        insta::assert_snapshot!(said, @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts` cannot be read: permission denied
    warning: injection:empty: No file was found to inject for command 'dev'
    "#);
    }
    project.file("a.txt", "a");
    if let Some(said) = shown(&project, &locked, &["pack"]) {
        insta::assert_snapshot!(said, @r#"
    exit: 0
    --- stdout
    <tree>
    a.txt
    </tree>
    <file path="a.txt">
    a
    </file>
    --- stderr
    warning: `_bmad-output/implementation-artifacts` cannot be read: permission denied
    "#);
    }
}

#[test]
fn a_folder_that_nobody_asked_for() {
    let project = sprint();
    project.file("src/a.txt", "a");
    let locked = project.path(ARTIFACTS);
    let asked = ["pack", "src", "--fail-on-loss", "--format", "json"];
    if let Some(said) = shown(&project, &locked, &asked) {
        assert!(said.starts_with("exit: 0\n"), "{said}");
        assert!(!said.contains("--- stderr"), "{said}");
    }
}

#[test]
fn a_root_that_cannot_be_read() {
    let project = sprint();
    project.file("app/a.txt", "a");
    if let Some(said) = shown(&project, &project.path("app"), &["--root", "app", "pack"]) {
        insta::assert_snapshot!(said, @"
    exit: 3
    --- stderr
    error: [ROOT]/app: cannot open the folder
      Permission denied (os error 13)
    ");
    }
}

#[test]
fn settings_and_input_that_cannot_be_read() {
    let project = sprint();
    project.file("input.yaml", "rules: a\n");
    let args = ["compose", "layers", "--input", "input.yaml"];
    if let Some(said) = shown(&project, &project.path("input.yaml"), &args) {
        insta::assert_snapshot!(said, @r"
    exit: 3
    --- stderr
    error: cannot read `input.yaml`: permission denied
    ");
    }
    project.file("callsheet.toml", "");
    if let Some(said) = shown(&project, &project.path("callsheet.toml"), &args) {
        insta::assert_snapshot!(said, @r"
    exit: 3
    --- stderr
    error: cannot read `callsheet.toml`: permission denied
    ");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to() {
    let project = sprint();
    project.file("locked/old.txt", "old");
    if let Some(said) = shown(
        &project,
        &project.path("locked"),
        &["pack", "-q", "-o", "locked/old.txt"],
    ) {
        insta::assert_snapshot!(said, @r"
    exit: 3
    --- stderr
    error: cannot write `locked/old.txt`: permission denied
    ");
    }
    assert_eq!(project.read("locked/old.txt"), "old");
}
