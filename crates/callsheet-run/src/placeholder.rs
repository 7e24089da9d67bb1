//! Placeholders such as `{model}` in texts of a project, filled from left to right: what was filled in is not looked at again.

/// Returns a text with the placeholders filled that have a value; other braces stay as they are.
pub(crate) fn fill(text: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = values.iter().find(|(name, _)| rest.starts_with(name));
        let (name, value) = known.map_or(("{", "{"), |(name, value)| (*name, value.as_str()));
        filled.push_str(value);
        rest = &rest[name.len()..];
    }
    filled + rest
}
