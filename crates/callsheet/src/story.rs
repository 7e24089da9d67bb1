//! Story keys and the file names that belong to them.

use memchr::memmem::Finder;

/// A rule that tells which names belong to any of some story keys. Case does not count.
///
/// ```
/// use callsheet::story::Match;
///
/// let rule = Match::new(&["2a-1"], false);
/// assert!(rule.hits("sprint-2A-1.md"));
/// assert!(!rule.hits("sprint-2a-10.md"), "a digit touches the key");
/// assert!(Match::new(&["2a-1"], true).hits("sprint-2a-10.md"));
/// ```
#[derive(Clone, Debug)]
pub struct Match {
    keys: Vec<Finder<'static>>,
    substring: bool,
}

impl Match {
    /// Makes the rule; `substring` takes a key anywhere, otherwise no letter or digit may touch it.
    pub fn new<S: AsRef<str>>(keys: &[S], substring: bool) -> Self {
        let keys = keys
            .iter()
            .map(|key| Finder::new(&key.as_ref().to_lowercase()).into_owned());
        Self {
            keys: keys.collect(),
            substring,
        }
    }

    /// Tells whether a name belongs to one of the keys.
    pub fn hits(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        self.keys
            .iter()
            .any(|key| match key.find(lower.as_bytes()) {
                None => false,
                Some(_) if self.substring => true,
                Some(first) => stands_alone(&lower, key, first),
            })
    }
}

/// Looks at every occurrence from `first` on, also at those that overlap (`a-a` in `xa-a-a`).
fn stands_alone(name: &str, key: &Finder<'_>, first: usize) -> bool {
    let touches = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut start = first;
    loop {
        let end = start + key.needle().len();
        if !touches(name[..start].chars().next_back()) && !touches(name[end..].chars().next()) {
            return true;
        }
        let after = start + name[start..].chars().next().map_or(1, char::len_utf8);
        match name.as_bytes().get(after..).and_then(|rest| key.find(rest)) {
            Some(found) => start = after + found,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_match_at_their_boundaries() {
        let rule = Match::new(&["2a-1"], false);
        for name in [
            "sprint-2a-1.md",
            "2A-1",
            "x_2a-1_y",
            "2a-10-and-2a-1.md",
            "tech-spec-2a-1-slug.md",
        ] {
            assert!(rule.hits(name), "{name}");
        }
        for name in [
            "sprint-2a-10.md",
            "12a-1.md",
            "2a-1b.md",
            "é2a-1",
            "2a-",
            "",
        ] {
            assert!(!rule.hits(name), "{name}");
        }
        assert!(Match::new(&["a-a"], false).hits("xa-a-a"));
        assert!(Match::new(&["2a-1"], true).hits("12a-10.md"));
        assert!(!Match::new::<&str>(&[], true).hits("a"));
    }
}
