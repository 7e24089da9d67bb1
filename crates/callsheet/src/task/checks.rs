//! The definition of done: what the required checks of a run say together.

use serde::{Deserialize, Serialize};

/// How a check ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It did not run to its end.
    #[default]
    Pending,
    /// It exited with 0.
    Passed,
    /// It exited with something else, or took too long.
    Failed,
}

impl CheckStatus {
    /// Returns the word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }
}

/// A check of a run, as far as it decides anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckFact {
    /// Whether the task cannot be done without it.
    pub required: bool,
    /// How it ended.
    pub status: CheckStatus,
}

/// Whether the definition of done holds for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dod {
    /// A required check did not run to its end, or there is none.
    Pending,
    /// Every required check passed.
    Passed,
    /// A required check failed.
    Failed,
}

/// Returns what the required checks of a run say together.
///
/// Without any required check nothing was proven, so the answer is pending.
pub fn dod(checks: &[CheckFact]) -> Dod {
    let mut required = checks.iter().filter(|check| check.required).peekable();
    if required.peek().is_none() {
        return Dod::Pending;
    }
    // The worst one counts.
    required.fold(Dod::Passed, |dod, check| match (dod, check.status) {
        (Dod::Failed, _) | (_, CheckStatus::Failed) => Dod::Failed,
        (Dod::Pending, _) | (_, CheckStatus::Pending) => Dod::Pending,
        (Dod::Passed, CheckStatus::Passed) => Dod::Passed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_required_check_decides() {
        use CheckStatus::{Failed, Passed, Pending};
        let required = |status| CheckFact {
            required: true,
            status,
        };
        let optional = |status| CheckFact {
            required: false,
            status,
        };
        for (checks, expected) in [
            (vec![], Dod::Pending),
            (vec![optional(Passed)], Dod::Pending),
            (vec![optional(Failed)], Dod::Pending),
            (vec![required(Passed)], Dod::Passed),
            (vec![required(Passed), optional(Failed)], Dod::Passed),
            (vec![required(Passed), required(Pending)], Dod::Pending),
            (vec![required(Pending), required(Passed)], Dod::Pending),
            (vec![required(Pending), required(Failed)], Dod::Failed),
            (vec![required(Failed), required(Pending)], Dod::Failed),
            (vec![required(Failed), required(Passed)], Dod::Failed),
        ] {
            assert_eq!(dod(&checks), expected, "{checks:?}");
        }
    }
}
