//! The written forms of a text in a case.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::recipe::built_in;

/// The most bytes of all texts of a case: a few words of it must not fill the memory.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// A text of a case, in whichever form it was written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Text(Vec<u8>);

impl Text {
    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns it as text; what is not UTF-8 becomes the replacement character, which no prompt is compared with unnoticed.
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Returns the form in which a text is written: lines, where it has several.
    pub(super) fn written(text: &str) -> Value {
        if text.contains('\n') {
            text.split('\n').collect()
        } else {
            Value::from(text)
        }
    }
}

/// Returns how many bytes the texts in a value have at most, without making them.
pub(super) fn size(value: &Value) -> usize {
    let all = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(0, usize::saturating_add);
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => all(&mut values.iter().map(|value| size(value).saturating_add(1))),
        Value::Object(form) => match repeated(form) {
            Some((text, times)) => size(text).saturating_mul(times),
            None => all(&mut form.values().map(size)),
        },
        _ => 0,
    }
}

/// Returns the text that a form repeats, and how often.
fn repeated(form: &Map<String, Value>) -> Option<(&Value, usize)> {
    let [text, times] = form.get("repeat")?.as_array()?.as_slice() else {
        return None;
    };
    Some((text, usize::try_from(times.as_u64()?).ok()?))
}

impl TryFrom<Value> for Text {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        bytes(&value)
            .map(Self)
            .ok_or_else(|| format!("not a form of a text: {value}"))
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Array(lines) => {
            let lines: Option<Vec<Vec<u8>>> = lines.iter().map(bytes).collect();
            Some(lines?.join(&b'\n'))
        }
        Value::Object(form) if form.len() == 1 => {
            if let Some(hex) = form.get("hex") {
                let digits = hex.as_str()?.split_whitespace();
                return digits
                    .map(|byte| u8::from_str_radix(byte, 16).ok())
                    .collect();
            }
            if let Some(name) = form.get("template") {
                return template(name.as_str()?);
            }
            let (text, times) = repeated(form)?;
            let text = bytes(text)?;
            (text.len().checked_mul(times)? <= MOST_BYTES).then(|| text.repeat(times))
        }
        _ => None,
    }
}

/// Returns the text of a template of a built-in recipe, named `RECIPE/FILE`: without its header and blanks around.
fn template(name: &str) -> Option<Vec<u8>> {
    let (recipe, file) = name.rsplit_once('/')?;
    let text = built_in(recipe)?.ok()?.folder().get(file)?;
    let (_, body) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    Some(body.trim().as_bytes().to_vec())
}
