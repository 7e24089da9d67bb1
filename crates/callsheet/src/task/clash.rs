//! Whether two tasks may run at the same time, given how much their write scopes overlap.

/// What a scheduler does about two tasks that would run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Both may run: their write scopes have nothing in common.
    Allowed,
    /// Both may run, and somebody should hear of the overlap.
    Warned,
    /// One has to wait for the other.
    Blocked,
}

impl Clash {
    /// Returns the word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Blocked => "blocked",
        }
    }
}

/// Returns what a [score](crate::scope::conflict_score) means: a score up to the threshold is a warning, one above it blocks.
///
/// A score or threshold that is not a number blocks.
pub fn clash(score: f64, threshold: f64) -> Clash {
    if score == 0.0 {
        Clash::Allowed
    } else if score <= threshold {
        Clash::Warned
    } else {
        Clash::Blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_itself_is_a_warning() {
        for (score, threshold, expected) in [
            (0.0, 0.5, Clash::Allowed),
            (-0.0, 0.5, Clash::Allowed),
            (f64::MIN_POSITIVE, 0.5, Clash::Warned),
            (0.25, 0.5, Clash::Warned),
            (0.5, 0.5, Clash::Warned),
            (0.5_f64.next_up(), 0.5, Clash::Blocked),
            (1.0, 0.5, Clash::Blocked),
            (1.0, 1.0, Clash::Warned),
            (0.0, 0.0, Clash::Allowed),
            (f64::MIN_POSITIVE, 0.0, Clash::Blocked),
            (f64::NAN, 0.5, Clash::Blocked),
            (0.25, f64::NAN, Clash::Blocked),
        ] {
            assert_eq!(clash(score, threshold), expected, "{score} {threshold}");
        }
    }
}
