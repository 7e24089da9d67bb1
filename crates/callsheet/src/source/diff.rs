//! The files of a diff: where each begins, and which path it is about.
//!
//! Only what stands at the start of a line outside of hunks is read, which no file can forge: lines of files begin with a
//! space, a sign or a backslash.

use std::ops::Range;

/// What a part of a diff begins with.
const STARTS: [&[u8]; 4] = [
    b"diff --git ",
    b"diff --cc ",
    b"diff --combined ",
    b"* Unmerged path ",
];

/// What is said of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// The path, the new one if there are two; only like it where its name is not UTF-8.
    pub(super) path: String,
    /// Its bytes in the diff.
    pub(super) range: Range<usize>,
    /// The line in which it begins, counted from 1.
    pub(super) line: usize,
}

/// Returns the parts of a diff, in order.
pub(super) fn file_diffs(diff: &[u8]) -> Vec<FileDiff> {
    let mut parts: Vec<FileDiff> = Vec::new();
    let mut begun: Option<(usize, usize)> = None;
    let mut end_part = |begun: Option<(usize, usize)>, end: usize| {
        if let Some((start, line)) = begun {
            parts.push(FileDiff {
                path: path(&diff[start..end]),
                range: start..end,
                line,
            });
        }
    };
    let (mut at, mut line) = (0, 1);
    while at < diff.len() {
        if STARTS.iter().any(|start| diff[at..].starts_with(start)) {
            end_part(begun, at);
            begun = Some((at, line));
        }
        at = memchr::memchr(b'\n', &diff[at..]).map_or(diff.len(), |end| at + end + 1);
        line += 1;
    }
    end_part(begun, diff.len());
    parts
}

/// Returns the path that a part is about.
fn path(part: &[u8]) -> String {
    let mut old = None;
    let mut lines = part.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    for line in lines.take_while(|line| !line.starts_with(b"@@")) {
        for (start, prefix) in [
            (&b"rename to "[..], &b""[..]),
            (b"copy to ", b""),
            (b"+++ ", b"b/"),
            (b"--- ", b"a/"),
        ] {
            let Some(name) = line.strip_prefix(start) else {
                continue;
            };
            match unquoted(name).strip_prefix(prefix) {
                Some(name) if start == b"--- " => old = Some(shown(name)),
                Some(name) => return shown(name),
                None => {}
            }
        }
    }
    old.unwrap_or_else(|| shown(&of_first_line(first)))
}

/// Returns the path that the first line of a part names, where its two paths are the same.
fn of_first_line(line: &[u8]) -> Vec<u8> {
    if let Some(names) = line.strip_prefix(b"diff --git ") {
        if names.starts_with(b"\"") {
            let name = unquoted(names);
            return name.strip_prefix(b"a/").unwrap_or(&name).to_vec();
        }
        let half = &names[..names.len().saturating_sub(1) / 2];
        return half.strip_prefix(b"a/").unwrap_or(half).to_vec();
    }
    let start = STARTS.iter().find_map(|start| line.strip_prefix(*start));
    unquoted(start.unwrap_or(line))
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Returns a name without the quotes and backslashes that git puts around odd ones, nor the tab behind names with spaces.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"") else {
        return name.strip_suffix(b"\t").unwrap_or(name).to_vec();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => out.extend(escaped(&mut bytes)),
            byte => out.push(byte),
        }
    }
    out
}

fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    Some(match bytes.next()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        digit @ b'0'..=b'3' => {
            let octal = [digit, bytes.next()?, bytes.next()?];
            let value = |byte: u8| u32::from(byte.wrapping_sub(b'0') & 7);
            let byte = octal.into_iter().fold(0, |sum, byte| sum * 8 + value(byte));
            u8::try_from(byte).ok()?
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(diff: &str) -> Vec<(String, usize)> {
        let parts = file_diffs(diff.as_bytes()).into_iter();
        parts.map(|part| (part.path, part.line)).collect()
    }

    #[test]
    fn every_file_is_found_and_no_line_of_a_file_is_one() {
        let diff = "\
diff --git a/a b.rs b/a b.rs
index 1..2 100644
--- a/a b.rs\t
+++ b/a b.rs\t
@@ -1 +1,2 @@
-diff --git a/x b/x
+diff --git a/y b/y
 diff --git a/z b/z
+++ b/w
diff --git a/gone.md b/gone.md
deleted file mode 100644
--- a/gone.md
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old.rs b/new.rs
similarity index 100%
rename from old.rs
rename to new.rs
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git \"a/a\\nb\" \"b/a\\nb\"
new file mode 100644
--- /dev/null
+++ \"b/a\\nb\\303\\251\"
@@ -0,0 +1 @@
+x
* Unmerged path c.md
diff --git a/bin.png b/bin.png
index 1..2 100644
Binary files a/bin.png and b/bin.png differ
";
        let expected = [
            ("a b.rs", 1),
            ("gone.md", 10),
            ("new.rs", 16),
            ("run", 20),
            ("a\nbé", 23),
            ("c.md", 29),
            ("bin.png", 30),
        ];
        assert_eq!(
            paths(diff),
            expected.map(|(path, line)| (path.to_owned(), line))
        );
    }

    proptest! {
        #[test]
        fn any_bytes_have_parts_that_follow_each_other(
            lines in prop::collection::vec(prop_oneof![
                Just(b"diff --git a/x b/x".to_vec()),
                Just(b"+++ \"b/\\".to_vec()),
                Just(b"diff --git \"".to_vec()),
                prop::collection::vec(any::<u8>(), 0..12),
            ], 0..12),
        ) {
            let diff = lines.join(&b'\n');
            let parts = file_diffs(&diff);
            for pair in parts.windows(2) {
                prop_assert_eq!(pair[0].range.end, pair[1].range.start);
                prop_assert!(pair[0].line < pair[1].line);
            }
            if let Some(last) = parts.last() {
                prop_assert_eq!(last.range.end, diff.len());
            }
        }
    }
}
