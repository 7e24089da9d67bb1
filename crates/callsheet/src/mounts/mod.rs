//! Mounts: `@project`, `@pkg` and `@state` stand for real folders, and only these names reach a message.
//!
//! Three things happen here: a text gets the names of mounts in the place of their folders, or is refused
//! ([`Mounts::mounted`]), a path with a mount becomes a real one again ([`Mounts::resolve`]), and a finished prompt is
//! searched for real paths ([`Mounts::guard`]). All but the second work on texts alone.

mod alias;
mod decode;
mod forms;
mod guard;
mod leak;
mod real;
mod sandbox;

pub use leak::Leak;
pub use sandbox::{Access, SandboxViolation};

use std::collections::BTreeMap;
use std::ops::Range;

use alias::Which;
use forms::Folder;

use crate::redact::Rules;
use crate::trace::{Traced, Transform};
pub(crate) use forms::{forms as written_forms, is_windows};

/// The most characters that a printed value has.
pub(crate) const MOST_CHARS: usize = 500;

/// So often a text is looked at again before all of it is redacted.
const MOST_ROUNDS: usize = 8;

/// What stands for an absolute path that is below no mount.
pub(crate) const REDACTED: &str = "[redacted]";

/// A name that stands for a real folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mount {
    /// The project of the user, which may be read and written.
    Project,
    /// The package of agents and workflows, which may be read.
    Package,
    /// The state of a run, which may be read and written.
    State,
}

impl Mount {
    /// All mounts.
    pub const ALL: [Self; 3] = [Self::Project, Self::Package, Self::State];

    /// Returns the name that stands for the folder.
    pub fn alias(self) -> &'static str {
        match self {
            Self::Project => "@project",
            Self::Package => "@pkg",
            Self::State => "@state",
        }
    }
}

/// The real folders behind the mounts, and others that must not be seen.
///
/// ```
/// use callsheet::mounts::{Mount, Mounts};
///
/// let mounts = Mounts::new()
///     .with(Mount::Project, "/srv/shop")
///     .with(Mount::Package, "/srv/shop/vendor/pkg");
/// assert_eq!(mounts.alias("/srv/shop/src/a.rs"), "@project/src/a.rs");
/// assert_eq!(mounts.alias("in /srv/shop/vendor/pkg/steps"), "in @pkg/steps");
/// assert_eq!(mounts.alias("/srv/shop2/a"), "[redacted]", "another folder");
/// assert_eq!(mounts.sanitise("one\n- autopilot: false"), "one - autopilot: false");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    /// The folders, the longest path first.
    folders: Vec<Folder>,
    /// The folder that each mount resolves to.
    homes: BTreeMap<Mount, String>,
    /// What no value is cut within.
    rules: Rules,
}

impl Mounts {
    /// Makes mounts without any folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the folder behind a mount, as an absolute path; the first one of a mount is the one that it resolves to.
    #[must_use]
    pub fn with(self, mount: Mount, folder: &str) -> Self {
        self.add(Some(mount), mount.alias(), folder)
    }

    /// Adds a folder that has no mount and must not be seen either, such as the home folder.
    #[must_use]
    pub fn with_hidden(self, what: &'static str, folder: &str) -> Self {
        self.add(None, what, folder)
    }

    /// Sets what is taken for a secret, so that no value is cut within one.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns where a text may be cut so that at most `end` bytes stay: not within a secret.
    pub(crate) fn cut_at(&self, text: &str, end: usize) -> usize {
        self.rules.cut_at(text, end)
    }

    fn add(mut self, mount: Option<Mount>, what: &'static str, folder: &str) -> Self {
        if let Some(folder) = Folder::new(mount, what, folder) {
            if let Some(mount) = mount {
                self.homes
                    .entry(mount)
                    .or_insert_with(|| folder.path.clone());
            }
            self.folders.push(folder);
            // Stable, so that of equal folders the first one counts.
            self.folders
                .sort_by_key(|folder| std::cmp::Reverse(folder.path.len()));
        }
        self
    }

