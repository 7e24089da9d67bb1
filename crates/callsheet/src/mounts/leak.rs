//! What a text tells of a machine that it should not.

use std::fmt;

use super::{Mounts, decode, forms, real};

/// A real path that a text holds. It never has the path itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// The words for the folder, where it is a known one.
    pub folder: Option<&'static str>,
    /// The line of the text, counted from 1, where it stands there as it is.
    pub line: Option<usize>,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.folder {
            Some(folder) => write!(f, "the real path of {folder}"),
            None => f.write_str("a real path that is below no mount"),
        }
    }
}

impl Mounts {
    /// Returns the first real path that a text holds, in whatever form it is written.
    ///
    /// Folders that are known here are found anywhere; other paths where they stand for themselves and lead to places
    /// that differ between machines.
    pub fn leak(&self, text: &str) -> Option<Leak> {
        self.known(text).or_else(|| {
            let other = |text: &str| {
                let found = real::find(&self.folders, text)?;
                Some(leak(None, text, found.start))
            };
            in_every_form(text, other)
        })
    }

    /// Returns the first folder that is known here and that a text names.
    pub(super) fn known(&self, text: &str) -> Option<Leak> {
        in_every_form(text, |text| {
            let (found, folder) = forms::find(&self.folders, text)?;
            Some(leak(Some(folder.what), text, found.start))
        })
    }
}

fn leak(folder: Option<&'static str>, text: &str, at: usize) -> Leak {
    let before = &text.as_bytes()[..at];
    Leak {
        folder,
        line: Some(memchr::memchr_iter(b'\n', before).count() + 1),
    }
}

/// Looks at a text as it is and without its escapes.
///
/// A text may escape more of a path, or less, than any program would; decoded it is plain.
fn in_every_form(text: &str, look: impl Fn(&str) -> Option<Leak>) -> Option<Leak> {
    let json = || decode::json_decoded(text);
    let decoded = || {
        json()
            .and_then(|text| look(&text))
            .or_else(|| look(&decode::percent_decoded(text)?))
            .or_else(|| look(&decode::percent_decoded(&json()?)?))
    };
    let unplaced = |leak| Leak { line: None, ..leak };
    look(text).or_else(|| decoded().map(unplaced))
}
