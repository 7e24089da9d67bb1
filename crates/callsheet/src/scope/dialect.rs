//! The patterns of a scope: what they mean, and which are refused.
//!
//! They are stricter than the globs that find files: `src` means the path `src` and nothing below it, and a pattern that
//! other tools would read differently is refused instead of guessed at.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::inputs::compile_glob;
use crate::{Error, ErrorKind};

/// Why a URL is refused where a path belongs: without its empty part it would name something else.
pub(crate) const URL: &str = "it is a URL, not a path below the root";

/// A compiled list of scope patterns.
///
/// `*` and `?` stay within one path part, `**` crosses parts, `[…]` and `{a,b}` work as usual, case counts, and names
/// that begin with a dot are names like any other.
#[derive(Clone, Debug)]
pub struct ScopeGlobs(GlobSet);

impl ScopeGlobs {
    /// Compiles patterns; `field` is the list that errors name, with the index of the pattern.
    pub fn new<S: AsRef<str>>(
        field: &str,
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let mut builder = GlobSetBuilder::new();
        for (index, pattern) in patterns.into_iter().enumerate() {
            builder.add(compile(field, index, pattern.as_ref())?);
        }
        let set = builder.build().map_err(|error| {
            let detail = format!("`{field}`: {}", error.kind());
            Error::new(ErrorKind::BadInput, detail)
        })?;
        Ok(Self(set))
    }

    /// Tells whether there is no pattern, so that nothing matches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether a path matches; one that is not relative and normalised matches nothing.
    pub fn matches(&self, path: &str) -> bool {
        let normal = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        normal && self.0.is_match(path)
    }
}

/// Compiles the pattern at an index of a list, or says which one is wrong and why.
pub(crate) fn compile(field: &str, index: usize, pattern: &str) -> Result<Glob, Error> {
    let compiled = match refused(pattern) {
        Some(why) => Err(why.to_owned()),
        None => compile_glob(pattern),
    };
    compiled.map_err(|why| {
        let detail = format!("`{field}[{index}]`: bad scope pattern `{pattern}`: {why}");
        Error::new(ErrorKind::BadInput, detail)
    })
}

/// Returns why a pattern means different things to different tools, or nothing at all.
fn refused(pattern: &str) -> Option<&'static str> {
    let mut parts = pattern.split('/');
    if pattern.is_empty() {
        Some("it is empty")
    } else if pattern.trim().is_empty() {
        Some("it is blank")
    } else if pattern.contains("://") {
        Some(URL)
    } else if pattern.starts_with('!') {
        Some("a leading `!` negates in some tools and not in others; use an exclude list")
    } else if pattern.starts_with('/') {
        Some("patterns are relative to the root; leave the leading `/` out")
    } else if pattern.starts_with("./") {
        Some("paths have no leading `./`; leave it out")
    } else if parts.any(|part| part == "..") {
        Some("`..` would lead out of the root")
    } else {
        None
    }
}
