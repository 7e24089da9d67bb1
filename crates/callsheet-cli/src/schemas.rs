//! The JSON Schemas of the files that people write, and the lines by which editors find them.
//!
//! A schema stands in the project, so that an editor needs no network; in a hidden folder, so that no prompt has it by a
//! glob. One that is there already is left alone.

use callsheet::{Root, recipe};

use crate::failure::Failure;
use crate::output::{make_below, write_below};
use crate::settings;

/// The folder of a project's schemas.
const FOLDER: &str = "callsheet/.schemas";

/// A file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Described {
    /// `recipe.toml`.
    Recipe,
    /// `callsheet.toml`.
    Settings,
}

impl Described {
    pub(crate) const ALL: [Self; 2] = [Self::Settings, Self::Recipe];

    /// Returns the word for it, which can be the name of no new recipe.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Recipe => "recipe",
            Self::Settings => "settings",
        }
    }

    /// Returns the one of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns its JSON Schema.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Self::Recipe => recipe::SCHEMA,
            Self::Settings => settings::SCHEMA,
        }
    }

    /// Returns where the schema stands in a project.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Recipe => "callsheet/.schemas/recipe.json",
            Self::Settings => "callsheet/.schemas/settings.json",
        }
    }

    /// Returns a file with a first line that names its schema; `path` is where it will stand.
    pub(crate) fn linked(self, path: &str, text: &str) -> String {
        let schema = match path.strip_prefix("callsheet/") {
            Some(below) => {
                let up = "../".repeat(below.matches('/').count());
                format!("{up}{}", self.path().trim_start_matches("callsheet/"))
            }
            None => self.path().to_owned(),
        };
        format!("#:schema {schema}\n{text}")
    }

    /// Writes the schema into a project, unless one is there; tells whether it did.
    pub(crate) fn write(self, root: &Root) -> Result<bool, Failure> {
        make_below(root, FOLDER)?;
        let is_there = root.has(self.path());
        if !is_there {
            write_below(root, self.path(), self.schema())?;
        }
        Ok(!is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_schema_by_a_relative_path() {
        let line = |described: Described, path| described.linked(path, "");
        assert_eq!(
            line(Described::Settings, "callsheet.toml"),
            "#:schema callsheet/.schemas/settings.json\n"
        );
        assert_eq!(
            line(Described::Recipe, "callsheet/recipes/mine/recipe.toml"),
            "#:schema ../../.schemas/recipe.json\n"
        );
        assert_eq!(
            line(
                Described::Recipe,
                "callsheet/recipes/sprint/dev/recipe.toml"
            ),
            "#:schema ../../../.schemas/recipe.json\n"
        );
    }
}
