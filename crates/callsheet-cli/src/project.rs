//! The project a command works on: its root, its settings, its recipes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use callsheet::inputs::Disk;
use callsheet::recipe::RECIPE_FILE;
pub(crate) use callsheet::recipe::{Found, RECIPES};
use callsheet::seal::RootPaths;
use callsheet::settings::{SAFE_DIRECTORY, Trust};
use callsheet::{ErrorKind, Inputs, Recipe, Root, recipe};
use callsheet_run::{ProjectObserver, Runners};

use crate::failure::Failure;
use crate::output::Output;
use crate::settings::{FILE, Settings};

/// The project a command works on.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
    pub(crate) settings: Settings,
    preference: Preference,
    /// The recipes of the project that stand in the place of built-in ones, and were told of.
    reported: Mutex<BTreeSet<String>>,
}

/// What is taken where the project has a recipe of the name of a built-in one, and where that is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    pub(crate) built_in: bool,
    pub(crate) out: Output,
}

/// Reads the settings of a project: its file, and the variables of the environment.
pub(crate) fn settings(root: &Path) -> Result<Settings, Failure> {
    let settings_text = settings_text(root)?.unwrap_or_default();
    let settings = Settings::parse(&settings_text, FILE)?;
    // A variable that is not text cannot be one of ours.
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    settings.with_environment(variables)
}

impl Project {
    /// Finds the project: the named root, else the nearest folder above with settings, else with `.git`, else here.
    pub(crate) fn find(named: Option<&Path>, preference: Preference) -> Result<Self, Failure> {
        let root = find_root(named)?;
        let settings = settings(&root)?;
        let project = Self {
            root,
            settings,
            preference,
            reported: Mutex::default(),
        };
        project.refuse_unknown_recipes()?;
        Ok(project)
    }

    /// Refuses settings of a recipe that does not exist: nothing would ever read them.
    fn refuse_unknown_recipes(&self) -> Result<(), Failure> {
        let settings = &self.settings.prompt;
        if settings.recipes.is_empty() {
            return Ok(());
        }
        settings.check_recipes(&self.open()?).map_err(|error| {
            let name = error.found().unwrap_or_default();
            let hint = format!("`[recipes.{name}]` sets its fields; rename or remove the table");
            Failure::from(error).hint(hint)
        })
    }

    /// Returns the project with another directory in the place of its root, such as a worktree; its settings stay.
    pub(crate) fn with_root(&self, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            settings: self.settings.clone(),
            preference: self.preference,
            reported: Mutex::default(),
        }
    }

    /// Returns the root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the paths of the root on this machine, which nothing tells that leaves it.
    pub(crate) fn root_paths(&self) -> RootPaths {
        let given = std::path::absolute(&self.root).ok();
        let real = std::fs::canonicalize(&self.root).ok();
        RootPaths::new(given.into_iter().chain(real))
    }

    /// Returns the runners that the project sets.
    pub(crate) fn runners(&self) -> Runners {
        Runners {
            runners: self.settings.runners.clone(),
            adapters: self.settings.adapters.clone(),
        }
    }

    /// Opens the root for reading.
    pub(crate) fn open(&self) -> Result<Root, Failure> {
        self.open_folder(&self.root)
    }

    /// Opens a folder that was named on the command line for reading.
    pub(crate) fn open_folder(&self, folder: &Path) -> Result<Root, Failure> {
        Ok(self.settings.prompt.limited(Root::open(folder)?))
    }

    /// Returns what a composition may look at, on a disk that may be watched.
    pub(crate) fn inputs(&self, disk: &Disk) -> Result<Inputs, Failure> {
        let inputs = Inputs::new(self.settings.prompt.limited(disk.open(&self.root)?));
        Ok(inputs.with_observer(self.observer()))
    }

    /// Returns what asks the repository and runs the commands of the project.
    pub(crate) fn observer(&self) -> ProjectObserver {
        ProjectObserver::new(&self.root, self.settings.commands.clone())
    }

    /// Finds a recipe: the project's own first, then the built-in ones, unless those are preferred.
    ///
    /// One of the project that stands in the place of a built-in one is told of: its prompts are somebody else's.
    pub(crate) fn recipe(&self, name: &str) -> Result<Found, Failure> {
        if self.preference.built_in && recipe::built_in(name).is_some() {
            return Ok(recipe::find(name, None)?);
        }
        let found = recipe::find(name, Some(&self.open()?))?;
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_shadow() && reported.insert(name.to_owned()) {
            let home = found.home();
            self.preference.out.warn(&format!(
                "`{home}` stands in the place of the built-in recipe `{name}`; `--built-in` takes that one"
            ));
        }
        Ok(found)
    }

    /// Reads one of the project's own recipes.
    pub(crate) fn own_recipe(&self, name: &str) -> Result<Recipe, Failure> {
        Ok(recipe::read(name, &self.open()?)?)
    }

    /// Returns the names of the project's own recipes, sorted, with their folders.
    pub(crate) fn own_recipes(&self) -> Result<BTreeMap<String, PathBuf>, Failure> {
        let mut names = BTreeMap::new();
        let root = self.open()?;
        // A link to elsewhere has no recipes of the project.
        if !root.has_folder(RECIPES) {
            return Ok(names);
        }
        for (name, path) in children(&self.root.join(RECIPES), RECIPES)? {
            if root.has_folder(&format!("{RECIPES}/{name}")) {
                let below = children(&path, &format!("{RECIPES}/{name}"))?;
                let below = below
                    .into_iter()
                    .map(|(end, path)| (format!("{name}/{end}"), path));
                names.extend(below);
            }
            names.insert(name, path);
        }
        names.retain(|name, _| root.has(&format!("{RECIPES}/{name}/{RECIPE_FILE}")));
        Ok(names)
    }
}

/// Returns what stands in a folder, by name; a folder that does not exist has nothing.
fn children(folder: &Path, shown: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten(),
        Err(cause) if matches!(cause.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        Err(cause) => {
            return Err(Failure::refused(&format!("cannot read `{shown}`"), &cause));
        }
    };
    let named =
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    Ok(named.collect())
}

/// Reads the settings file, where there is one.
fn settings_text(root: &Path) -> Result<Option<String>, Failure> {
    let trust = Trust::new(|name| std::env::var(name).ok());
    callsheet::settings::read(&Root::open(root)?, &trust).map_err(|error| {
        let is_foreign = error.kind() == ErrorKind::Untrusted;
        let failure = Failure::from(error);
        if !is_foreign {
            return failure;
        }
        let safe = format!("{SAFE_DIRECTORY}={}", root.display());
        failure.hint(format!(
            "it can run commands and name a store; read it, and set `{safe}` if you trust it"
        ))
    })
}

/// Returns the root folder that a command works on.
pub(crate) fn find_root(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()
        .map_err(|cause| Failure::refused("cannot tell the current folder", &cause))?;
    if let Some(named) = named {
        let root = here.join(named);
        if !root.is_dir() {
            return Err(Failure::input(format!(
                "`{}` is not a folder",
                named.display()
            )));
        }
        return Ok(root);
    }
    let with = |marker: &str| here.ancestors().find(|folder| folder.join(marker).exists());
    Ok(with(FILE)
        .or_else(|| with(".git"))
        .unwrap_or(&here)
        .to_owned())
}
