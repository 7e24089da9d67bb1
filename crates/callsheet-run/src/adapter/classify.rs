//! Failure classes of prose: what CLIs write where they tell no code, and what they write to stderr.
//!
//! Text decides nothing where a status or a code is told, but for the few statuses that mean two things.

use jiff::Timestamp;

use crate::{Class, Ending, Verdict};

/// Texts that tell more than any status does, in the order in which they are looked for.
const FIRST: &[(Class, &[&str])] = &[
    (
        Class::Context,
        &[
            "prompt is too long",
            "input is too long",
            "context window",
            "context length",
            "context_length_exceeded",
            "maximum context",
            "exceeds the maximum number of tokens",
            "input token count",
        ],
    ),
    (
        Class::Quota,
        &[
            "usage limit",
            "quota exceeded",
            "insufficient_quota",
            "exceeded your current quota",
            "exhausted your",
            "quota will reset",
            "credit balance",
            "billing_error",
            "out of credits",
            "spend limit",
            "hit your limit",
        ],
    ),
    (Class::Turns, &["session turns", "maximum number of turns"]),
    (
        Class::Auth,
        &[
            "not logged in",
            "/login",
            "invalid api key",
            "invalid x-api-key",
            "invalid_api_key",
            "api key not valid",
            "incorrect api key",
            "authentication",
            "unauthorized",
            "unauthenticated",
            "invalid auth method",
            "token has expired",
        ],
    ),
];

/// Texts that count where no status is told.
const LAST: &[(Class, &[&str])] = &[
    (
        Class::Overload,
        &[
            "high demand",
            "overloaded",
            "rate limit",
            "rate_limit",
            "too many requests",
            "at capacity",
            "server error",
            "server_error",
            "resource_exhausted",
            "unavailable",
        ],
    ),
    (
        Class::Network,
        &[
            "stream disconnected",
            "connection",
            "cannot connect",
            "unable to connect",
            "terminated",
            "timed out",
            "timeout",
            "econnrefused",
            "econnreset",
            "enotfound",
            "eai_again",
            "fetch failed",
            "socket hang up",
            "error sending request",
            "network",
        ],
    ),
    (
        Class::Request,
        &[
            "invalid_request",
            "bad request",
            "model_not_found",
            "model not found",
            "unknown model",
            "does not exist",
            "not supported",
        ],
    ),
];

/// Texts on stderr that say that a CLI did not get as far as a request.
const MACHINE: &[&str] = &[
    "unknown option",
    "unknown argument",
    "unexpected argument",
    "unrecognized",
    "command not found",
    "no such file or directory",
    "no space left on device",
    "enospc",
    "read-only file system",
    "not inside a trusted directory",
    "untrusted",
    "cannot be used with root",
    "postinstall",
];

/// The shortest wait that is one for a usage window, in seconds; a server that is busy tells shorter ones.
const SHORTEST_WINDOW: i64 = 60;

/// Returns the class of an error whose server tells when to come back: one that is that far away is the end of a usage
/// window, and this one is used up.
pub(super) fn with_wait(class: Class, resets_at: Option<i64>, now: Option<i64>) -> Class {
    let wait = resets_at
        .zip(now)
        .map(|(resets_at, now)| resets_at.saturating_sub(now));
    match class {
        Class::Overload if wait.is_some_and(|wait| wait >= SHORTEST_WINDOW) => Class::Quota,
        class => class,
    }
}

/// Returns the class of an error from what it says and the status that is told with it.
pub(super) fn class(text: &str, status: Option<u16>) -> Class {
    let text = text.to_lowercase();
    let by = |table: &[(Class, &[&str])]| {
        let found = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let row = table.iter().find(|(_, words)| found(words));
        row.map(|(class, _)| *class)
    };
    let by_status = || {
        let status = status.or_else(|| status_in(&text))?;
        Some(Class::of_status(status)).filter(|class| *class != Class::Unknown)
    };
    by(FIRST)
        .or_else(by_status)
        .or_else(|| by(LAST))
        .unwrap_or(Class::Unknown)
}

/// Returns the HTTP status that a text names, such as `last status: 429` or `"code":401`.
pub(super) fn status_in(text: &str) -> Option<u16> {
    let text = text.to_lowercase();
    ["status", "code\":", "error (", "rejected ("]
        .iter()
        .flat_map(|word| {
            let after = |at: usize| &text[at + word.len()..];
            text.match_indices(word).map(move |(at, _)| after(at))
        })
        .find_map(|after| {
            let digits = after.trim_start_matches([':', ' ', '"', '=']);
            let end = digits.find(|c: char| !c.is_ascii_digit());
            let status: u16 = digits[..end.unwrap_or(digits.len())].parse().ok()?;
            (400..600).contains(&status).then_some(status)
        })
}

