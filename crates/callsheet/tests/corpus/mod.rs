//! The shape of a case of the conformance corpus, and the files it asks for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use callsheet::observe::{Observer, Question};
use callsheet::omission::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};

/// A composition with its exact result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What it shows, in a sentence.
    pub(crate) description: String,
    /// Files by their path from the root.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Text>,
    /// Empty folders by their path from the root.
    #[serde(default)]
    pub(crate) folders: Vec<String>,
    /// Symbolic links: their path from the root, and what they point to.
    #[serde(default)]
    pub(crate) links: BTreeMap<String, String>,
    /// The files of a recipe of one's own, instead of the built-in one.
    #[serde(default)]
    pub(crate) recipe: BTreeMap<String, Text>,
    /// What the repository and commands answer, instead of asking them.
    #[serde(default)]
    pub(crate) observed: Vec<Observed>,
    /// The input document.
    pub(crate) input: Value,
    /// What may be spent.
    #[serde(default)]
    pub(crate) options: CaseOptions,
    /// The exact bytes of the prompt.
    pub(crate) expected: Option<Text>,
    /// The exact messages, instead of the bytes that they make.
    pub(crate) messages: Option<Vec<CaseMessage>>,
    /// The exact text of the error.
    pub(crate) error: Option<Text>,
    /// The events, in order.
    #[serde(default = "none")]
    pub(crate) events: Value,
    /// What is not in the prompt, in order.
    #[serde(default = "none")]
    pub(crate) omissions: Value,
    /// The tools, in order.
    #[serde(default = "none")]
    pub(crate) tools: Value,
}

/// A question with its answer, or with the reason why there is none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Observed {
    question: Question,
    answer: Option<Text>,
    refused: Option<Refusal>,
}

/// Answers what a case says, and nothing else.
#[derive(Debug)]
pub(crate) struct Witness(pub(crate) Vec<Observed>);

impl Observer for Witness {
    fn observe(&self, question: &Question, _: u64) -> Result<Vec<u8>, Refusal> {
        let mut observed = self.0.iter();
        let found = observed.find(|observed| observed.question == *question);
        let found = found.unwrap_or_else(|| panic!("the case has no answer to {question:?}"));
        match (&found.answer, &found.refused) {
            (Some(text), None) => Ok(text.0.clone()),
            (None, Some(refusal)) => Err(refusal.clone()),
            _ => panic!("an observation needs one of `answer` and `refused`"),
        }
    }

    fn commands(&self) -> Vec<String> {
        let commands = self
            .0
            .iter()
            .filter_map(|observed| match &observed.question {
                Question::Command { name, .. } => Some(name.clone()),
                _ => None,
            });
        commands.collect()
    }
}

/// A message that a case expects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseMessage {
    /// Who it is from.
    role: String,
    /// The exact text.
    content: Text,
}

impl Case {
    /// Returns the exact bytes that the case expects.
    pub(crate) fn bytes(&self) -> Option<String> {
        let Some(messages) = &self.messages else {
            return self.expected.as_ref().map(Text::utf8);
        };
        let messages: Vec<Value> = messages
            .iter()
            .map(|message| json!({"role": message.role, "content": message.content.utf8()}))
            .collect();
        Some(serde_json::to_string(&messages).unwrap())
    }
}

/// What a case may spend.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseOptions {
    /// The most bytes.
    pub(crate) byte_budget: Option<usize>,
    /// The most tokens.
    pub(crate) token_budget: Option<usize>,
}

fn none() -> Value {
    json!([])
}

/// A text in one of its written forms.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// Returns the text, which must be UTF-8.
    pub(crate) fn utf8(&self) -> String {
        String::from_utf8(self.0.clone()).unwrap()
    }
}

impl TryFrom<Value> for Text {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        bytes(&value)
            .map(Self)
            .ok_or_else(|| format!("no form of a text: {value}"))
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
            Some(bytes(text)?.repeat(usize::try_from(times.as_u64()?).ok()?))
        }
        _ => None,
    }
}

/// Returns the text of a template of a built-in recipe, named `RECIPE/FILE`: without its header and blanks around.
fn template(name: &str) -> Option<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
    let text = fs::read_to_string(folder.join(name)).ok()?;
    let (_, body) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    Some(body.trim().as_bytes().to_vec())
}

impl Case {
    /// Makes the root with everything the case wants in it.
    pub(crate) fn lay_out(&self, root: &Path) {
        fs::create_dir_all(root).unwrap();
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (path, text) in &self.files {
            fs::write(with_parent(root, path), &text.0).unwrap();
        }
        for (path, target) in &self.links {
            std::os::unix::fs::symlink(target, with_parent(root, path)).unwrap();
        }
    }
}

fn with_parent(root: &Path, path: &str) -> std::path::PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}
