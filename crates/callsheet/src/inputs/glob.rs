//! Globs: one dialect for every list of patterns.
//!
//! `*` and `?` stay within one path part, `**` crosses parts, `[…]` and `{a,b}` work as usual, case counts. A pattern
//! is relative to the root; one that is the name of a folder, or ends in `/`, means everything below it.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{Error, ErrorKind};

/// Signs that stand for others.
const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A compiled list of patterns, with those that take away.
#[derive(Clone, Debug)]
pub struct Globs {
    patterns: Vec<String>,
    include: GlobSet,
}

impl Globs {
    /// Compiles patterns; an empty list matches nothing.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let patterns: Vec<String> = patterns
            .into_iter()
            .map(|pattern| pattern.as_ref().to_owned())
            .collect();
        let mut builder = GlobSetBuilder::new();
        for pattern in &patterns {
            for form in forms(pattern)? {
                builder.add(compile_glob(&form).map_err(|why| bad(pattern, &why))?);
            }
        }
        let include = builder
            .build()
            .map_err(|error| bad(&patterns.join(" "), &error.kind().to_string()))?;
        Ok(Self { patterns, include })
    }

    /// Returns the patterns.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Tells whether a relative path matches.
    pub fn matches(&self, path: &str) -> bool {
        self.include.is_match(path)
    }

    /// Tells whether a path below a folder can match: the parts without wildcards lead there, or past it.
    pub fn reaches(&self, folder: &str) -> bool {
        self.patterns.iter().any(|pattern| {
            let inner = pattern.strip_prefix("./").unwrap_or(pattern);
            let plain = inner
                .split('/')
                .take_while(|part| !part.is_empty() && *part != "." && !part.contains(WILD));
            plain
                .zip(folder.split('/'))
                .all(|(part, name)| part == name)
        })
    }

    /// Returns the patterns of which no path in `paths` matches any.
    pub(crate) fn without_match<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let mut hit = vec![false; self.patterns.len()];
        for path in paths {
            for form in self.include.matches(path) {
                // Every pattern was compiled in two forms, in order.
                hit[form / 2] = true;
            }
        }
        self.patterns
            .iter()
            .zip(hit)
            .filter_map(|(pattern, hit)| (!hit).then_some(pattern.as_str()))
            .collect()
    }
}

/// Compiles one pattern, or says why it is none: the one place that knows how signs are read.
pub(crate) fn compile_glob(pattern: &str) -> Result<Glob, String> {
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    built.map_err(|error| error.kind().to_string())
}

/// The pattern itself, and everything below what it names; a pattern with wildcards names files unless it ends in `/`.
fn forms(pattern: &str) -> Result<[String; 2], Error> {
    let inner = pattern.strip_prefix("./").unwrap_or(pattern);
    let inner = inner.trim_end_matches('/');
    if inner.is_empty() || inner == "." {
        return Ok(["**".to_owned(), "**".to_owned()]);
    }
    if pattern.starts_with('/') {
        return Err(bad(pattern, "it must be relative to the root"));
    }
    if pattern.starts_with('!') {
        return Err(bad(
            pattern,
            "a pattern cannot be negated here; use an exclude list",
        ));
    }
    if inner.split('/').any(|part| part == "..") {
        return Err(bad(pattern, "`..` would lead out of the root"));
    }
    let below = if inner.contains(['*', '?', '[', '{']) && !pattern.ends_with('/') {
        inner.to_owned()
    } else {
        format!("{inner}/**")
    };
    Ok([inner.to_owned(), below])
}

fn bad(pattern: &str, why: &str) -> Error {
    Error::new(ErrorKind::BadInput, format!("bad glob `{pattern}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_part_and_folders_mean_all_below() {
        let globs = Globs::new(["src/*.rs", "docs", "*.md", "./a/b/"]).unwrap();
        let direct = Globs::new(["src/*"]).unwrap();
        assert!(direct.matches("src/a.rs") && !direct.matches("src/sub/a.rs"));
        assert!(Globs::new(["src/*/"]).unwrap().matches("src/sub/a.rs"));
        for path in ["src/a.rs", "docs/x/y.txt", "README.md", "a/b/c"] {
            assert!(globs.matches(path), "{path}");
        }
        for path in ["src/x/a.rs", "docs2/x", "sub/README.md", "a/c", "src/a.RS"] {
            assert!(!globs.matches(path), "{path}");
        }
        assert_eq!(
            globs.without_match(["docs/a"].into_iter()),
            ["src/*.rs", "*.md", "./a/b/"]
        );
        assert!(Globs::new(["."]).unwrap().matches("any/thing"));
    }

    #[test]
    fn a_walk_goes_only_where_a_pattern_leads() {
        for (pattern, inside, outside) in [
            ("src/a.rs", &["src"][..], &["doc", "src2", "a/src"][..]),
            ("./a/b/", &["a", "a/b", "a/b/c"], &["b", "a/c"]),
            ("src/*/x/y", &["src", "src/any", "src/any/x"], &["doc"]),
            ("**/*.md", &["a", "a/b"], &[]),
            ("{a,b}/c", &["a", "d"], &[]),
            (".", &["a"], &[]),
        ] {
            let globs = Globs::new([pattern]).unwrap();
            assert!(inside.iter().all(|f| globs.reaches(f)), "{pattern}");
            assert!(!outside.iter().any(|f| globs.reaches(f)), "{pattern}");
        }
    }

    #[test]
    fn bad_patterns_are_named() {
        for (pattern, text) in [
            (
                "/etc/*",
                "bad glob `/etc/*`: it must be relative to the root",
            ),
            (
                "a/../../b",
                "bad glob `a/../../b`: `..` would lead out of the root",
            ),
            (
                "!a",
                "bad glob `!a`: a pattern cannot be negated here; use an exclude list",
            ),
            ("a[", "bad glob `a[`: unclosed character class; missing ']'"),
        ] {
            assert_eq!(Globs::new([pattern]).unwrap_err().to_string(), text);
        }
    }
}
