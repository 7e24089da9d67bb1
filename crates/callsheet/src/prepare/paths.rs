//! Paths that reach a prompt: relative to the root, normalised, with `/` between their parts.

use crate::scope::URL;
use crate::{Error, ErrorKind};

/// Returns the normalised path of something to read first.
///
/// Stricter than for facts: somebody wrote it by hand, perhaps in the notation of one runner.
pub(super) fn entry_point(field: &str, path: &str) -> Result<String, Error> {
    let bad = |why: &str| Err(refused(field, path, why));
    if path.starts_with('@') {
        return bad("`@` is the notation of a runner; give the plain path");
    }
    if path.starts_with('~') {
        return bad("it must be relative to the root");
    }
    if path.contains('\\') {
        return bad("parts are separated with `/`");
    }
    if path.contains(char::is_control) {
        return bad("it contains a control character");
    }
    let normal = relative(field, path)?;
    if normal.starts_with('@') {
        return bad("`@` is the notation of a runner; give the plain path");
    }
    Ok(normal)
}

/// Returns the normalised path of a fact, such as a file that changed.
pub(crate) fn relative(field: &str, path: &str) -> Result<String, Error> {
    let bad = |why: &str| Err(refused(field, path, why));
    if crate::text::strip(path).is_empty() {
        return bad("it is empty");
    }
    if path.contains("://") {
        return bad(URL);
    }
    if path.starts_with(['/', '\\']) || has_drive(path) {
        return bad("it must be relative to the root");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return bad("`..` could lead out of the root");
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let normal = parts.collect::<Vec<_>>().join("/");
    if normal.is_empty() {
        return bad("it is the root itself");
    }
    Ok(normal)
}

/// Tells whether a path begins like `C:/` or `C:\`.
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

fn refused(field: &str, path: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::BadInput,
        format!("`{field}`: bad path `{path}`: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_or_refused() {
        for (path, normal) in [
            ("docs/a.md", "docs/a.md"),
            ("./docs//a.md", "docs/a.md"),
            ("docs/./sub/", "docs/sub"),
            ("a..b/c", "a..b/c"),
            ("naïve name.md", "naïve name.md"),
        ] {
            assert_eq!(entry_point("f", path).unwrap(), normal);
            assert_eq!(relative("f", path).unwrap(), normal);
        }
        for path in [
            "",
            " ",
            "/etc",
            "../a",
            "a/../b",
            ".",
            "./",
            "C:/x",
            "c:\\x",
            "..\\a",
            "\\\\host",
            "https://x.y/z",
            "file:///etc",
            "X+y.z-1://a",
            " http://a",
            "docs/a://b",
            "://a",
        ] {
            assert!(entry_point("f", path).is_err(), "{path}");
            assert!(relative("f", path).is_err(), "{path}");
        }
        for path in ["@docs/a", "./@docs/a", "~/a", "docs\\a", "a\nb"] {
            assert!(entry_point("f", path).is_err(), "{path}");
            assert!(relative("f", path).is_ok(), "{path}");
        }
    }
}
