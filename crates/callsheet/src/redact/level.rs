//! How much redaction looks for.
//!
//! A recipe and a caller may both ask; the one that asks for more has its way.

use std::fmt;

use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{Key, Redactor, Rules};

/// What becomes a pseudonym; each level has all of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    Off,
    /// Secrets of known formats.
    Formats,
    /// Texts that look random, too.
    Entropy,
}

impl Level {
    /// Returns what takes secrets out, if any are looked for.
    pub fn redactor(self, key: Key, rules: &Rules) -> Option<Redactor> {
        let redactor = || Redactor::new(key).with_rules(rules.clone());
        match self {
            Self::Off => None,
            Self::Formats => Some(redactor()),
            Self::Entropy => Some(redactor().with_entropy()),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Formats => serializer.serialize_bool(true),
            Self::Entropy => serializer.serialize_str("entropy"),
        }
    }
}

/// `true`, `false` or `"entropy"`.
impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SwitchOrName;
        impl Visitor<'_> for SwitchOrName {
            type Value = Level;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"entropy\"")
            }

            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Level, E> {
                Ok(if on { Level::Formats } else { Level::Off })
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Level, E> {
                match name {
                    "entropy" => Ok(Level::Entropy),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(SwitchOrName)
    }
}
