//! The project that a call is about: its root, and the settings of its `callsheet.toml`.
//!
//! They are read with every call, as the program does: nothing is kept that could be stale.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use callsheet::inputs::Disk;
use callsheet::recipe::{self, Found};
use callsheet::settings::{FILE, PromptSettings, VARIABLES};
use callsheet::{Error, ErrorKind, Inputs, Root};
use serde_json::Value;

/// Variables of the environment that override settings, with their values.
#[derive(Debug)]
pub(crate) struct Variables(Vec<(&'static str, String)>);

impl Variables {
    /// Reads them. Only a thread that holds on to Python may: others could be changing them.
    pub(crate) fn read(_: pyo3::Python<'_>) -> Self {
        // A variable that is no text cannot be one of ours.
        let set = VARIABLES.iter().filter_map(|name| {
            let value = std::env::var(name).ok()?;
            Some((*name, value))
        });
        Self(set.collect())
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
        let text = settings_text(root.path())?;
        Self::of(root, text, variables)
    }

    fn of(root: Root, text: Option<String>, variables: &Variables) -> Result<Self, Error> {
        let mut settings = match text {
            Some(text) => PromptSettings::parse(&text, FILE)?,
            None => PromptSettings::default(),
        };
        for (name, value) in &variables.0 {
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

/// Reads the settings file, where there is one.
fn settings_text(root: &Path) -> Result<Option<String>, Error> {
    let bad = |kind, detail: &str| Error::new(kind, detail).at(FILE, None);
    let file = root.join(FILE);
    match std::fs::metadata(&file) {
        // A pipe of that name would be waited for.
        Ok(found) if !found.is_file() => {
            return Err(bad(ErrorKind::BadInput, "is no regular file"));
        }
        Err(cause) if cause.kind() == NotFound => return Ok(None),
        _ => {}
    }
    let bytes = std::fs::read(&file)
        .map_err(|cause| bad(ErrorKind::Unreadable, &format!("cannot be read: {cause}")))?;
    let text = String::from_utf8(bytes).map_err(|_| bad(ErrorKind::BadInput, "no UTF-8 text"))?;
    Ok(Some(text))
}
