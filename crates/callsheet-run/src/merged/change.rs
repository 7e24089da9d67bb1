//! What a commit changes against another one: the names, and the patch without its line numbers.
//!
//! Two patches are equal if they say the same about the same files, wherever in the file that is; it is what
//! `git patch-id` compares, but for white space, which counts here. Files that are not text are compared whole.

use std::collections::BTreeMap;

use callsheet::Fingerprint;

/// A commit, beside what it is compared with; nothing is the empty tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    pub(super) commit: String,
    pub(super) against: Option<String>,
}

impl Change {
    pub(super) fn new(commit: &str, against: Option<&str>) -> Self {
        Self {
            commit: commit.to_owned(),
            against: against.map(str::to_owned),
        }
    }
}

/// Returns changes as `git diff-tree --stdin` reads them.
///
/// What a commit is compared with is always named: git keeps it in mind when the same commit comes again.
pub(super) fn input(changes: &[Change]) -> Vec<u8> {
    let line = |change: &Change| match &change.against {
        Some(against) => format!("{} {against}\n", change.commit),
        None => format!("{}\n", change.commit),
    };
    changes.iter().map(line).collect::<String>().into_bytes()
}

/// The changed files of a change, in the order of git; equal names have equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Names(Vec<u8>);

impl Names {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let names = self.0.split(|&byte| byte == 0);
        names.filter(|name| !name.is_empty())
    }
}

/// Reads what `git diff-tree --stdin --always --raw -z` prints: an entry for each change, in order.
pub(super) fn names(printed: &[u8]) -> Vec<Names> {
    let mut found: Vec<Names> = Vec::new();
    let mut fields = printed.split(|&byte| byte == 0);
    while let Some(field) = fields.next() {
        if !field.starts_with(b":") {
            // The field behind the last NUL is empty.
            found.extend((!field.is_empty()).then(Names::default));
        } else if let (Some(name), Some(last)) = (fields.next(), found.last_mut()) {
            last.0.extend_from_slice(name);
            last.0.push(0);
        }
    }
    found
}

/// Reads what `git diff-tree --stdin --always -p --full-index` prints: an entry for each change, in order.
pub(super) fn patches(printed: &[u8]) -> Vec<Fingerprint> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    // The line with the hashes of a file, which counts only where no text follows it.
    let mut hashes: &[u8] = b"";
    for line in printed.split_inclusive(|&byte| byte == b'\n') {
        // Lines of files have a character in front of them, so these beginnings are git's own.
        if line.strip_suffix(b"\n").is_some_and(is_hash) {
            found.push(Vec::new());
            continue;
        }
        let Some(patch) = found.last_mut() else {
            continue;
        };
        if line.starts_with(b"index ") {
            hashes = line;
        } else if line.starts_with(b"@@ ") {
            patch.extend_from_slice(b"@@\n");
        } else {
            if line.starts_with(b"Binary files ") {
                patch.extend_from_slice(hashes);
            }
            patch.extend_from_slice(line);
        }
    }
    found.iter().map(Fingerprint::of).collect()
}

/// Tells whether this is a whole hash, as git writes it.
pub(super) fn is_hash(text: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.iter().all(is_digit)
}

/// Tells whether every patch of a branch is on the base too, as often as the branch has it.
pub(super) fn is_replayed(own: &[Fingerprint], base: &[Fingerprint]) -> bool {
    let mut left: BTreeMap<Fingerprint, usize> = BTreeMap::new();
    for patch in base {
        *left.entry(*patch).or_default() += 1;
    }
    let mut taken = own.iter().map(|patch| match left.get_mut(patch) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    });
    !own.is_empty() && taken.all(|found| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789012345678901234567890123456789\n";

    #[test]
    fn a_file_named_like_a_commit_is_a_file() {
        let hash = A.trim();
        let printed =
            format!("{hash}\0:1 2 3 4 M\0{hash}\0:1 2 3 4 A\0:b\0{hash}\0{hash}\0:1 2 3 4 M\0c\0");
        let found = names(printed.as_bytes());
        let shown: Vec<Vec<&[u8]>> = found.iter().map(|names| names.iter().collect()).collect();
        assert_eq!(
            shown,
            [vec![hash.as_bytes(), b":b"], vec![], vec![b"c".as_slice()]]
        );
    }

    #[test]
    fn line_numbers_do_not_count_and_everything_else_does() {
        let patch = |text: &str| patches(format!("{A}{text}").as_bytes())[0];
        let one = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        let same = one
            .replace("1..2", "3..4")
            .replace("@@ -1 +1 @@", "@@ -9,1 +8,1 @@ fn x");
        assert_eq!(patch(one), patch(&same));
        for (from, to) in [
            ("+b\n", "+c\n"),
            ("+b\n", "+b \n"),
            ("a/x", "a/y"),
            ("+b\n", "+b\n+b\n"),
        ] {
            assert_ne!(patch(one), patch(&one.replace(from, to)), "{to:?}");
        }
        let binary = "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n";
        assert_ne!(patch(binary), patch(&binary.replace("1..2", "1..3")));
        let text = "@@ -1 +1 @@\n+index 1..2\n+@@ -1 +1 @@\n";
        assert_ne!(
            patch(text),
            patch(&text.replace("+index 1..2", "+index 3..4"))
        );
        assert_ne!(patch(text), patch(&text.replace("+@@ -1", "+@@ -2")));
        assert_eq!(patches(format!("{A}{A}{one}").as_bytes()).len(), 2);
    }

    #[test]
    fn a_patch_that_a_branch_has_twice_is_needed_twice() {
        let [a, b] = ["a", "b"].map(Fingerprint::of);
        assert!(is_replayed(&[a, b], &[b, a]));
        assert!(is_replayed(&[a, a], &[a, b, a]));
        assert!(!is_replayed(&[a, a], &[a, b]));
        assert!(!is_replayed(&[], &[a]), "nothing is not on the base");
    }
}
