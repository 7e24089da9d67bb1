//! Walks against the walker of the crate whose rules are used, and against hostile ignore files.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use rustix::fs::{CWD, Mode};

use super::*;

fn walked(root: &Path, hidden: bool) -> Found {
    let globs = Globs::new(["**"]).unwrap();
    Folder::open(root).unwrap().walk(&globs, hidden)
}

/// Returns what another walker finds by the same rules.
fn expected(root: &Path, hidden: bool) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root)
        .hidden(!hidden)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .ignore(false)
        .require_git(false)
        .add_custom_ignore_filename(PROMPTIGNORE)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let files = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let files = files.map(|entry| {
        entry
            .path()
            .strip_prefix(root)
            .unwrap()
            .display()
            .to_string()
    });
    let mut files: Vec<String> = files.collect();
    files.sort_unstable();
    files
}

const NAMES: [&str; 6] = ["a", "b", "c.log", ".h", "d", "e.md"];
const LINES: [&str; 16] = [
    "*.log", "!c.log", "d/", "/b", "**/a", "a/b", "!d/", "*", "!*/", "# a", "\\#", "e.*", "!.h",
    "a/**", "/d/e.md", "[",
];

fn trees() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = || proptest::sample::select(&NAMES[..]);
    let path = proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let file = (path.clone(), Just(String::new()));
    let lines = proptest::collection::vec(proptest::sample::select(&LINES[..]), 0..4);
    let ends = proptest::sample::select(vec!["\n", "\r\n"]);
    let lines = (lines, ends).prop_map(|(lines, end)| lines.join(end));
    let within = prop_oneof![
        Just(String::new()),
        path.prop_map(|path| format!("{path}/"))
    ];
    let kind = proptest::sample::select(vec![GITIGNORE, PROMPTIGNORE, ".git/x"]);
    let rules =
        (within, kind, lines).prop_map(|(within, kind, lines)| (format!("{within}{kind}"), lines));
    let files = proptest::collection::vec(file, 1..12);
    let rules = proptest::collection::vec(rules, 0..4);
    (files, rules).prop_map(|(files, rules)| files.into_iter().chain(rules).collect())
}

proptest! {
    #[test]
    fn the_rules_are_those_of_git(tree in trees(), hidden in proptest::bool::ANY) {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in &tree {
            let path = place.path().join(path);
            // What stands in the way of a folder stays.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
                fs::write(path, text).unwrap();
            }
        }
        prop_assert_eq!(walked(place.path(), hidden).files, expected(place.path(), hidden));
    }
}

#[test]
fn ignore_files_are_read_like_any_other() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("rules"), "*.md\n").unwrap();
    let root = outer.path().join("root");
    for folder in ["pipe", "out", "in", "giant", "folder/.gitignore"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for folder in ["pipe", "out", "in", "giant", "folder"] {
        fs::write(root.join(folder).join("a.md"), "").unwrap();
    }
    fs::write(root.join("rules"), "*.md\n").unwrap();
    let pipe = root.join("pipe/.gitignore");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink("../../rules", root.join("out/.promptignore")).unwrap();
    symlink("../rules", root.join("in/.gitignore")).unwrap();
    let giant = fs::File::create(root.join("giant/.gitignore")).unwrap();
    giant.set_len(2 << 30).unwrap();
    let found = walked(&root, false);
    assert_eq!(
        found.files,
        [
            "folder/a.md",
            "giant/a.md",
            "out/a.md",
            "pipe/a.md",
            "rules"
        ]
    );
    let refused = found.refused.iter();
    let refused: Vec<_> = refused
        .map(|(path, why)| (path.as_str(), why.reason))
        .collect();
    assert_eq!(
        refused,
        [
            ("giant/.gitignore", Reason::TooLarge),
            ("out/.promptignore", Reason::OutsideRoot),
            ("pipe/.gitignore", Reason::NotAFile),
        ]
    );
}

#[test]
fn depth_costs_neither_stack_nor_open_files() {
    let place = tempfile::tempdir().unwrap();
    let deep = "d/".repeat(1500);
    fs::create_dir_all(place.path().join(&deep)).unwrap();
    fs::write(place.path().join(&deep).join("a.md"), "").unwrap();
    assert_eq!(walked(place.path(), false).files, [format!("{deep}a.md")]);
}
