//! Values as YAML: what can be nothing but text needs no quotes, the rest is JSON, which is YAML too.

use serde_json::Value;

/// Words that YAML programs take for something else than text.
const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Returns the lines of a new key: items of lists and fields of mappings on lines of their own, what is deeper as JSON.
pub(super) fn lines(key: &str, value: &Value) -> String {
    let key = self::key(key);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("  - {}\n", inline(item)));
            format!("{key}:\n{}", items.collect::<String>())
        }
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|(name, value)| pair(name, value));
            let fields = fields.map(|field| format!("  {field}\n"));
            format!("{key}:\n{}", fields.collect::<String>())
        }
        value => format!("{key}: {}\n", inline(value)),
    }
}

/// Returns a key with its value, in one line.
pub(super) fn pair(key: &str, value: &Value) -> String {
    format!("{}: {}", self::key(key), inline(value))
}

fn key(key: &str) -> String {
    inline(&Value::from(key))
}

/// Returns a value in one line.
pub(super) fn inline(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => json(value),
    }
}

/// Returns a value in one line, a text in the quotes of the one before it.
pub(super) fn inline_like(value: &Value, old: &str) -> String {
    match value.as_str() {
        Some(_) if old.starts_with('"') => json(value),
        Some(text) if old.starts_with('\'') && !text.contains(is_special) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        _ => inline(value),
    }
}

/// Returns a value as JSON; what ends a line in YAML is escaped.
fn json(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_special(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells whether YAML wants a character escaped, or takes it for the end of a line.
fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
        && !WORDS.contains(&text.to_lowercase().as_str())
}
