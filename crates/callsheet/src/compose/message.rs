//! A prompt as a list of messages.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Prompt;
use crate::recipe::Shape;
use crate::section::Role;
use crate::source_map::SourceMap;

/// What one side of a conversation says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// How a text is cut into messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cut {
    /// The form in which the prompt is handed over.
    pub(crate) shape: Shape,
    /// Whether all system messages are joined into one, and with what between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    single_system: Option<String>,
    /// Who each message is from, and where it stands with its frames.
    placed: Vec<(Role, Range<usize>)>,
}

impl Cut {
    /// Returns how a prompt is cut that was rendered with `map`.
    pub(crate) fn of(prompt: &Prompt, map: &SourceMap) -> Self {
        Self {
            shape: prompt.shape,
            single_system: prompt.single_system.then(|| prompt.outer.separator.clone()),
            placed: map.messages.clone(),
        }
    }

    /// Tells whether the messages stand in a text, one after the other.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let mut end = 0;
        self.placed.iter().all(|(_, range)| {
            let follows = range.start >= end && text.get(range.clone()).is_some();
            end = range.end;
            follows
        })
    }

    /// Returns the bytes that are handed over for a prompt that was rendered to `text`.
    pub(crate) fn handed_over<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.shape {
            Shape::Text | Shape::System => Cow::Borrowed(text),
            // Roles and texts only: serialising them cannot fail.
            Shape::Messages => {
                Cow::Owned(serde_json::to_string(&self.messages(text)).unwrap_or_default())
            }
        }
    }

    /// Returns the messages of a prompt that was rendered to `text`.
    pub(crate) fn messages(&self, text: &str) -> Vec<Message> {
        let placed = self.placed.iter().cloned();
        match self.shape {
            Shape::Messages => {
                let messages = placed.map(|(role, range)| message(role, &text[range]));
                match &self.single_system {
                    Some(separator) => joined(messages, separator),
                    None => messages.collect(),
                }
            }
            Shape::Text | Shape::System => {
                let merged = merged(placed, text.len()).into_iter();
                merged
                    .map(|(role, range)| message(role, &text[range]))
                    .collect()
            }
        }
    }
}

fn message(role: Role, content: &str) -> Message {
    Message {
        role,
        content: content.to_owned(),
    }
}

/// Joins all system messages in the place of the first one.
fn joined(messages: impl Iterator<Item = Message>, separator: &str) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        let first = out.iter_mut().find(|other| other.role == Role::System);
        match first {
            Some(first) if message.role == Role::System => {
                first.content.push_str(separator);
                first.content.push_str(&message.content);
            }
            _ => out.push(message),
        }
    }
    out
}

/// Makes one range of consecutive sections of one role; the first and the last reach to the ends of the text.
fn merged(
    placed: impl Iterator<Item = (Role, Range<usize>)>,
    len: usize,
) -> Vec<(Role, Range<usize>)> {
    let mut messages: Vec<(Role, Range<usize>)> = Vec::new();
    for (role, range) in placed {
        match messages.last_mut() {
            Some((last, whole)) if *last == role => whole.end = range.end,
            _ => messages.push((role, range)),
        }
    }
    if let Some((_, first)) = messages.first_mut() {
        first.start = 0;
    }
    if let Some((_, last)) = messages.last_mut() {
        last.end = len;
    }
    messages
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::recipe::Folder;
    use crate::{Budget, Composition, Error, Inputs, Options, Recipe, Role, compose};

    const TOML: &str = r#"
        shape = "messages"
        separator = " / "
        single_system = "joined"
        [frames.quote]
        open = "<"
        close = ">"
        [[layers]]
        name = "rules"
        text = "Rules."
        [[layers]]
        name = "task"
        role = "user"
        value = "task"
        frame = "quote"
        [[layers]]
        name = "notes"
        value = "notes"
        priority = 5
        [[layers]]
        name = "more"
        value = "more"
        priority = 4
    "#;

    fn parsed(toml: &str) -> Result<Recipe, Error> {
        let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
        Recipe::parse("mine", "callsheet/recipes/mine", folder)
    }

    fn composed(input: &Value, bytes: Option<usize>) -> Result<Composition, Error> {
        let options = Options {
            budget: Budget {
                bytes,
                tokens: None,
            },
            ..Options::default()
        };
        compose(&parsed(TOML)?, input, &Inputs::nowhere(), &options)
    }

    #[test]
    fn every_section_is_a_message_and_the_bytes_are_compact_json() {
        let input = json!({"joined": false, "task": "a\n\"b\"", "notes": "N", "more": "M"});
        let composition = composed(&input, None).unwrap();
        let expected = r#"[{"role":"system","content":"Rules."},{"role":"user","content":"<a\n\"b\">"},{"role":"system","content":"N"},{"role":"system","content":"M"}]"#;
        assert_eq!(composition.rendered(), expected);
        assert_eq!(composition.text, "Rules. / <a\n\"b\"> / N / M");
        assert_eq!(composition.manifest.bytes, expected.len());
        assert_eq!(composition.fingerprint(), crate::Fingerprint::of(expected));
        let map = &composition.source_map;
        assert_eq!(map.spans.last().unwrap().end, composition.text.len());
    }

    #[test]
    fn system_messages_can_be_joined_in_the_place_of_the_first() {
        let input = json!({"joined": true, "task": "t", "notes": "N", "more": "M"});
        let messages = composed(&input, None).unwrap().messages();
        let texts: Vec<(Role, &str)> = messages
            .iter()
            .map(|message| (message.role, message.content.as_str()))
            .collect();
        assert_eq!(
            texts,
            [(Role::System, "Rules. / N / M"), (Role::User, "<t>")]
        );
    }

    #[test]
    fn a_budget_counts_what_is_handed_over() {
        for joined in [false, true] {
            let input = json!({"joined": joined, "task": "t\n", "notes": "N\n\n", "more": "\"M\""});
            let whole = composed(&input, None).unwrap().manifest.bytes;
            assert!(
                composed(&input, Some(whole))
                    .unwrap()
                    .manifest
                    .omissions
                    .is_empty()
            );
            let mut kept = 4;
            for most in (0..whole).rev() {
                let Ok(composition) = composed(&input, Some(most)) else {
                    assert_eq!(kept, 2, "required messages stay");
                    break;
                };
                assert!(composition.manifest.bytes <= most);
                assert_eq!(composition.rendered().len(), composition.manifest.bytes);
                kept = composition.manifest.sections.len();
                assert_eq!(kept + composition.manifest.losses().count(), 4);
            }
        }
    }

    #[test]
    fn text_outside_of_messages_is_refused() {
        for (toml, line) in [
            (
                TOML.replace("single_system = \"joined\"", "frame = \"quote\""),
                4,
            ),
            (TOML.replace("priority = 5", "list = \"quote\""), 19),
        ] {
            let error = parsed(&toml).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "callsheet/recipes/mine/recipe.toml:{line}: a recipe of messages has no frame around several sections; every section is one message"
                )
            );
        }
    }
}
