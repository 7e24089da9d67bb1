//! The text files of the repository, and which of their lines are tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file: its path from the root of the repository, with `/`, and what is in it.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Makes a file that exists in no folder, for trying a rule.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Tells whether the whole file is a test or serves one.
    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| matches!(part, "tests" | "tests.rs"))
    }

    /// Returns the lines of the product: those before an inline test module, without the declaration of one.
    ///
    /// Clippy refuses items after a test module, so nothing of the product can hide behind it.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let end = (0..lines.len())
            .find(|&at| opens_test_module(&lines[at..]))
            .unwrap_or(lines.len());
        (1..).zip(lines.into_iter().take(end))
    }
}

fn opens_test_module(lines: &[&str]) -> bool {
    lines.first() == Some(&"#[cfg(test)]")
        && lines[1..]
            .iter()
            .find(|line| !line.starts_with("#["))
            .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all text files that belong to the repository, in the order of their paths.
///
/// Git knows which those are; in a copy that git does not know it is what the ignore files leave.
pub(crate) fn files() -> Vec<File> {
    let root = root();
    let mut paths = tracked(&root)
        .filter(|paths| paths.iter().any(|path| path == "Cargo.toml"))
        .unwrap_or_else(|| walked(&root));
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(root.join(&path)).ok()?;
            (!text.contains('\0')).then_some(File { path, text })
        })
        .collect()
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .ok()?;
    let list = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| list.split_terminator('\0').map(ToOwned::to_owned).collect())
}

fn walked(root: &Path) -> Vec<String> {
    ignore::WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?;
            Some(path.to_str()?.replace('\\', "/"))
        })
        .collect()
}

/// Returns where `needle` stands in `line` as a word of its own.
///
/// Where the needle begins or ends with a sign, that end needs no border.
pub(crate) fn word_at(line: &str, needle: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(needle).map(|(at, _)| at).find(|&at| {
        let joins_before = needle.starts_with(is_word) && line[..at].ends_with(is_word);
        let joins_after =
            needle.ends_with(is_word) && line[at + needle.len()..].starts_with(is_word);
        !joins_before && !joins_after
    })
}

#[test]
fn product_lines_end_at_an_inline_test_module_only() {
    let count = |text: &str| File::new("a.rs", text).product_lines().count();
    assert_eq!(count("fn a() {}\n#[cfg(test)]\nmod tests {\n}\n"), 1);
    assert_eq!(count("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
    assert_eq!(count("#[cfg(test)]\nuse x::y;\nfn a() {}\n"), 3);
    assert_eq!(count("a\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n"), 1);
}

#[test]
fn a_word_has_borders() {
    assert_eq!(word_at("use std::fs::File;", "std::fs"), Some(4));
    assert_eq!(word_at("use std::fsx;", "std::fs"), None);
    assert_eq!(word_at("rustix::fs::open()", "rustix::"), Some(0));
    assert_eq!(word_at("InstantCoffee, Instant", "Instant"), Some(15));
}

#[test]
fn without_git_the_list_leaves_out_what_is_ignored() {
    let files = walked(&root());
    assert!(files.iter().any(|path| path == "Cargo.toml"));
    assert!(!files.iter().any(|path| path.starts_with("target/")));
}
