//! Paths as text: what a user named, made relative to a root without asking the disk.

use std::path::{Component, Path, PathBuf};

/// Where a named path lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// Below the root: the normalised relative path with `/` between the parts.
    Inside(String),
    /// Elsewhere: the normalised absolute path.
    Outside(PathBuf),
}

/// Returns where `named` lies; a relative path is relative to the first of `roots`.
///
/// All spellings of `roots` count as the root, so that an absolute path through a link to it is found inside.
pub(super) fn locate(named: &str, roots: &[&Path]) -> Located {
    let Some(first) = roots.first() else {
        return Located::Outside(PathBuf::from(named));
    };
    let absolute = normalise(&first.join(named));
    let inside = roots
        .iter()
        .find_map(|root| absolute.strip_prefix(normalise(root)).ok())
        .and_then(Path::to_str);
    match inside {
        Some("") => Located::Inside(".".to_owned()),
        Some(relative) => Located::Inside(relative.to_owned()),
        None => Located::Outside(absolute),
    }
}

/// Removes `.` and resolves `..` by the text alone.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_file_are_one() {
        let root = Path::new("/r/project");
        for named in [
            "docs/x.md",
            "./docs/x.md",
            "docs/../docs/x.md",
            "docs//x.md",
            "/r/project/docs/x.md",
            "../project/docs/x.md",
        ] {
            assert_eq!(
                locate(named, &[root]),
                Located::Inside("docs/x.md".to_owned()),
                "{named}"
            );
        }
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_outside() {
        let root = Path::new("/r/project");
        let outside = |path: &str| Located::Outside(PathBuf::from(path));
        assert_eq!(locate("/r/project2/x", &[root]), outside("/r/project2/x"));
        assert_eq!(locate("../x", &[root]), outside("/r/x"));
        assert_eq!(locate("../../../../x", &[root]), outside("/x"));
        let (given, real) = (Path::new("/link"), Path::new("/real"));
        assert_eq!(
            locate("/real/a", &[given, real]),
            Located::Inside("a".to_owned())
        );
    }
}