/// Returns when a limit ends, in seconds since 1970: a time that is told whole, or a wait from a known time on.
pub(super) fn resets_at(text: &str, now: Option<i64>) -> Option<i64> {
    let lower = text.to_lowercase();
    let after = |words: &[&str]| {
        let found = words
            .iter()
            .find_map(|word| Some((lower.find(word)?, word)));
        found.map(|(at, word)| &lower[at + word.len()..])
    };
    let found = after(&["try again at ", "resets at ", "reset at "]).and_then(|rest| {
        let word = rest.split_whitespace().next()?;
        let word = word.trim_end_matches(['.', ',', ')']).to_uppercase();
        Some(word.parse::<Timestamp>().ok()?.as_second())
    });
    let wait = || {
        let words = [
            "retry after ",
            "retry in ",
            "try again in ",
            "reset after ",
            "resets in ",
            "retrydelay\":\"",
            "retrydelay\": \"",
        ];
        now?.checked_add(seconds(after(&words)?)?)
    };
    found.or_else(wait)
}

/// Reads the start of a text as a wait, such as `3600s`, `1h 30m`, `2.5 seconds` or `90`; parts of seconds count whole.
fn seconds(text: &str) -> Option<i64> {
    let mut total = 0.0;
    let mut left = text.trim_start();
    loop {
        let end = left.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, rest) = left.split_at(end.unwrap_or(left.len()));
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let factor = match unit {
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "ms" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        total += number * factor;
        left = rest.trim_start_matches([' ', ',']);
    }
    whole(total)
}

/// Returns a wait in whole seconds; nothing and a year or more are not told in earnest.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn whole(seconds: f64) -> Option<i64> {
    (seconds > 0.0 && seconds < 31_536_000.0).then(|| seconds.ceil() as i64)
}

/// Returns the verdict on a run without a final event.
pub(super) fn incomplete(ending: &Ending) -> Verdict {
    let found = match ending.exit_code {
        Some(126 | 127) => Some(Class::Environment),
        Some(0) | None => None,
        Some(_) => on_stderr(&ending.stderr),
    };
    Verdict::failure(found.unwrap_or(Class::Incomplete))
}

/// Returns the class that the last lines on stderr tell.
fn on_stderr(stderr: &str) -> Option<Class> {
    let lower = stderr.to_lowercase();
    if MACHINE.iter().any(|text| lower.contains(text)) {
        return Some(Class::Environment);
    }
    Some(class(&lower, None)).filter(|class| *class != Class::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_wait_is_a_used_up_window() {
        let class = |class, wait: i64| with_wait(class, Some(1000 + wait), Some(1000));
        assert_eq!(class(Class::Overload, 59), Class::Overload);
        assert_eq!(class(Class::Overload, 60), Class::Quota);
        assert_eq!(class(Class::Auth, 3600), Class::Auth);
        assert_eq!(with_wait(Class::Overload, None, Some(0)), Class::Overload);
        assert_eq!(with_wait(Class::Overload, Some(0), None), Class::Overload);
    }

    #[test]
    fn prose_has_a_class() {
        use Class::*;
        let cases = [
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                Overload,
            ),
            ("rate limit exceeded: slow down", Overload),
            ("You’ve hit your usage limit. Try again at 3:30 AM.", Quota),
            ("Quota exceeded. Check your plan", Quota),
            (
                "unexpected status 529 <unknown status code>: Overloaded",
                Overload,
            ),
            ("unexpected status 401 : who are you", Auth),
            ("unexpected status 400 : prompt is too long", Context),
            ("unexpected status 404 : no such model", Request),
            ("We’re currently experiencing high demand", Overload),
            ("stream disconnected before completion: eof", Network),
            ("[API Error: terminated]", Network),
            (
                "[API Error: {\"error\":{\"code\":403,\"message\":\"no\"}}]",
                Auth,
            ),
            ("request a quota increase through AI Studio: 12", Unknown),
            ("something", Unknown),
        ];
        for (text, expected) in cases {
            assert_eq!(class(text, None), expected, "{text}");
        }
        assert_eq!(class("something", Some(503)), Overload);
        assert_eq!(class("API key not valid", Some(400)), Auth);
    }

    #[test]
    fn waits_and_times_are_read_and_clock_prose_is_not() {
        let at = |text| resets_at(text, Some(1_000));
        assert_eq!(at("please retry after 3600s"), Some(4_600));
        assert_eq!(at("Your quota will reset after 1h30m5s."), Some(6_405));
        assert_eq!(at("retry in 2.5 seconds, or not"), Some(1_003));
        assert_eq!(at("\"retryDelay\": \"34s\""), Some(1_034));
        assert_eq!(at("try again in 1 day, 2 hours."), Some(94_600));
        assert_eq!(
            at("try again at 2026-11-16T03:30:00Z."),
            Some(1_794_799_800)
        );
        assert_eq!(at("try again at 3:30 AM"), None);
        assert_eq!(at("retry after a while"), None);
        assert_eq!(resets_at("retry after 3600s", None), None);
        assert_eq!(at("retry after 99999999999999999999s"), None);
    }
}
