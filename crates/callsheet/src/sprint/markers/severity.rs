//! How bad a finding is, and how many there are of each level.

use serde::{Deserialize, Serialize};

/// How bad something is. The order is from the better to the worse, with what is not known before all.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Nobody said; never a success.
    #[default]
    Unknown,
    /// Nothing was found.
    Zero,
    /// A detail.
    Low,
    /// Worth fixing.
    Medium,
    /// Has to be fixed.
    High,
    /// Nothing works, or nothing is safe, while it is there.
    Critical,
}

impl Severity {
    /// The levels that a finding can have, the worst first.
    pub(crate) const LEVELS: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// Returns the word that agents write and that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Zero => "ZERO",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Critical => "CRITICAL",
        }
    }

    /// Returns the level that a word names, in any case.
    pub(super) fn named(word: &str) -> Option<Self> {
        let mut levels = Self::LEVELS.into_iter();
        levels.find(|level| level.as_str().eq_ignore_ascii_case(word))
    }

    /// Returns the level that a text begins with, and what follows it.
    pub(super) fn at(text: &str) -> Option<(Self, &str)> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
        Some((Self::named(&text[..end])?, &text[end..]))
    }
}

/// How many issues of each level a reviewer counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Critical ones.
    pub critical: u32,
    /// High ones.
    pub high: u32,
    /// Medium ones.
    pub medium: u32,
    /// Low ones.
    pub low: u32,
}

impl Counts {
    /// Returns the worst level with a count above 0.
    pub fn worst(&self) -> Option<Severity> {
        let counts = [self.critical, self.high, self.medium, self.low];
        let levels = Severity::LEVELS.into_iter().zip(counts);
        levels
            .filter(|(_, count)| *count > 0)
            .map(|(level, _)| level)
            .next()
    }

    /// Takes the larger number of each level.
    pub(super) fn add(&mut self, other: &Self) {
        self.critical = self.critical.max(other.critical);
        self.high = self.high.max(other.high);
        self.medium = self.medium.max(other.medium);
        self.low = self.low.max(other.low);
    }

    /// Returns the count of a level.
    pub(super) fn slot(&mut self, level: Severity) -> &mut u32 {
        match level {
            Severity::Critical => &mut self.critical,
            Severity::High => &mut self.high,
            Severity::Medium => &mut self.medium,
            Severity::Low | Severity::Zero | Severity::Unknown => &mut self.low,
        }
    }
}
