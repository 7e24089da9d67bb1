//! What tests of sealed prompts have in common: a project to seal from, and its store from behind.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its store has nothing to test"
)]

use std::path::PathBuf;

use crate::project::{Project, Run};

/// The store of a project.
pub(crate) const STORE: &str = ".callsheet/callsheet.db";

/// Makes a project with a recipe of its own over two files, one of which ends in the middle of a line.
pub(crate) fn shop() -> Project {
    let project = Project::new();
    project.file("rules.md", "Never push to main.\nRun the checks.\n");
    project.file(
        "src/login.rs",
        "pub fn may_try(failures: u32) -> bool {\n    failures < 5\n}\n",
    );
    project.file(
        "callsheet/recipes/review/recipe.toml",
        "[[layers]]\nname = 'task'\ntext = 'Review {{path}}, {{who}}.'\n\n[[layers]]\nname = 'rules'\nfile = 'rules.md'\n\n\
         [[layers]]\nname = 'code'\nfile = '{{path}}'\nframe = 'markdown'\n",
    );
    project
}

/// The arguments of a review by somebody.
pub(crate) fn review(who: &str) -> Vec<String> {
    let fixed = ["compose", "review", "-D", "path=src/login.rs", "-D"];
    let mut args: Vec<String> = fixed.map(str::to_owned).to_vec();
    args.push(format!("who={who}"));
    args
}

/// Seals the review by somebody and returns its id.
#[track_caller]
pub(crate) fn seal(project: &Project, who: &str) -> String {
    let args = review(who);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    seal_by(project, &args)
}

/// Seals what a command composes and returns its id.
#[track_caller]
pub(crate) fn seal_by(project: &Project, args: &[&str]) -> String {
    let run = project.run(&[args, &["--seal"]].concat());
    assert_eq!(run.code(), Some(0), "{}", said(&run));
    id_of(&run)
}

/// Returns the id that a run has told.
#[track_caller]
pub(crate) fn id_of(run: &Run) -> String {
    let said = said(run);
    let line = said.lines().find_map(|line| line.split_once("sealed "));
    line.unwrap_or_else(|| panic!("{said}")).1.to_owned()
}

/// Returns stderr as text.
pub(crate) fn said(run: &Run) -> String {
    String::from_utf8(run.stderr.clone()).unwrap()
}

/// Opens the store behind the back of the program.
pub(crate) fn database(project: &Project) -> rusqlite::Connection {
    rusqlite::Connection::open(project.path(STORE)).unwrap()
}

/// Writes sealed prompts into a bundle beside the project and returns its path.
#[track_caller]
pub(crate) fn export(project: &Project, args: &[&str]) -> PathBuf {
    let file = project.outside().join("bundle.tar.zst");
    let run = project.run(&[&["export", "-o", file.to_str().unwrap()], args].concat());
    assert_eq!(run.code(), Some(0), "{}", said(&run));
    file
}
