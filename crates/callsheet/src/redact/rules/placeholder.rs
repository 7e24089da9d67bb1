//! What stands for a secret and is not one: `${PW}`, `%s`, `<password>`, `***`.

/// What begins a placeholder, and what ends it.
const PAIRS: [(&str, &str); 9] = [
    ("${{", "}}"),
    ("{{", "}}"),
    ("#{", "}"),
    ("${", "}"),
    ("$(", ")"),
    ("%(", ")"),
    ("{", "}"),
    ("<", ">"),
    ("[", "]"),
];

/// What a variable that holds a secret is called.
const NAMES: [&str; 6] = ["pass", "pw", "secret", "token", "key", "cred"];

/// Tells whether a text is made of nothing but placeholders.
pub(super) fn is_one(text: &str) -> bool {
    let masked = text
        .chars()
        .all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '…' | '•'));
    masked || is_filled_in(text)
}

/// Tells whether a text is placeholders, and signs between them.
fn is_filled_in(text: &str) -> bool {
    let mut rest = text;
    let mut any = false;
    while let Some(c) = rest.chars().next() {
        match one(rest) {
            Some(len) => {
                any = true;
                rest = &rest[len..];
            }
            None if any && c.is_ascii_punctuation() => rest = &rest[c.len_utf8()..],
            None => return false,
        }
    }
    any
}

/// Returns the length of the placeholder that begins a text.
fn one(text: &str) -> Option<usize> {
    let pair = PAIRS.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?;
        let end = inner.find(close).filter(|end| *end > 0 || *open == "{")?;
        Some(open.len() + end + close.len())
    });
    if let Some(len) = pair {
        // `%(name)s` of Python.
        let is_python = text.starts_with("%(") && text[len..].starts_with(['s', 'd', 'r']);
        return Some(len + usize::from(is_python));
    }
    let mut chars = text.chars();
    match chars.next()? {
        '$' => variable(chars.as_str()).map(|len| len + 1),
        '%' => percent(chars.as_str()).map(|len| len + 1),
        _ => None,
    }
}

/// Returns the length of the name of a variable: in capitals, or one that tells of a secret.
fn variable(text: &str) -> Option<usize> {
    let name = &text[..name(text)];
    let capitals = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let lower = name.to_ascii_lowercase();
    let telling = NAMES.iter().any(|word| lower.contains(word));
    (!name.is_empty() && (capitals || telling)).then_some(name.len())
}

/// Returns the length of what follows the `%` of `%PW%` or `%s`.
fn percent(text: &str) -> Option<usize> {
    let name = name(text);
    if name > 0 && text[name..].starts_with('%') {
        return Some(name + 1);
    }
    let verb = text.starts_with(['s', 'd', 'v', 'q', 'r', '@']);
    (verb && name <= 1).then_some(1)
}

/// Returns the length of the identifier that begins a text.
fn name(text: &str) -> usize {
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let digit = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit());
    if digit {
        0
    } else {
        text.bytes().take_while(of_name).count()
    }
}
