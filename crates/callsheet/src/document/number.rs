//! Numbers that keep the digits they were written with.

use serde_json::Number;

/// Returns a number that prints as `text`, if that is a number by the grammar of JSON.
///
/// `007`, `0x1F`, `1_000`, `+5`, `.5` and `.inf` are none: whoever reads them keeps them as text.
pub fn number(text: &str) -> Option<Number> {
    // A parsed number has another exponent (`1e+5` for `1E5`), and there is no other way to make one from its text.
    is_number(text).then(|| Number::from_string_unchecked(text.to_owned()))
}

fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits(rest);
    let rest = match rest.strip_prefix('.').map(digits) {
        Some(("", _)) => return false,
        Some((_, rest)) => rest,
        None => rest,
    };
    let exponent = rest.strip_prefix(['e', 'E']);
    let is_end = exponent.map_or(rest.is_empty(), |exponent| {
        let (digits, rest) = digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        !digits.is_empty() && rest.is_empty()
    });
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    is_end && !whole.is_empty() && !leading_zero
}

/// Splits off the digits at the beginning of a text.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_those_of_json_and_keep_their_digits() {
        for text in [
            "0",
            "-0",
            "7",
            "-12",
            "1.10",
            "0.50",
            "-0.0",
            "1e5",
            "1E5",
            "1e+5",
            "1.50E-07",
            "12345678901234567890123",
            "1e400",
            "3.141592653589793238462643383279",
        ] {
            assert_eq!(number(text).map(|n| n.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "-",
            "007",
            "0644",
            "-01",
            "00",
            "0x1F",
            "0o17",
            "1_000",
            "+5",
            ".5",
            "5.",
            ".inf",
            "nan",
            "1e",
            "1e+",
            "1.e5",
            "1 ",
            " 1",
            "1,5",
            "12:30",
            "2026-01-02",
            "١",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_a_number_here_is_one_for_the_parser(text in "-?[0-9]{0,4}(\\.[0-9]{0,3})?([eE][-+]?[0-9]{0,3})?") {
            let parsed = serde_json::from_str::<Number>(&text).is_ok();
            prop_assert_eq!(number(&text).is_some(), parsed, "{}", text);
        }
    }
}
