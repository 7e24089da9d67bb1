//! Words that tell of unfinished work or of one machine.

use crate::assert_none;
use crate::tree::{self, File, word_at};

/// Marks of unfinished work, as they are written.
const MARKS: &[&str] = &["TODO", "FIXME", "XXX", "todo!(", "unimplemented!(", "dbg!("];

/// Phrases of unfinished work, in any case.
const PHRASES: &[&str] = &["for now", "not implemented yet"];

/// Where folders of one machine begin; test data may name them.
const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/", "/Users/"];

/// Files that are not searched: this one, and the one that cargo writes.
const SKIPPED: &[&str] = &[
    "crates/callsheet-cli/tests/repository/words.rs",
    "Cargo.lock",
];

/// Words that a file may use, as path, word and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Returns every forbidden word with its place.
fn complaints<'a>(
    files: impl IntoIterator<Item = &'a File>,
    exceptions: &[(&str, &str, &str)],
) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        if SKIPPED.contains(&file.path.as_str()) {
            continue;
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            let path = &file.path;
            complaints.extend(
                found(line, file.is_test())
                    .filter(|word| !exceptions.iter().any(|e| (e.0, e.1) == (path, *word)))
                    .map(|word| format!("{path}:{number}: `{word}` does not belong here")),
            );
        }
    }
    complaints
}

fn found(line: &str, is_test: bool) -> impl Iterator<Item = &'static str> {
    let lower = line.to_lowercase();
    let marks = MARKS.iter().filter(|mark| word_at(line, mark).is_some());
    let phrases = PHRASES
        .iter()
        .filter(move |phrase| word_at(&lower, phrase).is_some());
    let paths = MACHINE_PATHS
        .iter()
        .filter(move |path| !is_test && starts_a_path(line, path));
    marks.chain(phrases).chain(paths).copied()
}

/// Tells whether the folder stands at the beginning of an absolute path: `a/work/b` is fine.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-~}>*)".contains(c))
    })
}

#[test]
fn nothing_is_left_unfinished_and_no_machine_is_named() {
    assert_none(&complaints(&tree::files(), EXCEPTIONS));
}

#[test]
fn a_forbidden_word_is_named_with_its_place() {
    let files = [
        File::new("a.md", "fine\nTODO: more\nmktemp XXXXXX\n"),
        File::new("b.rs", "todo!()\nFor now, this\nfor nowhere\n"),
        File::new("c.rs", "\"/home/me\" \"a/work/b\" file:///root/x\n"),
        File::new("c/tests/d.rs", "\"/home/me\" FIXME\n"),
        File::new("Cargo.lock", "TODO\n"),
    ];
    assert_eq!(
        complaints(&files, &[("b.rs", "todo!(", "a reason")]),
        [
            "a.md:2: `TODO` does not belong here",
            "b.rs:2: `for now` does not belong here",
            "c.rs:1: `/root/` does not belong here",
            "c.rs:1: `/home/` does not belong here",
            "c/tests/d.rs:1: `FIXME` does not belong here",
        ]
    );
}
