//! Cases: a composition with its exact result, as JSON that knows nothing of Rust.
//!
//! The conformance corpus and the tests of a recipe of one's own have this one format, which `tests/compose/README.md`
//! describes. Nothing here touches the disk: [`Case::entries`] says what stands in the root.

mod difference;
mod text;
mod update;

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::{Value, json};

pub use self::text::Text;
use crate::document;
use crate::observe::{Observer, Question};
use crate::omission::{Reason, Refusal};
use crate::{Budget, Composition, Error, ErrorKind, Options};

/// The folder that is the root of a case, in an otherwise empty one.
pub const ROOT: &str = "root";

/// A composition with its exact result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows, in a sentence.
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    files: BTreeMap<String, Text>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// The files of a recipe that the case brings along, instead of one that is there.
    #[serde(default)]
    pub recipe: BTreeMap<String, Text>,
    #[serde(default)]
    observed: Vec<Observed>,
    /// The input document.
    pub input: Value,
    #[serde(default)]
    options: CaseOptions,
    expected: Option<Text>,
    messages: Option<Vec<CaseMessage>>,
    error: Option<Text>,
    #[serde(default = "none")]
    events: Value,
    #[serde(default = "none")]
    omissions: Value,
    #[serde(default = "none")]
    tools: Value,
}

/// What stands at a path of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A file with its bytes.
    File(&'a [u8]),
    /// An empty folder.
    Folder,
    /// A symbolic link with what it says.
    Link(&'a str),
}

/// A question with its answer, or with the reason why there is none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    question: Question,
    answer: Option<Text>,
    refused: Option<Refusal>,
}

/// Fails where the texts of a case are too long together; `repeat` makes long ones of few words.
fn check_size(case: &Value) -> Result<(), String> {
    const NO_TEXTS: [&str; 4] = ["input", "events", "omissions", "tools"];
    let fields = case.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !NO_TEXTS.contains(&name.as_str()));
    let sizes = fields.map(|(_, value)| text::size(value));
    if sizes.fold(0, usize::saturating_add) > text::MOST_BYTES {
        return Err(format!(
            "its texts have more than {} bytes in all",
            text::MOST_BYTES
        ));
    }
    Ok(())
}

/// What a case may spend.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseOptions {
    byte_budget: Option<usize>,
    token_budget: Option<usize>,
}

/// A message that a case expects.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseMessage {
    role: String,
    content: Text,
}

/// Answers what a case says, and nothing else.
#[derive(Clone, Debug)]
pub struct Witness(Vec<Observed>);

impl Observer for Witness {
    fn observe(&self, question: &Question, _: u64) -> Result<Vec<u8>, Refusal> {
        let mut observed = self.0.iter();
        let found = observed.find(|observed| observed.question == *question);
        let why = match found.map(|found| (&found.answer, &found.refused)) {
            Some((Some(text), None)) => return Ok(text.bytes().to_vec()),
            Some((None, Some(refusal))) => return Err(refusal.clone()),
            Some(_) => "an observation needs one of `answer` and `refused`",
            None => "the case does not answer it",
        };
        Err(Refusal::new(Reason::Unavailable).because(why))
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

fn none() -> Value {
    json!([])
}

impl Case {
    /// Reads a case; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let bad = |line, detail: String| Error::new(ErrorKind::BadInput, detail).at(file, line);
        let value = document::json(text)
            .map_err(|malformed| bad(malformed.line, format!("bad JSON: {}", malformed.reason)))?;
        check_size(&value).map_err(|detail| bad(None, detail))?;
        let case: Self = serde_json::from_value(value)
            .map_err(|error| bad(None, document::plain_words(&error.to_string(), "an object")))?;
        case.check_paths().map_err(|detail| bad(None, detail))?;
        Ok(case)
    }

    /// Returns what stands in the root, by paths that are relative to it, in the order in which it is made; a path may begin
    /// with one `../`, to lie beside the root.
    pub fn entries(&self) -> Vec<(&str, Entry<'_>)> {
        let folders = self.folders.iter().map(|path| (&**path, Entry::Folder));
        let files = self.files.iter();
        let files = files.map(|(path, text)| (&**path, Entry::File(text.bytes())));
        let links = self.links.iter();
        let links = links.map(|(path, target)| (&**path, Entry::Link(target)));
        folders.chain(files).chain(links).collect()
    }

    /// Fails for a path that leaves the folder around the root, or that leads through a link.
    fn check_paths(&self) -> Result<(), String> {
        let entries = self.entries();
        for (path, _) in &entries {
            let below = path.strip_prefix("../").unwrap_or(path);
            let mut parts = Path::new(below).components();
            if below.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
                return Err(format!("`{path}` is not a path of a case"));
            }
            let through = |link: &&String| Path::new(path).starts_with(link) && path != *link;
            if let Some(link) = self.links.keys().find(through) {
                return Err(format!("`{path}` leads through the link `{link}`"));
            }
        }
        Ok(())
    }