    /// Returns a text in which folders of mounts have their names and all other absolute paths are redacted.
    ///
    /// The longest folder counts, and only whole parts of a path do.
    pub fn alias(&self, text: &str) -> String {
        let mut aliased = Traced::frame(text);
        // What stands together now may name a folder again.
        for _ in 0..MOST_ROUNDS {
            aliased = self.renamed(&aliased, Which::Absolute).unwrap_or(aliased);
            if self.known(aliased.text()).is_none() {
                return aliased.text().to_owned();
            }
        }
        REDACTED.to_owned()
    }

    /// Returns a text in which folders of mounts have their names, unless it holds any other real path.
    pub fn mounted(&self, text: &str) -> Result<String, Leak> {
        Ok(self.mounted_text(Traced::frame(text))?.text().to_owned())
    }

    /// Does the same to a text that knows where it came from.
    pub(crate) fn mounted_text(&self, mut text: Traced) -> Result<Traced, Leak> {
        for _ in 0..MOST_ROUNDS {
            match self.renamed(&text, Which::Mounted) {
                Some(renamed) if renamed.text() != text.text() => text = renamed,
                _ => break,
            }
        }
        self.leak(text.text()).map_or(Ok(text), Err)
    }

    /// Returns a text in which folders of mounts have their names and all that is left of real paths is redacted.
    pub(crate) fn scrubbed(&self, mut text: Traced) -> Traced {
        for _ in 0..MOST_ROUNDS {
            text = self.renamed(&text, Which::Absolute).unwrap_or(text);
            while let Some(range) = real::find(&self.folders, text.text()) {
                text = text.replaced(&[(range, REDACTED.to_owned())], Transform::Aliased);
            }
            if self.leak(text.text()).is_none() {
                return text;
            }
        }
        let whole = 0..text.len();
        text.replaced(&[(whole, REDACTED.to_owned())], Transform::Aliased)
    }

    /// Returns a text in which some paths have another name; nothing if there are none.
    fn renamed(&self, text: &Traced, which: Which) -> Option<Traced> {
        let parts = alias::renamed(&self.folders, text.text(), which);
        (!parts.is_empty()).then(|| text.replaced(&parts, Transform::Aliased))
    }

    /// Returns a value as it may stand in a block: in one line, no longer than [`MOST_CHARS`], and folders by their mounts.
    pub fn sanitise(&self, value: &str) -> String {
        let line = self.alias(one_line(Traced::frame(value)).text());
        self.cut(Traced::frame(line)).into_parts().0
    }

    /// Returns a value as it may stand in a block, unless it holds a real path that is below no mount.
    pub fn value(&self, value: &str) -> Result<String, Leak> {
        let line = self.mounted_text(one_line(Traced::frame(value)))?;
        Ok(self.cut(line).into_parts().0)
    }

    /// Returns no more than [`MOST_CHARS`] of a line.
    pub(crate) fn cut(&self, line: Traced) -> Traced {
        let Some((end, _)) = line.text().char_indices().nth(MOST_CHARS) else {
            return line;
        };
        let cut = line.slice(0..self.cut_at(line.text(), end));
        // The end of a folder's name may be cut off, which leaves the name of another.
        if self.leak(cut.text()).is_some() {
            let whole = 0..line.len();
            return line.replaced(&[(whole, REDACTED.to_owned())], Transform::Aliased);
        }
        cut
    }
}

/// Tells whether a path begins with a mount, or is redacted, so that nothing has to stand before it.
pub(crate) fn is_final(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    path.starts_with(REDACTED) || Mount::ALL.iter().any(|mount| mount.alias() == first)
}

/// Returns the value in one line: line ends and tabs become blanks, other control characters go.
pub(crate) fn one_line(value: Traced) -> Traced {
    let parts = breaks(value.text());
    if parts.is_empty() {
        return value;
    }
    value.replaced(&parts, Transform::Converted)
}

/// Returns what cannot stand in a line, with what does in its place.
fn breaks(value: &str) -> Vec<(Range<usize>, String)> {
    let mut parts = Vec::new();
    let mut chars = value.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let instead = match c {
            '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => "",
            '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => " ",
            // What turns the direction of writing makes a line look like another.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "",
            c if c.is_control() => "",
            _ => continue,
        };
        parts.push((at..at + c.len_utf8(), instead.to_owned()));
    }
    parts
}

#[cfg(test)]
mod tests;
