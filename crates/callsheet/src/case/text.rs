//! The written forms of a text in a case.

use serde::Deserialize;
use serde_json::Value;

use crate::recipe::built_in;

/// The most bytes of one text: a few words of a case must not fill the memory.
const MOST_BYTES: usize = 64 << 20;

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
            let [text, times] = form.get("repeat")?.as_array()?.as_slice() else {
                return None;
            };
            let (text, times) = (bytes(text)?, usize::try_from(times.as_u64()?).ok()?);
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
