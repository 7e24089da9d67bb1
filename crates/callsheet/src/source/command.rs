//! What a command of the project prints; which program that is, the project says, and the observer runs it.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::{Gathered, Read, Source, World, git};
use crate::Error;
use crate::observe::Question;
use crate::recipe::Layer;
use crate::template::TemplateSet;

/// The output of a command, by the name that the project gave it.
#[derive(Clone, Debug)]
pub(crate) struct CommandSource(Named);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    /// Whether the output counts although the command failed.
    #[serde(default)]
    any_exit: bool,
}

impl Source for CommandSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let question = Question::Command {
            name: self.0.name.clone(),
            any_exit: self.0.any_exit,
        };
        let answered = git::answered(&question, layer, world, out);
        answered.map_err(|error| error.at(world.recipe.file(), None))
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Vec::new())
    }
}

/// A command is written as its name, or as a table with more to say.
impl<'de> Deserialize<'de> for CommandSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = CommandSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a command, or a table with `name` and `any_exit`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<CommandSource, E> {
                Ok(CommandSource(Named {
                    name: name.to_owned(),
                    any_exit: false,
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CommandSource, A::Error> {
                Named::deserialize(MapAccessDeserializer::new(map)).map(CommandSource)
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}
