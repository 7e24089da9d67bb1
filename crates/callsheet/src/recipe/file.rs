//! The recipe file as it is written: every key that is allowed, and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::Spanned;

use super::{Frame, Limit, Notice, Shape};
use crate::prepare::Preparation;
use crate::redact::Level;
use crate::section::{Priority, Role, Trust, Volatility};
use crate::source::{
    CommandSource, FilesSource, GitDiffSource, GitFilesSource, GitLogSource, GitStatusSource,
    InstructionsSource,
};
use crate::template::Missing;

/// A recipe file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipeFile {
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) shape: Shape,
    pub(super) prepare: Option<Spanned<Preparation>>,
    #[serde(default = "blank_line")]
    pub(super) separator: String,
    #[serde(default = "strict")]
    pub(super) missing: Missing,
    pub(super) frame: Option<Spanned<String>>,
    pub(super) unique: Option<Spanned<String>>,
    pub(super) single_system: Option<Spanned<String>>,
    pub(super) marker: Option<String>,
    #[serde(default)]
    pub(super) redact: Level,
    pub(super) denies: Option<String>,
    pub(super) warning: Option<Limit>,
    pub(super) error: Option<Limit>,
    pub(super) empty: Option<Spanned<Notice>>,
    pub(super) schema: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) defaults: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default)]
    pub(super) messages: BTreeMap<String, Spanned<MessageFile>>,
    #[serde(default)]
    pub(super) frames: BTreeMap<String, Frame>,
    #[serde(default)]
    pub(super) layers: Vec<Spanned<LayerFile>>,
}

/// A message that several layers make together, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageFile {
    pub(super) frame: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) always: bool,
}

/// A layer as it is written; exactly one of its sources must be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayerFile {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) role: Role,
    pub(super) when: Option<Spanned<String>>,
    pub(super) text: Option<String>,
    pub(super) template: Option<Spanned<String>>,
    pub(super) value: Option<String>,
    pub(super) file: Option<String>,
    pub(super) files: Option<FilesSource>,
    pub(super) instructions: Option<InstructionsSource>,
    pub(super) tree: Option<Spanned<String>>,
    pub(super) git_status: Option<GitStatusSource>,
    pub(super) git_diff: Option<GitDiffSource>,
    pub(super) git_files: Option<GitFilesSource>,
    pub(super) git_log: Option<GitLogSource>,
    pub(super) command: Option<CommandSource>,
    pub(super) source: Option<String>,
    pub(super) frame: Option<Spanned<String>>,
    pub(super) list: Option<Spanned<String>>,
    pub(super) message: Option<Spanned<String>>,
    pub(super) section: Option<String>,
    pub(super) priority: Option<PriorityFile>,
    pub(super) volatility: Option<Volatility>,
    pub(super) trust: Option<Trust>,
    #[serde(default)]
    pub(super) cut: bool,
    #[serde(default)]
    pub(super) optional: bool,
}

/// What every recipe has without saying so.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommonFile {
    pub(super) marker: String,
    pub(super) frames: BTreeMap<String, Frame>,
}

fn blank_line() -> String {
    "\n\n".to_owned()
}

fn strict() -> Missing {
    Missing::Error
}

/// A priority as it is written: `"required"`, or a number.
pub(super) struct PriorityFile(pub(super) Priority);

impl<'de> Deserialize<'de> for PriorityFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RequiredOrNumber;
        impl Visitor<'_> for RequiredOrNumber {
            type Value = PriorityFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"required\" or a number from 0")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PriorityFile, E> {
                u32::try_from(number)
                    .map(|number| PriorityFile(Priority::Optional(number)))
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PriorityFile, E> {
                match text {
                    "required" => Ok(PriorityFile(Priority::Required)),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(RequiredOrNumber)
    }
}
