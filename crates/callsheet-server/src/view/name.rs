//! What stories are called: boards have keys, whose words say what a story is about.

/// Returns the short key of a story and the words behind it: `1-1` and `Add a task` of `1-1-add-a-task`.
pub(crate) fn name_of(key: &str, short: &str) -> (String, String) {
    let rest = key.strip_prefix(short).unwrap_or_default();
    let words = rest.trim_start_matches(['-', '_']).replace(['-', '_'], " ");
    let mut chars = words.chars();
    let title = chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + chars.as_str()
    });
    (short.to_owned(), title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_a_story_is_about() {
        let of = |key: &str, short: &str| name_of(key, short);
        assert_eq!(
            of("1-1-add-a-task", "1-1"),
            ("1-1".into(), "Add a task".into())
        );
        assert_eq!(of("2a-1", "2a-1"), ("2a-1".into(), String::new()));
    }
}
