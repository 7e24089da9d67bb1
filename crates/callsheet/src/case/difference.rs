//! What differs between what a case says and what was composed, line by line.

use serde_json::Value;

/// Shows in which lines two values differ.
pub(super) fn values(what: &str, expected: &Value, found: &Value) -> Option<String> {
    // A value has text keys only; serialising it cannot fail.
    let print = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    texts(what, &print(expected), &print(found))
}

/// Shows the lines in which two texts differ, with the equal ones around them left out.
pub(super) fn texts(what: &str, expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.split('\n').collect(), actual.split('\n').collect());
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(one, other)| one == other)
        .count();
    let most = old.len().min(new.len()) - same;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(|(one, other)| one == other)
        .count();
    let mut shown = format!("  {what} differs from line {} on:\n", same + 1);
    for (sign, lines) in [
        ('-', &old[same..old.len() - tail]),
        ('+', &new[same..new.len() - tail]),
    ] {
        for line in lines {
            shown.push_str(&quoted_line(sign, line));
        }
    }
    Some(shown)
}

/// Shows all lines of a text.
pub(super) fn quoted(sign: char, text: &str) -> String {
    text.split('\n')
        .map(|line| quoted_line(sign, line))
        .collect()
}

/// Shows a line in quotes, so that it cannot be taken for one of ours.
fn quoted_line(sign: char, line: &str) -> String {
    let start: String = line.chars().take(200).collect();
    let rest = if start.len() < line.len() {
        format!(" … ({} bytes)", line.len())
    } else {
        String::new()
    };
    format!("  {sign} {start:?}{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_by_its_lines() {
        assert_eq!(texts("text", "a\nb\nc", "a\nb\nc"), None);
        assert_eq!(
            texts("text", "a\nb\nd", "a\nc\nc\nd").unwrap(),
            "  text differs from line 2 on:\n  - \"b\"\n  + \"c\"\n  + \"c\"\n"
        );
        assert_eq!(
            texts("text", "a", "a\n").unwrap(),
            "  text differs from line 2 on:\n  + \"\"\n"
        );
    }
}
