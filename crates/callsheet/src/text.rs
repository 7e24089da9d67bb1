//! Text rules that the source documents define by Python's behaviour: `strip` and `title`, and values as text.

use serde_json::Value;
use unicode_case_mapping::to_titlecase;

/// Tells whether Python's `str.strip` would remove the character.
///
/// Unicode white space plus the four separators U+001C to U+001F, which Rust does not count.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Returns the text without white space at both ends, as Python's `str.strip` does.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns the text with `&`, `<` and `>` as XML has them; quotes stay.
pub(crate) fn xml_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, mark) in text.match_indices(['&', '<', '>']) {
        out.push_str(&text[done..at]);
        out.push_str(xml_entity(mark));
        done = at + 1;
    }
    out.push_str(&text[done..]);
    out
}

/// Returns a text as it stands in a JSON string, without the quotes around it.
pub(crate) fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns how XML writes one of `&`, `<` and `>`.
pub(crate) fn xml_entity(mark: &str) -> &'static str {
    match mark {
        "<" => "&lt;",
        ">" => "&gt;",
        _ => "&amp;",
    }
}

/// Returns the text in title case, as Python's `str.title` does.
///
/// The first letter after *anything that has no case* goes to title case (`it's` becomes `It'S`, `3rd` becomes
/// `3Rd`), every other letter to lower case.
pub fn title(text: &str) -> String {
    // The standard library lowers a capital sigma by its context; the n-th sigma in is the n-th sigma out.
    let lowered = text.to_lowercase();
    let mut sigmas = lowered.chars().filter(|c| matches!(c, 'σ' | 'ς'));
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for c in text.chars() {
        let sigma = matches!(c, 'Σ' | 'σ' | 'ς')
            .then(|| sigmas.next())
            .flatten();
        match (in_word, sigma) {
            (true, Some(sigma)) => out.push(sigma),
            (true, None) => out.extend(c.to_lowercase()),
            (false, _) => push_titlecase(&mut out, c),
        }
        in_word = has_case(c);
    }
    out
}

fn push_titlecase(out: &mut String, c: char) {
    let mapped = to_titlecase(c);
    if mapped == [0, 0, 0] {
        out.push(c);
        return;
    }
    out.extend(
        mapped
            .into_iter()
            .filter(|&code| code != 0)
            .filter_map(char::from_u32),
    );
}

/// Title-case letters (ǅ) are neither lower nor upper case, but have a lower form.
fn has_case(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.to_lowercase().ne([c])
}

/// Returns a value as the text that templates and context sections print.
///
/// Strings as they are, everything else as compact JSON in key order; null is no value.
pub fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_agrees_with_python() {
        for (name, expected) in [
            ("system metadata", "System Metadata"),
            ("task-depth", "Task-Depth"),
            ("userAPI", "Userapi"),
            ("ALLCAPS", "Allcaps"),
            ("it's mine", "It'S Mine"),
            ("3rd party", "3Rd Party"),
            ("html5parser", "Html5Parser"),
            ("hook.v2", "Hook.V2"),
            ("a  b", "A  B"),
            (" x ", " X "),
            ("éa ßx", "Éa Ssx"),
            ("ǆabc", "ǅabc"),
            ("ΟΔΟΣ ΣΑΣ", "Οδος Σας"),
            ("ﬁsh", "Fish"),
            ("ა", "ა"),
            ("", ""),
        ] {
            assert_eq!(title(name), expected, "{name}");
        }
    }

    #[test]
    fn strip_takes_what_python_takes() {
        assert_eq!(strip("\u{1c}\u{a0}\u{2003}\x0c\x0ba b\u{1f}\n"), "a b");
        assert_eq!(strip("\u{200b}x"), "\u{200b}x");
    }
}
