//! How things look in pages: times, sizes, money, and text from outside that must not fool anybody.

use minijinja::Environment;
use minijinja::value::Value;

/// Adds the filters that templates use.
pub(super) fn add_to(templates: &mut Environment<'static>) {
    templates.add_filter("age", |at: i64| age(now() - at));
    templates.add_filter("left", |at: i64| age(at - now()));
    templates.add_filter("took", crate::view::stream::span);
    templates.add_filter("clock", |at: i64| written(at, "%H:%M"));
    templates.add_filter("second", |at: i64| written(at, "%H:%M:%S"));
    templates.add_filter("exact", |at: i64| written(at, "%Y-%m-%d %H:%M:%S UTC"));
    templates.add_filter("weekday", |at: i64| written(at, "%a %-d"));
    templates.add_filter("monthday", |at: i64| written(at, "%-d %b"));
    templates.add_filter("shortdate", |at: i64| written(at, "%a %-d %b"));
    templates.add_filter("date", |at: i64| written(at, "%A, %-d %B"));
    templates.add_filter("day", |at: i64| written(at, "%a %-d %b, %H:%M"));
    templates.add_filter("iso", |at: i64| written(at, "%Y-%m-%dT%H:%M:%SZ"));
    templates.add_filter("count", |number: i64| grouped(number));
    templates.add_filter("size", |bytes: i64| size(bytes));
    templates.add_filter("tokens", |number: i64| tokens(number));
    templates.add_filter("money", |dollars: f64| format!("${dollars:.2}"));
    templates.add_filter("short", |text: String| {
        text.chars().take(12).collect::<String>()
    });
    templates.add_filter("visible", visible);
    templates.add_filter("url", |text: String| encoded(&text));
}

/// Returns the time in milliseconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Returns a time as text, in UTC.
fn written(at: i64, format: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at);
    at.map_or_else(|_| "–".to_owned(), |at| at.strftime(format).to_string())
}

/// Returns how long something takes: `41m`, `2h 6m`, `4m 10s`.
pub(crate) fn age(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    let two = |one: i64, big: &str, other: i64, small: &str| match other {
        0 => format!("{one}{big}"),
        other => format!("{one}{big} {other}{small}"),
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..600 => two(seconds / 60, "m", seconds % 60, "s"),
        600..3600 => format!("{}m", seconds / 60),
        3600..86_400 => two(seconds / 3600, "h", seconds / 60 % 60, "m"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

/// Returns a number with its thousands apart: `1,278`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 {
        format!("−{text}")
    } else {
        text
    }
}

/// Returns a size: `2,112 bytes`, `81.4 kB`, `1.2 MB`.
fn size(bytes: i64) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "one digit after the point is shown"
    )]
    let of = |unit: i64| bytes as f64 / unit as f64;
    match bytes {
        ..10_000 => format!("{} bytes", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", of(1000)),
        _ => format!("{:.1} MB", of(1_000_000)),
    }
}

/// Returns a text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Returns a number of tokens: `812`, `19k`, `1.31M`.
pub(super) fn tokens(number: i64) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "two digits after the point are shown"
    )]
    let of = |unit: i64| number as f64 / unit as f64;
    match number {
        ..1000 => number.to_string(),
        1000..10_000 => format!("{:.1}k", of(1000)),
        10_000..1_000_000 => format!("{:.0}k", of(1000)),
        _ => format!("{:.2}M", of(1_000_000)),
    }
}

/// Returns text from outside as HTML, with characters that cannot be seen or that turn the direction spelled out.
fn visible(text: &Value) -> Value {
    let text = text.to_string();
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' | '\t' => html.push(c),
            '\u{1b}' => html.push_str("<span class=\"ctl\">ESC</span>"),
            c if hides(c) => html.push_str(&format!(
                "<span class=\"ctl\">U+{:04X}</span>",
                u32::from(c)
            )),
            c => html.push(c),
        }
    }
    Value::from_safe_string(html)
}

/// Tells whether a character is not seen, or changes how others are.
pub(crate) fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_units_at_most() {
        let shown = [0, 59_999, 250_000, 2_460_000, 7_560_000, 90_000_000].map(age);
        assert_eq!(shown, ["0s", "59s", "4m 10s", "41m", "2h 6m", "1d 1h"]);
    }

    #[test]
    fn numbers_and_sizes_are_read_at_a_glance() {
        assert_eq!(
            [0, 999, 1278, -1_234_567].map(grouped),
            ["0", "999", "1,278", "−1,234,567"]
        );
        assert_eq!(
            [2112, 81_400, 1_240_000].map(size),
            ["2,112 bytes", "81.4 kB", "1.2 MB"]
        );
    }

    #[test]
    fn text_from_outside_hides_nothing() {
        let shown = visible(&Value::from("<b>\u{202e}fdp.exe\u{1b}[31m\n\""));
        let expected = "&lt;b&gt;<span class=\"ctl\">U+202E</span>fdp.exe<span class=\"ctl\">ESC</span>[31m\n&quot;";
        assert_eq!(shown.to_string(), expected);
        assert!(shown.is_safe());
    }
}
