//! Links that lead out of the root, in circles, or nowhere.

use std::os::unix::fs::symlink;

use crate::hostile::{ARTIFACTS, INJECT, artifact, sprint};
use crate::project::Project;

#[test]
fn a_link_out_of_the_root() {
    let project = sprint();
    std::fs::write(project.outside().join("secret"), "secret").unwrap();
    symlink(
        project.outside().join("secret"),
        artifact(&project, "2a-1-link.md"),
    )
    .unwrap();
    symlink("../../../secret", artifact(&project, "2a-1-relative.md")).unwrap();
    symlink(project.outside(), project.path("out")).unwrap();
    symlink("2a-1.md", artifact(&project, "2a-1-within.md")).unwrap();
    let args = [&INJECT[..], &["--file", "out/secret"]].concat();
    insta::assert_snapshot!(project.callsheet(&args), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1-within.md">
    good
      </file>
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-link.md` leads out of the root: through a link
    warning: `_bmad-output/implementation-artifacts/2a-1-relative.md` leads out of the root: through a link
    warning: `out/secret` leads out of the root: through a link
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
    warning: `_bmad-output/implementation-artifacts/2a-1-link.md` leads out of the root: through a link
    warning: `_bmad-output/implementation-artifacts/2a-1-relative.md` leads out of the root: through a link
    warning: `out` leads out of the root: through a link
    note: `_bmad-output/implementation-artifacts/2a-1-within.md` is a link, which is not followed
    "#);
}

#[test]
fn links_in_a_circle() {
    let project = sprint();
    symlink("2a-1-b.md", artifact(&project, "2a-1-a.md")).unwrap();
    symlink("2a-1-a.md", artifact(&project, "2a-1-b.md")).unwrap();
    symlink("..", artifact(&project, "2a-1-up")).unwrap();
    symlink(".", project.path("self")).unwrap();
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
      <file path="_bmad-output/implementation-artifacts/2a-1.md">
    good
      </file>
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts/2a-1-a.md` cannot be read: too many links, or links in a circle
    warning: `_bmad-output/implementation-artifacts/2a-1-b.md` cannot be read: too many links, or links in a circle
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
    warning: `_bmad-output/implementation-artifacts/2a-1-a.md` cannot be read: too many links, or links in a circle
    warning: `_bmad-output/implementation-artifacts/2a-1-b.md` cannot be read: too many links, or links in a circle
    note: `_bmad-output/implementation-artifacts/2a-1-up` is a link, which is not followed
    note: `self` is a link, which is not followed
    "#);
}

#[test]
fn a_dangling_link_and_a_folder_named_like_stories() {
    let project = sprint();
    symlink("nowhere", artifact(&project, "2a-1-dangling.md")).unwrap();
    std::fs::create_dir(artifact(&project, "2a-1-folder.md")).unwrap();
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
fn an_artifact_folder_that_is_a_file_or_leads_out() {
    let project = Project::new();
    project.file(ARTIFACTS, "a file");
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
    </file_injections>
    --- stderr
    warning: injection:empty: No file was found to inject for command 'dev'
    "#);
    std::fs::remove_file(project.path(ARTIFACTS)).unwrap();
    std::fs::create_dir(project.outside().join("elsewhere")).unwrap();
    std::fs::write(project.outside().join("elsewhere/2a-1.md"), "secret").unwrap();
    symlink(project.outside().join("elsewhere"), project.path(ARTIFACTS)).unwrap();
    insta::assert_snapshot!(project.callsheet(&INJECT), @r#"
    exit: 0
    --- stdout
    <file_injections rule="DO NOT read these files - content already provided">
    </file_injections>
    --- stderr
    warning: `_bmad-output/implementation-artifacts` leads out of the root: through a link
    warning: injection:empty: No file was found to inject for command 'dev'
    "#);
}