    /// Returns how the case is composed.
    pub fn options(&self) -> Options {
        Options {
            budget: Budget {
                bytes: self.options.byte_budget,
                tokens: self.options.token_budget,
            },
            ..Options::default()
        }
    }

    /// Returns what answers for the repository and for commands.
    pub fn witness(&self) -> Witness {
        Witness(self.observed.clone())
    }

    /// Returns everything in which a composition differs from what the case says, a text each.
    pub fn differences(&self, composed: Result<&Composition, &Error>) -> Vec<String> {
        let composition = match (self.bytes(), &self.error, composed) {
            (Some(_), None, Ok(composition)) => composition,
            (None, Some(expected), Err(error)) => {
                let found = difference::texts("error", &expected.lossy(), &error.to_string());
                return found.into_iter().collect();
            }
            (Some(_), None, Err(error)) => {
                let found = difference::quoted('+', &error.to_string());
                return vec![format!("  expected a prompt, found the error:\n{found}")];
            }
            (None, Some(_), Ok(composition)) => {
                let found = difference::quoted('+', &composition.text);
                return vec![format!("  expected an error, found the prompt:\n{found}")];
            }
            _ => return vec!["a case needs one of `expected`, `messages` and `error`".to_owned()],
        };
        let prompt = difference::texts(
            "prompt",
            &self.bytes().unwrap_or_default(),
            &composition.text,
        );
        let told = Reported::of(composition);
        let values = [
            ("events", &self.events, &told.events),
            ("omissions", &self.omissions, &told.omissions),
            ("tools", &self.tools, &told.tools),
        ];
        let values = values
            .into_iter()
            .filter_map(|(what, expected, found)| difference::values(what, expected, found));
        prompt.into_iter().chain(values).collect()
    }

    /// Returns the exact bytes that the case expects.
    fn bytes(&self) -> Option<String> {
        let Some(messages) = &self.messages else {
            return self.expected.as_ref().map(Text::lossy);
        };
        let messages = messages.iter();
        let messages: Vec<Value> = messages
            .map(|message| json!({"role": message.role, "content": message.content.lossy()}))
            .collect();
        Some(Value::from(messages).to_string())
    }
}

/// What a composition tells beside its bytes, in the words of cases.
struct Reported {
    events: Value,
    omissions: Value,
    tools: Value,
}

impl Reported {
    fn of(composition: &Composition) -> Self {
        let omissions = composition.manifest.omissions.iter();
        let omissions = omissions.map(|lost| {
            let mut told = json!({"layer": lost.layer, "name": lost.name, "reason": lost.reason});
            if let Some(loss) = lost.loss {
                told["loss"] = json!(loss);
            }
            told
        });
        Self {
            events: json!(composition.events),
            omissions: omissions.collect(),
            tools: json!(composition.prompt.tools),
        }
    }
}

#[cfg(test)]
mod tests;
