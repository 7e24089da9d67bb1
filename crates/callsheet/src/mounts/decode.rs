//! Texts with their escapes taken away, as far as they have any.

/// Returns the text with `%2F` and the like decoded; nothing if there is none.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut found = false;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
                found = true;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    found.then(|| String::from_utf8_lossy(&out).into_owned())
}

/// Returns the text with the escapes of JSON strings decoded; nothing if there is none.
pub(super) fn json_decoded(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return None;
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let code = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        let code = code.and_then(|code| u16::from_str_radix(code, 16).ok());
        let escaped = rest
            .strip_prefix('\\')
            .and_then(|rest| rest.chars().next())
            .and_then(unescaped);
        let len = if let Some(unit) = code {
            units.push(unit);
            6
        } else {
            let (c, len) = escaped.map_or((c, c.len_utf8()), |escaped| (escaped, 2));
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            len
        };
        rest = &rest[len..];
    }
    Some(String::from_utf16_lossy(&units))
}

/// Returns what a letter after a backslash stands for.
fn unescaped(letter: char) -> Option<char> {
    match letter {
        '"' | '\\' | '/' => Some(letter),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        _ => None,
    }
}
