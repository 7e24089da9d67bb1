//! Times as people write and read them; always UTC, so that everybody reads the same.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::failure::Failure;

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// Returns a time for people, such as `2026-11-15 08:41:10Z`.
pub(crate) fn shown(at: i64) -> String {
    let Ok(time) = Timestamp::from_millisecond(at) else {
        return at.to_string();
    };
    let time = time.to_zoned(TimeZone::UTC);
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Returns how many milliseconds a span is, such as `30d`; nothing if it is none.
pub(crate) fn span(text: &str) -> Option<i64> {
    let (unit_at, unit) = text.char_indices().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u32 = text[..unit_at].parse().ok()?;
    i64::from(number).checked_mul(seconds * 1000)
}

/// Reads a time: a span before now, a day, or a day and a time of day in UTC.
pub(crate) fn parse(text: &str, now: i64) -> Result<i64, Failure> {
    if let Some(span) = span(text) {
        return Ok(now - span);
    }
    let utc = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let time = utc.parse::<DateTime>();
    let time = time.or_else(|_| {
        utc.parse::<Date>()
            .map(|day| day.to_datetime(jiff::civil::Time::midnight()))
    });
    let stamp = time.and_then(|time| time.to_zoned(TimeZone::UTC));
    let stamp = stamp.map(|time| time.timestamp().as_millisecond());
    stamp.map_err(|_| {
        Failure::input(format!("`{text}` is not a valid time")).hint(
            "write a span such as `7d` or `12h`, a day such as `2026-11-01`, or `2026-11-01T18:30`",
        )
    })
}

/// Reads a time that an option may have.
pub(crate) fn option(text: Option<&str>) -> Result<Option<i64>, Failure> {
    text.map(|text| parse(text, now())).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        let at = |text: &str| parse(text, 1_000_000_000_000).unwrap();
        assert_eq!(shown(at("2026-11-01")), "2026-11-01 00:00:00Z");
        assert_eq!(shown(at("2026-11-01T18:30")), "2026-11-01 18:30:00Z");
        assert_eq!(shown(at("2026-11-01 18:30:05Z")), "2026-11-01 18:30:05Z");
        assert_eq!(at("2h"), 1_000_000_000_000 - 7_200_000);
        assert_eq!(at("1w"), at("7d"));
        for bad in [
            "",
            "d",
            "yesterday",
            "2026-13-01",
            "-1d",
            "1.5h",
            "99999999999w",
            "é",
        ] {
            assert!(parse(bad, 0).is_err(), "{bad}");
        }
    }
}
