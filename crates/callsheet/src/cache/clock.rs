//! Times in texts: what makes a prompt new every time it is composed.

use std::sync::LazyLock;

use regex::Regex;

const DATE: &str = r"\d{4}-\d{2}-\d{2}";
const TIME: &str = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:[AaPp]\.?[Mm]\b\.?|Z\b|UTC\b|GMT\b|[+-]\d{2}:?\d{2}))?";
const DAY: &str = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} [A-Z][a-z]{2,8}|[A-Z][a-z]{2,8} \d{1,2}),? \d{4}";
const EPOCH: &str = r"1\d{9}(?:\d{3}){0,3}";
const SLASHED: &str = r"\d{1,4}[/.]\d{1,2}[/.]\d{2,4}";

/// A date with the time of the day: the moment of something.
static MOMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"\b(?:(?:{DATE}|{SLASHED}|{DAY})(?:T|,? (?:at )?){TIME}|{EPOCH}\b)"
    ))
    .ok()
});

/// Anything that a clock or a calendar tells.
static TIMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"\b(?:{DATE}T{TIME}|{DATE}|{DAY}|{SLASHED}|{TIME}|{EPOCH}\b)"
    ))
    .ok()
});

/// Tells whether a text holds a moment, to the minute.
pub(super) fn has_moment(text: &str) -> bool {
    MOMENT.as_ref().is_some_and(|moment| moment.is_match(text))
}

/// Tells whether two texts differ, and in nothing but times.
pub(super) fn same_but_for_times(one: &str, other: &str) -> bool {
    let Some(times) = TIMES.as_ref() else {
        return false;
    };
    one != other && times.replace_all(one, "\0") == times.replace_all(other, "\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_from_numbers() {
        for moment in [
            "at 2026-11-16T10:00:00Z.",
            "2026-11-16 10:00",
            "Mon, 16 Nov 2026 10:00:00 +0100",
            "November 16, 2026 at 9:05 PM",
            "16.11.2026 10:00",
            "ts=1794825600",
            "1794825600123",
        ] {
            assert!(has_moment(moment), "{moment}");
        }
        for other in [
            "2026-11-16",
            "1.2.3",
            "10:00",
            "version 12",
            "12345",
            "call 1555-123-4567",
        ] {
            assert!(!has_moment(other), "{other}");
        }
    }

    #[test]
    fn only_times_may_differ() {
        for (one, other, same) in [
            ("It is 10:00.", "It is 10:05.", true),
            ("2026-11-16", "2026-11-17", true),
            (
                "2026-11-16T10:00:00Z x",
                "2026-11-16T10:00:01.5+01:00 x",
                true,
            ),
            ("16 Nov 2026", "17 Nov 2026", true),
            ("at 1794825600", "at 1794825601", true),
            ("10:00 a", "10:05 b", false),
            ("port 80", "port 81", false),
            ("10:00", "10:00", false),
        ] {
            assert_eq!(same_but_for_times(one, other), same, "{one} {other}");
        }
    }
}
