//! Where a symbolic link leads, decided from its text alone.
//!
//! No link is followed. A link that goes through another one is judged as if that were a directory: each link that a run
//! makes is judged by itself.

use super::dialect::ScopeGlobs;

/// Tells whether a symbolic link leads to something that a run may not write.
///
/// `path` is that of the link, relative to the root of the worktree, and `target` is what it says. It leads out of the
/// scope where it leads out of the worktree or to git's own files, and where no write pattern or some exclude pattern
/// matches the path that it names. A `..` behind a name counts as leading out: what it means depends on whether the name is
/// a link.
///
/// ```
/// use callsheet::scope::{ScopeGlobs, link_leaves};
///
/// let write = ScopeGlobs::new("write", ["src/**"])?;
/// let exclude = ScopeGlobs::new("exclude", ["**/*.env"])?;
/// let leaves = |target| link_leaves("src/auth/link", target, &write, &exclude);
/// assert!(!leaves("../form.rs"));
/// assert!(leaves("../../README.md"));
/// assert!(leaves("/etc/passwd"));
/// assert!(leaves("prod.env"));
/// # Ok::<(), callsheet::Error>(())
/// ```
pub fn link_leaves(path: &str, target: &str, write: &ScopeGlobs, exclude: &ScopeGlobs) -> bool {
    let Some(named) = resolved(path, target) else {
        return true;
    };
    let in_git = named
        .split('/')
        .any(|part| part.eq_ignore_ascii_case(".git"));
    in_git || exclude.matches(&named) || !write.matches(&named)
}

/// Returns the path that a link names, relative to the root; nothing if it lies outside or cannot be told.
fn resolved(path: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    // The name of the link itself: targets are relative to its directory.
    parts.pop();
    let mut named = false;
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if named => return None,
            ".." => {
                parts.pop()?;
            }
            name => {
                named = true;
                parts.push(name);
            }
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn globs(patterns: &[&str]) -> ScopeGlobs {
        ScopeGlobs::new("globs", patterns).unwrap()
    }

    #[test]
    fn a_link_may_lead_to_what_may_be_written() {
        let (write, exclude) = (globs(&["src/**", "*.md"]), globs(&["src/secret/**"]));
        for (path, target, leaves) in [
            ("src/a", "b", false),
            ("src/a", "./b/c", false),
            ("src/a", "b/", false),
            ("src/x/a", "../y/b", false),
            ("src/x/a", "..//y", false),
            ("src/a", "../README.md", false),
            ("README.md", "src/a", false),
            ("src/a", "a", false),
            // Out of the worktree.
            ("src/a", "/etc/passwd", true),
            ("src/a", "/", true),
            ("src/a", "../../x", true),
            ("src/a", "../../src/b", true),
            ("a.md", "..", true),
            // Within it, and outside of the write patterns.
            ("src/a", "../docs/a", true),
            ("src/a", "..", true),
            ("src/a", ".", true),
            ("a.md", ".", true),
            ("a.md", "docs/b.md", true),
            ("src/a", "", true),
            // Excluded.
            ("src/a", "secret/key", true),
            ("src/x/a", "../secret/key", true),
            // What stands behind a name depends on what the name is.
            ("src/a", "b/../c", true),
            ("src/a", "b/..", true),
            // Names are names.
            ("src/a", "..b", false),
            ("src/a", "\\..\\..", false),
            ("src/a", "~/x", false),
            // A path that is not normal is not judged to be fine.
            ("/src/a", "b", true),
            ("./src/a", "b", true),
            ("src/../a", "b", true),
            ("", "src/b", false),
        ] {
            assert_eq!(
                link_leaves(path, target, &write, &exclude),
                leaves,
                "{path} -> {target}"
            );
        }
    }

    #[test]
    fn no_pattern_makes_the_files_of_git_a_target() {
        let (write, exclude) = (globs(&["**"]), globs(&[]));
        for target in [".git", "../.git", "../.git/config", "sub/.GIT/hooks/x"] {
            assert!(link_leaves("src/a", target, &write, &exclude), "{target}");
        }
        assert!(!link_leaves("src/a", "../.github/x", &write, &exclude));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_link_that_stays_names_what_the_disk_would(
            path in prop::collection::vec("[ab]", 1..4),
            target in prop::collection::vec(prop::sample::select(vec!["a", "b", ".", "..", ""]), 1..6),
        ) {
            let (path, target) = (path.join("/"), target.join("/"));
            let all = globs(&["**"]);
            if !link_leaves(&path, &target, &all, &globs(&[])) {
                prop_assert!(!target.starts_with('/'));
                // Step by step, as a file system without links would walk.
                let mut walk: Vec<&str> = path.split('/').collect();
                walk.pop();
                for part in target.split('/').filter(|part| !matches!(*part, "" | ".")) {
                    if part == ".." {
                        prop_assert!(walk.pop().is_some(), "{} -> {}", path, target);
                    } else {
                        walk.push(part);
                    }
                }
                prop_assert_eq!(Some(walk.join("/")), resolved(&path, &target));
            }
        }
    }
}
