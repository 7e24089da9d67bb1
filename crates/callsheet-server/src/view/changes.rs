//! What a run changed, as git has it: files with their lines, from the commit it began at to what it left.

use std::path::Path;
use std::time::Duration;

use callsheet_run::{Bounds, Git};
use serde::Serialize;

use super::script::spell_line;

/// What git may spend on one answer.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(20),
    bytes: 8 << 20,
};

/// How many lines of a file are shown.
const MOST: usize = 1500;

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) added: usize,
    pub(crate) deleted: usize,
    /// Whether it is new, gone, or not a text.
    pub(crate) new: bool,
    pub(crate) gone: bool,
    pub(crate) binary: bool,
    pub(crate) lines: Vec<DiffLine>,
    /// How many lines are not shown.
    pub(crate) more: usize,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DiffLine {
    /// `add`, `del`, `gap` or nothing.
    pub(crate) kind: &'static str,
    pub(crate) number: usize,
    pub(crate) html: String,
}

/// Returns what differs between two commits or trees; nothing where git does not have them any more.
pub(crate) fn between(root: &Path, from: &str, to: &str) -> Option<Vec<Change>> {
    let is_hash = |name: &str| {
        (7..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if !is_hash(from) || !is_hash(to) {
        return None;
    }
    let git = Git::open(root).ok()?;
    let said = git.diff(&["--no-renames", from, to, "--"], BOUNDS).ok()?;
    Some(parse(&String::from_utf8_lossy(&said)))
}

/// Reads what `git diff` prints.
fn parse(said: &str) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let (mut old, mut new) = (0, 0);
    let mut in_hunk = false;
    for line in said.lines() {
        if let Some(rest) = line.strip_prefix("diff --git ") {
            in_hunk = false;
            changes.push(Change {
                path: path_of(rest),
                ..Change::default()
            });
            continue;
        }
        let Some(change) = changes.last_mut() else {
            continue;
        };
        if let Some(hunk) = line.strip_prefix("@@ -") {
            in_hunk = true;
            (old, new) = starts(hunk);
            if !change.lines.is_empty() {
                put(change, "gap", 0, "");
            }
        } else if in_hunk {
            match line.as_bytes().first() {
                Some(b'+') => {
                    change.added += 1;
                    put(change, "add", new, &line[1..]);
                    new += 1;
                }
                Some(b'-') => {
                    change.deleted += 1;
                    put(change, "del", old, &line[1..]);
                    old += 1;
                }
                Some(b' ') => {
                    put(change, "", new, &line[1..]);
                    old += 1;
                    new += 1;
                }
                _ => {}
            }
        } else {
            change.new |= line.starts_with("new file");
            change.gone |= line.starts_with("deleted file");
            change.binary |= line.starts_with("Binary files");
        }
    }
    changes
}

fn put(change: &mut Change, kind: &'static str, number: usize, text: &str) {
    if change.lines.len() >= MOST {
        change.more += 1;
        return;
    }
    let mut html = String::new();
    spell_line(&mut html, text);
    change.lines.push(DiffLine { kind, number, html });
}

/// Returns the numbers of the first lines of a hunk.
fn starts(hunk: &str) -> (usize, usize) {
    let number = |word: &str| {
        word.split(',')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    };
    let mut words = hunk.split(' ');
    let old = words.next().map_or(0, number);
    let new = words
        .next()
        .and_then(|word| word.strip_prefix('+'))
        .map_or(0, number);
    (old, new)
}

/// Returns the path of `a/PATH b/PATH`, which may be quoted.
fn path_of(names: &str) -> String {
    let half = names.len() / 2;
    let name = names.get(half + 1..).unwrap_or(names);
    let name = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
        .unwrap_or(name);
    name.strip_prefix("b/").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_numbers_and_marks() {
        let said = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\n+++ b/src/a b.rs\n\
            @@ -1,3 +1,3 @@\n one\n-two\n+2 < 3\n three\n@@ -9 +9,2 @@ fn\n nine\n+ten\n\
            diff --git a/new b/new\nnew file mode 100644\nBinary files /dev/null and b/new differ\n";
        let changes = parse(said);
        let lines = changes[0].lines.iter();
        let shown: Vec<_> = lines
            .map(|line| (line.kind, line.number, line.html.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("", 1, "one"),
                ("del", 2, "two"),
                ("add", 2, "2 &lt; 3"),
                ("", 3, "three"),
                ("gap", 0, ""),
                ("", 9, "nine"),
                ("add", 10, "ten"),
            ]
        );
        assert_eq!(
            (
                changes[0].path.as_str(),
                changes[0].added,
                changes[0].deleted
            ),
            ("src/a b.rs", 2, 1)
        );
        assert!(changes[1].new && changes[1].binary && changes[1].path == "new");
    }
}
