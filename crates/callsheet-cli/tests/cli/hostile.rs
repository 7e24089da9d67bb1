//! Worlds that mean no good: refused and reported, never opened blindly, never waited for.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::project::{Project, words};

/// The folder of the stories.
pub(crate) const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";

/// Asks for one story.
pub(crate) const INJECT: [&str; 5] = ["inject", "--command", "dev", "--story", "2a-1"];

/// Makes a named pipe that nobody writes to.
pub(crate) fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
}

/// A sprint with one good story.
pub(crate) fn sprint() -> Project {
    let project = Project::new();
    project.file(&format!("{ARTIFACTS}/2a-1.md"), "good");
    project
}

/// Returns the path of a file in the folder of the stories.
pub(crate) fn artifact(project: &Project, name: impl AsRef<OsStr>) -> std::path::PathBuf {
    project.path(ARTIFACTS).join(name.as_ref())
}

#[test]
fn a_pipe_named_like_a_story() {
    let project = sprint();
    pipe(&artifact(&project, "2a-1-pipe.md"));
    insta::assert_snapshot!(project.callsheet(&[&INJECT[..], &["--file", &format!("{ARTIFACTS}/2a-1-pipe.md")]].concat()), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-pipe.md` is not a regular file: a named pipe
    "#);
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r#"
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
    warning: `_bmad-output/implementation-artifacts/2a-1-pipe.md` is not a regular file
    "#);
}

#[test]
fn a_pipe_among_templates_and_recipes() {
    let project = Project::new();
    project.file(
        "callsheet/recipes/mine/recipe.toml",
        "[[layers]]\nname = 'a'\ntext = 'a'\n",
    );
    project.file("callsheet/templates/good.md", "good");
    pipe(&project.path("callsheet/recipes/mine/pipe.md"));
    pipe(&project.path("callsheet/templates/pipe.md"));
    pipe(&project.path("CLAUDE.md"));
    insta::assert_snapshot!(project.callsheet(&["compose", "mine"]), @r"
    exit: 2
    --- stderr
    error: callsheet/recipes/mine/pipe.md: is not a regular file: a named pipe
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "check"]), @r"
    exit: 1
    --- stdout
    callsheet/templates/pipe.md: is not a regular file
    --- stderr
    error: 7 templates checked, 1 problem found
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "-D", "project_context:=true"]), @r"
    exit: 0
    --- stderr
    warning: `CLAUDE.md` is not a regular file: a named pipe
    ");
}

#[test]
fn a_device() {
    let args = [&INJECT[..], &["--file", "/dev/zero"]].concat();
    insta::assert_snapshot!(sprint().callsheet(&args), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `/dev/zero` leads out of the root: set `allow_outside` to take it anyway
    "#);
    let allowed = words(
        r#"compose injection -D command_name=dev -D story_keys:=[] -D additional_files:=["/dev/zero"] -D allow_outside:=true"#,
    );
    insta::assert_snapshot!(sprint().callsheet(&allowed), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
    </file_injections>
    --- stderr
    warning: `/dev/zero` is not a regular file: a device
    warning: injection:empty: No file was found to inject for command 'dev'
    "#);
}

#[test]
fn a_sparse_file_of_two_gigabytes() {
    let project = sprint();
    let sparse = File::create(artifact(&project, "2a-1-sparse.md")).unwrap();
    sparse.set_len(2 << 30).unwrap();
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-sparse.md` is over the file size limit: 2147483648 bytes, at most 33554432 are read
    "#);
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r#"
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
    warning: `_bmad-output/implementation-artifacts/2a-1-sparse.md` is over the file size limit: 2147483648 bytes, at most 33554432 are read
    "#);
}

#[test]
fn names_with_newlines_quotes_and_control_characters() {
    let project = sprint();
    for name in [
        "2a-1\nnewline.md",
        "2a-1\"quote.md",
        "2a-1\x1b[31mred.md",
        "2a-1'<&>.md",
    ] {
        std::fs::write(artifact(&project, name), "x").unwrap();
    }
    let run = project.run(&INJECT);
    insta::assert_snapshot!(run.text().escape_debug().to_string().replace("\\n", "\n"), @r#"
    <file_injections rule=\"DO NOT read these files - content already provided\">
      <file path=\"_bmad-output/implementation-artifacts/2a-1
    newline.md\">
    x
      </file>
      <file path=\"_bmad-output/implementation-artifacts/2a-1\u{1b}[31mred.md\">
    x
      </file>
      <file path=\"_bmad-output/implementation-artifacts/2a-1&quot;quote.md\">
    x
      </file>
      <file path=\"_bmad-output/implementation-artifacts/2a-1\'<&>.md\">
    x
      </file>
      <file path=\"_bmad-output/implementation-artifacts/2a-1.md\">
    good
      </file>
    </file_injections>
    "#);
    insta::assert_snapshot!(String::from_utf8_lossy(&run.stderr), @r#"
    warning: boundary:collision: the name "_bmad-output/implementation-artifacts/2a-1\nnewline.md" contains a control character, which breaks its frame
    warning: boundary:collision: the name "_bmad-output/implementation-artifacts/2a-1\u{1b}[31mred.md" contains a control character, which breaks its frame
    "#);
    let packed = project.run(&["pack", "--format", "json"]);
    assert_eq!(packed.json()["files"].as_array().map(Vec::len), Some(5));
    let table = project.run(&["explain", "pack"]);
    assert!(!table.stdout.contains(&0x1b) && !table.stderr.contains(&0x1b));
}

#[test]
fn names_that_are_no_text() {
    let project = sprint();
    std::fs::write(artifact(&project, OsStr::from_bytes(b"2a-1-\xff.md")), "x").unwrap();
    std::fs::write(artifact(&project, OsStr::from_bytes(b"other-\xff.md")), "x").unwrap();
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-�.md` has a name that is not UTF-8 text
    "#);
    insta::assert_snapshot!(project.callsheet(&["pack", "--fail-on-loss"]), @r"
    exit: 1
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-�.md` has a name that is not UTF-8 text
    warning: `_bmad-output/implementation-artifacts/other-�.md` has a name that is not UTF-8 text
    error: 2 things that were asked for are not in the prompt, and `--fail-on-loss` is set
    ");
}

#[test]
fn a_binary_file() {
    let project = sprint();
    project.file(&format!("{ARTIFACTS}/2a-1.bin"), b"ab\xff\0");
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1.bin` is not UTF-8 text: invalid UTF-8 at byte 2
    "#);
    insta::assert_snapshot!(project.callsheet(&["pack", "-v"]), @r#"
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
    note: `_bmad-output/implementation-artifacts/2a-1.bin` is binary
    "#);
}

#[test]
fn a_folder_of_a_hundred_thousand_artifacts() {
    let project = sprint();
    let folder = project.path(ARTIFACTS);
    // Links are made faster than files; a file may have only so many of them.
    for thousand in 0..100 {
        let first = folder.join(format!("sprint-9-{thousand}.md"));
        File::create(&first).unwrap();
        for number in 1..1000 {
            let name = folder.join(format!("sprint-9-{thousand}-{number}.md"));
            std::fs::hard_link(&first, name).unwrap();
        }
    }
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    "#);
}

#[test]
fn a_settings_file_that_is_not_a_plain_one_is_refused() {
    let project = Project::new();
    let file = project.path("callsheet.toml");
    let mut output = String::new();
    std::fs::write(
        project.outside().join("elsewhere.toml"),
        "project = \"x\"\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("../elsewhere.toml", &file).unwrap();
    output.push_str(&project.callsheet(&["recipe", "list"]));
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    output.push_str(&project.callsheet(&["recipe", "list"]));
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    output.push_str(&project.callsheet(&["recipe", "list"]));
    std::fs::remove_file(&file).unwrap();
    std::fs::File::create(&file)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    output.push_str(&project.callsheet(&["recipe", "list"]));
    insta::assert_snapshot!(output, @"
    exit: 2
    --- stderr
    error: callsheet.toml: leads out of the root
    exit: 2
    --- stderr
    error: callsheet.toml: leads out of the root
    exit: 2
    --- stderr
    error: callsheet.toml: is not a regular file
    exit: 2
    --- stderr
    error: callsheet.toml: is over the file size limit
    ");
}

#[test]
fn nothing_is_set_up_through_a_link_that_leads_out() {
    let project = Project::new();
    let outside = project.outside().join("rules");
    std::fs::write(&outside, "target\n").unwrap();
    std::os::unix::fs::symlink("../rules", project.path(".gitignore")).unwrap();
    insta::assert_snapshot!(project.callsheet(&["init"]), @"
    exit: 3
    --- stderr
    error: `.gitignore` leads out of the root: through a link; nothing was written to it
    ");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "target\n");
}
