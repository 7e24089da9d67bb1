//! The project that a call is about: its root, and the settings of its `callsheet.toml`.
//!
//! They are read with every call, as the program does: nothing is kept that could be stale.

use std::path::PathBuf;

use callsheet::inputs::Disk;
use callsheet::recipe::{self, Found};
use callsheet::settings::{self, FILE, PromptSettings, Trust, VARIABLES};
use callsheet::{Error, Inputs, Root};
use serde_json::Value;

/// What the environment says: variables that override settings, with their values, and whose settings are taken.
#[derive(Debug)]
pub(crate) struct Variables {
    set: Vec<(&'static str, String)>,
    trust: Trust,
}

impl Variables {
    /// Reads them. Only a thread that holds on to Python may: others could be changing them.
    pub(crate) fn read(_: pyo3::Python<'_>) -> Self {
        // A variable that is not text cannot be one of ours.
        let set = VARIABLES.iter().filter_map(|name| {
            let value = std::env::var(name).ok()?;
            Some((*name, value))
        });
        Self {
            set: set.collect(),
            trust: Trust::new(|name| std::env::var(name).ok()),
        }
    }
}

/// A directory that may be read, and what its settings say.
#[derive(Debug, Default)]
pub(crate) struct Project {
    root: Option<Root>,
    settings: PromptSettings,
}

impl Project {
    /// Makes a project without any directory or settings.
    pub(crate) fn nowhere() -> Self {
        Self::default()
    }

    /// Opens a project.
    pub(crate) fn open(root: PathBuf, variables: &Variables) -> Result<Self, Error> {
        Self::at(Root::open(root)?, variables)
    }

    /// Opens a project whose directory may be missing: then it has nothing.
    pub(crate) fn find(root: PathBuf, variables: &Variables) -> Result<Self, Error> {
        match Disk::default().find(&root)? {
            Some(root) => Self::at(root, variables),
            None => Self::of(Root::absent(root)?, None, variables),
        }
    }

    fn at(root: Root, variables: &Variables) -> Result<Self, Error> {
        let text = settings::read(&root, &variables.trust)?;
        Self::of(root, text, variables)
    }

    fn of(root: Root, text: Option<String>, variables: &Variables) -> Result<Self, Error> {
        let mut settings = match text {
            Some(text) => PromptSettings::parse(&text, FILE)?,
            None => PromptSettings::default(),
        };
        for (name, value) in &variables.set {
            settings.set_variable(name, value)?;
        }
        let root = settings.limited(root);
        settings.check_recipes(&root)?;
        Ok(Self {
            root: Some(root),
            settings,
        })
    }

    /// Returns what its settings say.
    pub(crate) fn settings(&self) -> &PromptSettings {
        &self.settings
    }

    /// Returns what may help where the input of a recipe is wrong.
    pub(crate) fn hint(&self, recipe: &str) -> Option<String> {
        let sets = self.settings.recipes.contains_key(recipe);
        sets.then(|| format!("`{FILE}` sets fields of this recipe, too"))
    }

    /// Finds a recipe: the project's own first, then the built-in ones.
    pub(crate) fn recipe(&self, name: &str) -> Result<Found, Error> {
        recipe::find(name, self.root.as_ref())
    }

    /// Fills fields that an input does not set from the settings.
    pub(crate) fn complete(&self, found: &Found, input: &mut Value) -> Result<(), Error> {
        match (&self.root, input) {
            (Some(root), Value::Object(fields)) => {
                self.settings.complete(found.recipe(), root, fields)
            }
            _ => Ok(()),
        }
    }

    /// Returns what a composition may look at.
    pub(crate) fn into_inputs(self) -> Inputs {
        self.root.map_or_else(Inputs::nowhere, Inputs::new)
    }
}
