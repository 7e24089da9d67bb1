//! Messages that several layers make together: their rules, checked against the layers.
//!
//! What stands around several sections must be in a message, so that nothing of a prompt of messages is lost.

use std::collections::BTreeMap;

use toml::Spanned;

use super::file::{LayerFile, MessageFile};
use super::parse::{RecipeReader, check_frame};
use super::{Frame, MessageRule, Shape};
use crate::Error;
use crate::section::Role;

/// Checks the messages of a recipe and what its layers say of them.
pub(super) fn messages(
    reader: &RecipeReader<'_>,
    shape: Shape,
    files: BTreeMap<String, Spanned<MessageFile>>,
    layers: &[Spanned<LayerFile>],
    frames: &BTreeMap<String, Frame>,
) -> Result<BTreeMap<String, MessageRule>, Error> {
    let mut rules = BTreeMap::new();
    for (name, file) in files {
        let span = file.span();
        let file = file.into_inner();
        if shape != Shape::Messages {
            let detail = "`messages` needs `shape = \"messages\"`";
            return Err(reader.bad(span, detail));
        }
        check_frame(reader, file.frame.as_ref(), frames)?;
        let named = |layer: &&Spanned<LayerFile>| layer.get_ref().named_message() == Some(&name);
        let mut members = layers.iter().filter(named);
        let Some(first) = members.next() else {
            let detail = format!("no layer has `message = \"{name}\"`");
            return Err(reader.bad(span, detail));
        };
        let role = first.get_ref().role;
        for member in members {
            one_role(reader, role, &name, member)?;
        }
        let rule = MessageRule {
            frame: file.frame.map(Spanned::into_inner),
            always: file.always,
        };
        rules.insert(name, rule);
    }
    side_by_side(reader, &rules, layers)?;
    Ok(rules)
}

fn one_role(
    reader: &RecipeReader<'_>,
    role: Role,
    name: &str,
    layer: &Spanned<LayerFile>,
) -> Result<(), Error> {
    if layer.get_ref().role == role {
        return Ok(());
    }
    let detail = format!("the layers of the message `{name}` have different roles");
    Err(reader.bad(layer.span(), detail))
}

/// Every message is known, and its layers follow each other.
fn side_by_side(
    reader: &RecipeReader<'_>,
    rules: &BTreeMap<String, MessageRule>,
    layers: &[Spanned<LayerFile>],
) -> Result<(), Error> {
    let mut ended: Vec<&str> = Vec::new();
    let mut last: Option<&str> = None;
    for layer in layers {
        let named = layer.get_ref().message.as_ref();
        let name = named.map(|named| named.get_ref().as_str());
        if last != name {
            ended.extend(last);
        }
        last = name;
        let (Some(named), Some(name)) = (named, name) else {
            continue;
        };
        if !rules.contains_key(name) {
            let error = reader.bad(named.span(), format!("no message named `{name}`"));
            return Err(error.expecting(name, rules.keys()));
        }
        if ended.contains(&name) {
            let detail = format!("the layers of the message `{name}` must follow each other");
            return Err(reader.bad(named.span(), detail));
        }
    }
    Ok(())
}

impl LayerFile {
    fn named_message(&self) -> Option<&String> {
        self.message.as_ref().map(Spanned::get_ref)
    }
}

#[cfg(test)]
mod tests {
    use crate::Recipe;
    use crate::recipe::Folder;

    const TOML: &str = "shape = \"messages\"\n[messages.task]\nframe = \"bare\"\n[[layers]]\nname = \"a\"\nmessage = \"task\"\ntext = \"A\"\n[[layers]]\nname = \"b\"\nmessage = \"task\"\nlist = \"bare\"\ntext = \"B\"\n[[layers]]\nname = \"c\"\ntext = \"C\"\n";

    fn error(toml: String) -> String {
        let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
        let parsed = Recipe::parse("mine", "mine", folder);
        parsed.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    }

    #[test]
    fn the_layers_of_a_message_are_side_by_side_and_of_one_role() {
        let cases = [
            (TOML.to_owned(), "fine"),
            (
                TOML.replace("shape = \"messages\"\n", "\n"),
                "mine/recipe.toml:2: `messages` needs `shape = \"messages\"`",
            ),
            (
                TOML.replace("[messages.task]", "[messages.tsk]"),
                "mine/recipe.toml:2: no layer has `message = \"tsk\"`",
            ),
            (
                TOML.replace("message = \"task\"\ntext", "message = \"tusk\"\ntext"),
                "mine/recipe.toml:6: no message named `tusk`",
            ),
            (
                TOML.replace("frame = \"bare\"", "frame = \"beer\""),
                "mine/recipe.toml:3: no frame named `beer`",
            ),
            (
                TOML.replace("name = \"c\"", "name = \"c\"\nmessage = \"task\"")
                    .replace(
                        "name = \"b\"\nmessage = \"task\"\nlist = \"bare\"",
                        "name = \"b\"",
                    ),
                "mine/recipe.toml:13: the layers of the message `task` must follow each other",
            ),
            (
                TOML.replace("name = \"b\"", "name = \"b\"\nrole = \"user\""),
                "mine/recipe.toml:8: the layers of the message `task` have different roles",
            ),
        ];
        for (toml, expected) in cases {
            assert_eq!(error(toml), expected);
        }
    }
}
