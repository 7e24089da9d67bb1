//! A prompt as a list of messages.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Prompt;
use crate::reading::Reading;
use crate::recipe::Shape;
use crate::section::Role;
use crate::source_map::SourceMap;

/// What one side of a conversation says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// The text.
    pub content: String,
}

/// How a prompt is cut into messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cut {
    /// The form in which the prompt is handed over.
    pub(crate) shape: Shape,
    /// What stands between joined system messages; only seals of the first layout have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) single_system: Option<String>,
    /// Who each message of a text is from, and where it stands with its frames. A list of messages says so itself.
    pub(crate) placed: Vec<(Role, Range<usize>)>,
}

impl Cut {
    /// Returns how a prompt is cut that was rendered with `map`.
    pub(crate) fn of(prompt: &Prompt, map: &SourceMap) -> Self {
        let placed = match prompt.shape {
            Shape::Text | Shape::System => map.messages.clone(),
            Shape::Messages => Vec::new(),
        };
        Self {
            shape: prompt.shape,
            single_system: None,
            placed,
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

    /// Returns the messages of a prompt.
    pub(crate) fn messages(&self, prompt: &str) -> Vec<Message> {
        match self.shape {
            Shape::Messages => {
                let reading = Reading::of(prompt);
                let messages = reading.messages().into_iter().flatten();
                messages
                    .map(|(role, content)| message(role, content))
                    .collect()
            }
            Shape::Text | Shape::System => {
                let merged = merged(self.placed.iter().cloned(), prompt.len()).into_iter();
                merged
                    .map(|(role, range)| message(role, &prompt[range]))
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
        assert_eq!(composition.text, expected);
        assert_eq!(composition.plain(), "Rules. / <a\n\"b\"> / N / M");
        assert_eq!(composition.manifest.bytes, expected.len());
        assert_eq!(composition.fingerprint(), crate::Fingerprint::of(expected));
        let map = &composition.source_map;
        assert_eq!(map.spans.last().unwrap().end, composition.text.len());
    }

    #[test]
    fn every_byte_of_the_json_is_mapped() {
        let input = json!({"joined": true, "task": "a\n\"b\"", "notes": "N\nO", "more": "M"});
        let composition = composed(&input, None).unwrap();
        let text = &composition.text;
        let spans = composition.source_map.spans.iter().map(|span| {
            let source = span.source_start.zip(span.source_end);
            let place = source.map(|(start, end)| (start, end, span.line.unwrap()));
            let (layer, source) = (span.layer.as_str(), span.source.as_str());
            let transform = span.transform.is_some();
            (&text[span.start..span.end], layer, source, place, transform)
        });
        let spans: Vec<_> = spans.collect();
        let frame = |text| (text, "frame", "frame", None, false);
        let of = |text, source, place, escaped| {
            let layer = source_layer(source);
            (text, layer, source, Some(place), escaped)
        };
        assert_eq!(
            spans,
            [
                frame(r#"[{"role":"system","content":""#),
                of("Rules.", "recipe:mine/rules", (0, 6, 1), false),
                frame(" / "),
                of("N", "input:notes", (0, 1, 1), false),
                of(r"\n", "input:notes", (1, 2, 1), true),
                of("O", "input:notes", (2, 3, 2), false),
                frame(" / "),
                of("M", "input:more", (0, 1, 1), false),
                frame(r#""},{"role":"user","content":""#),
                ("<", "task", "frame", None, false),
                of("a", "input:task", (0, 1, 1), false),
                of(r"\n", "input:task", (1, 2, 1), true),
                of(r#"\""#, "input:task", (2, 3, 2), true),
                of("b", "input:task", (3, 4, 2), false),
                of(r#"\""#, "input:task", (4, 5, 2), true),
                (">", "task", "frame", None, false),
                frame(r#""}]"#),
            ]
        );
        let sections = composition.manifest.sections.iter();
        let bodies: Vec<(&str, &str)> = sections
            .map(|section| (section.layer.as_str(), &text[section.start..section.end]))
            .collect();
        assert_eq!(
            bodies,
            [
                ("rules", "Rules."),
                ("notes", r"N\nO"),
                ("more", "M"),
                ("task", r#"a\n\"b\""#),
            ],
            "in the order of the bytes"
        );
    }

    fn source_layer(source: &str) -> &str {
        source.rsplit(['/', ':']).next().unwrap()
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
                assert_eq!(composition.text.len(), composition.manifest.bytes);
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
