//! No file grows past what a reader can hold.

use std::path::Path;

use crate::assert_none;
use crate::tree::{self, File};

/// The most lines that a file may have without its tests.
const CAP: usize = 500;

/// Files that may be longer, each with the reason why splitting it would read worse.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Returns the files that are too long.
fn complaints<'a>(
    files: impl IntoIterator<Item = &'a File>,
    exceptions: &[(&str, &str)],
) -> Vec<String> {
    files
        .into_iter()
        .filter(|file| is_source(&file.path) && !file.is_test())
        .filter(|file| !exceptions.iter().any(|(path, _)| *path == file.path))
        .filter_map(|file| {
            let lines = file.product_lines().count();
            (lines > CAP).then(|| {
                let path = &file.path;
                format!("{path}: {lines} lines without tests, more than {CAP}: split it by what it is about")
            })
        })
        .collect()
}

fn is_source(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|end| end == "rs" || end == "py" || end == "sh")
}

#[test]
fn files_are_short() {
    assert_none(&complaints(&tree::files(), EXCEPTIONS));
}

#[test]
fn a_long_file_is_named() {
    let line = "let x = 1;\n";
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}", line.repeat(CAP));
    let files = [
        File::new("src/full.rs", &(line.repeat(CAP) + &tests)),
        File::new("src/over.rs", &(line.repeat(CAP + 1) + &tests)),
        File::new("src/over/tests.rs", &line.repeat(CAP + 1)),
        File::new("tools/over.py", &line.repeat(CAP + 1)),
        File::new("docs/over.md", &line.repeat(CAP + 1)),
    ];
    assert_eq!(
        complaints(&files, &[("tools/over.py", "a table")]),
        ["src/over.rs: 501 lines without tests, more than 500: split it by what it is about"]
    );
}
