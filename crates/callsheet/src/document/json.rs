//! JSON as a value that prints as it was written: the digits of numbers stay, and a key that is there twice is an error.
//!
//! Takes what RFC 8259 takes, and nothing else: no comments, no trailing commas.

use serde_json::{Map, Value};

use super::number::number;
use super::{DEPTH_LIMIT, Malformed, too_deep};

/// Returns the value of a JSON text; a byte order mark may stand before it.
///
/// ```
/// let value = callsheet::document::json(r#"{"id": 12345678901234567890123, "price": 1.10}"#)?;
/// assert_eq!(value.to_string(), r#"{"id":12345678901234567890123,"price":1.10}"#);
///
/// let twice = callsheet::document::json("{\n\"id\": 1,\n\"id\": 2\n}").unwrap_err();
/// assert_eq!(twice.to_string(), "line 3: the key `id` is there twice, first in line 2");
/// # Ok::<(), callsheet::document::Malformed>(())
/// ```
pub fn json(text: &str) -> Result<Value, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = JsonReader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        let found = reader.found();
        return Err(reader.malformed(format!("expected the end of the text, found {found}")));
    }
    Ok(value)
}

struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

impl JsonReader<'_> {
    fn malformed(&self, reason: impl Into<String>) -> Malformed {
        Malformed::at(crate::error::line_of(self.text, self.at), reason)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes the next byte that is not blank, if it is this one.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    /// Returns what stands here, for a message.
    fn found(&self) -> String {
        let rest = &self.text[self.at..];
        let word = rest.split(|c: char| !c.is_alphanumeric() && !"_-+.".contains(c));
        match word.into_iter().next().filter(|word| !word.is_empty()) {
            Some(word) => format!("`{}`", word.chars().take(40).collect::<String>()),
            None if rest.starts_with("//") || rest.starts_with("/*") => "a comment".to_owned(),
            None => match rest.chars().next() {
                Some(c) if c.is_control() => format!("`{}`", c.escape_debug()),
                Some(c) => format!("`{c}`"),
                None => "the end of the text".to_owned(),
            },
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.skip_blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth == DEPTH_LIMIT => Err(self.malformed(too_deep())),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Malformed> {
        for (word, value) in [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ] {
            let rest = self.text[self.at..].strip_prefix(word);
            if rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.malformed(match self.peek() {
            Some(b'\'') => "texts stand in double quotes, not in single ones".to_owned(),
            _ => format!("expected a value, found {}", self.found()),
        }))
    }

    fn number(&mut self) -> Result<Value, Malformed> {
        let rest = &self.text[self.at..];
        let len = rest
            .find(|c: char| !c.is_alphanumeric() && !"_-+.".contains(c))
            .unwrap_or(rest.len());
        let Some(found) = number(&rest[..len]) else {
            let hint = match rest.trim_start_matches('-').as_bytes() {
                [b'0', b'0'..=b'9', ..] => ": it begins with a zero; put it in quotes to keep it",
                _ => "",
            };
            return Err(self.malformed(format!("{} is not a number{hint}", self.found())));
        };
        self.at += len;
        Ok(Value::Number(found))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Malformed> {
        let opened = self.at;
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.closed(b']', opened)? {
                return Ok(Value::Array(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Malformed> {
        let opened = self.at;
        self.at += 1;
        let mut fields = Map::new();
        let mut places = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            self.skip_blanks();
            let place = self.at;
            let key = self.key(opened)?;
            if fields.contains_key(&key) {
                let first = fields.keys().position(|known| *known == key);
                let first = first.and_then(|first| places.get(first).copied());
                self.at = place;
                return Err(self.twice(&key, first));
            }
            if !self.take(b':') {
                let found = self.found();
                return Err(
                    self.malformed(format!("expected `:` after the key `{key}`, found {found}"))
                );
            }
            let value = self.value(depth)?;
            fields.insert(key, value);
            places.push(place);
            if self.closed(b'}', opened)? {
                return Ok(Value::Object(fields));
            }
        }
    }

    fn key(&mut self, opened: usize) -> Result<String, Malformed> {
        match self.peek() {
            Some(b'"') => self.string(),
            None => Err(self.unclosed(b'}', opened)),
            _ => {
                let found = self.found();
                Err(self.malformed(format!("expected a key in double quotes, found {found}")))
            }
        }
    }

    fn twice(&self, key: &str, first: Option<usize>) -> Malformed {
        let line = |at| crate::error::line_of(self.text, at);
        Malformed::twice(key, first.map(line), Some(line(self.at)))
    }

    /// Takes what follows a value: a comma, or the end of what it is in.
    fn closed(&mut self, close: u8, opened: usize) -> Result<bool, Malformed> {
        if self.take(close) {
            return Ok(true);
        }
        let close_char = char::from(close);
        if !self.take(b',') {
            return Err(match self.peek() {
                None => self.unclosed(close, opened),
                Some(_) => {
                    let found = self.found();
                    self.malformed(format!(
                        "expected `,` or `{close_char}` after a value, found {found}"
                    ))
                }
            });
        }
        self.skip_blanks();
        match self.peek() {
            Some(byte) if byte == close => {
                Err(self.malformed(format!("a comma stands before `{close_char}`")))
            }
            None => Err(self.unclosed(close, opened)),
            _ => Ok(false),
        }
    }

    fn unclosed(&self, close: u8, opened: usize) -> Malformed {
        let what = if close == b'}' { "object" } else { "list" };
        let line = crate::error::line_of(self.text, opened);
        let close = char::from(close);
        self.malformed(format!(
            "the text ends before the `{close}` of the {what} that begins in line {line}"
        ))
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let opened = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(len) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') else {
                self.at = opened;
                return Err(self.malformed("a text has no closing quote"));
            };
            out.push_str(&rest[..len]);
            self.at += len;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(b'\n' | b'\r') => {
                    self.at = opened;
                    return Err(
                        self.malformed("a text goes over the end of its line; write `\\n` there")
                    );
                }
                other => {
                    let code = u32::from(other.unwrap_or_default());
                    return Err(self.malformed(format!(
                        "a text has a control character; write it as `\\u{code:04x}`"
                    )));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        let rest = &self.text[self.at + 1..];
        let Some(letter) = rest.chars().next() else {
            return Err(self.malformed("a text has no closing quote"));
        };
        let plain = match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.code_point(),
            other => {
                return Err(self.malformed(format!(
                    "`\\{}` is not an escape; a backslash is written `\\\\`",
                    other.escape_debug()
                )));
            }
        };
        self.at += 2;
        Ok(plain)
    }

    fn code_point(&mut self) -> Result<char, Malformed> {
        let Some(high) = self.code_unit() else {
            return Err(self.malformed("`\\u` needs four hexadecimal digits"));
        };
        let low = match high {
            0xd800..=0xdbff => self.code_unit(),
            _ => None,
        };
        let units = [Some(high), low];
        let mut read = char::decode_utf16(units.into_iter().flatten());
        match (read.next(), read.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => Err(self.malformed(format!(
                "`\\u{high:04x}` is one half of a character of two halves"
            ))),
        }
    }

    /// Takes one `\uXXXX`.
    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 6)?.strip_prefix("\\u")?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unit = hex.then(|| u16::from_str_radix(digits, 16).ok())??;
        self.at += 6;
        Some(unit)
    }
}
