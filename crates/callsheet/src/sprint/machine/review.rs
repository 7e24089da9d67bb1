//! The code-review loop: when a story is done, when it is blocked, when it is reviewed again.

use super::cycle::{Decision, Story};
use super::input::Heard;
use super::rules::Rules;
use crate::sprint::markers::Severity;

/// From this review on, small findings no longer keep a story from being done.
const ENOUGH: u32 = 3;

/// How many equal reviews in a row show that nothing moves any more.
const SAME: usize = 3;

impl Story {
    /// Takes in what a code review found.
    pub(super) fn reviewed_code(&mut self, heard: &Heard, rules: &Rules) {
        self.reviews += 1;
        self.findings.clone_from(&heard.findings);
        let print = heard.fingerprint.clone().unwrap_or_default();
        self.prints.push(format!("{:?} {print}", heard.severity));
        self.decision = self.decide(heard.severity, rules);
    }

    fn decide(&self, severity: Severity, rules: &Rules) -> Option<Decision> {
        if severity == Severity::Zero {
            return Some(Decision::Done);
        }
        let last = self.prints.len().saturating_sub(SAME);
        let recent = &self.prints[last..];
        if recent.len() == SAME && recent.iter().all(|print| *print == recent[0]) {
            let why = format!("{SAME} code reviews in a row found the same");
            return Some(Decision::Blocked(why));
        }
        let is_small = matches!(severity, Severity::Low | Severity::Medium);
        if self.reviews >= ENOUGH && is_small {
            return Some(Decision::Done);
        }
        (self.reviews >= rules.max_code_reviews).then(|| self.too_many())
    }

    /// Blocks a story that may not be reviewed at all.
    pub(super) fn unreviewable(&mut self, rules: &Rules) {
        if self.is_active() && self.developed && self.reviews >= rules.max_code_reviews {
            self.decision = Some(self.too_many());
        }
    }

    fn too_many(&self) -> Decision {
        let times = match self.reviews {
            1 => "1 code review".to_owned(),
            times => format!("{times} code reviews"),
        };
        Decision::Blocked(format!("{times} did not end without serious findings"))
    }
}
