//! The store of a project: a file in its `.callsheet` folder, or the server that its settings name.

use std::path::{Path, PathBuf};

use callsheet::seal::Parsed;
use callsheet::{Reason, Seal};
use callsheet_run::drive;
use callsheet_store::{
    Access, Head, Id, Location, Options, Project as Kept, Run, SealedPrompt, Store, StoreError,
    Wait,
};

use crate::failure::Failure;
use crate::output::Output;
use crate::progress;
use crate::project::Project;

/// The folder of what the program keeps for a project.
const FOLDER: &str = ".callsheet";

/// The file of a project's store.
const FILE: &str = "callsheet.db";

/// The name of the project in a file, which holds one only and may be moved.
const ONLY_PROJECT: &str = ".";

/// An open store, and the project in it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) project: Kept,
}

/// Returns where the store of a project is.
fn location(project: &Project) -> Result<Location, Failure> {
    let hint = "`store` in callsheet.toml and the variable CALLSHEET_STORE take `postgres://user@host/database`";
    match &project.settings.store {
        // Whatever else it is may hold a password.
        Some(address) if !address.is_server() => {
            Err(Failure::input("the address of the store is not a `postgres://` URL").hint(hint))
        }
        Some(address) => {
            let location = address.location();
            location.map_err(|error| Failure::from(error).hint(hint))
        }
        None => Ok(Location::Sqlite(file(project)?)),
    }
}

/// Returns the file of the store; a link that leads out of the project is not followed.
fn file(project: &Project) -> Result<PathBuf, Failure> {
    let relative = format!("{FOLDER}/{FILE}");
    let confined = project.open()?.confine(&relative);
    match confined {
        Err(refusal) if refusal.reason == Reason::OutsideRoot => Err(Failure::missing(format!(
            "the store `{relative}` {}",
            refusal.reason.sentence()
        ))),
        _ => Ok(project.root().join(relative)),
    }
}

fn name(project: &Project, location: &Location) -> String {
    match (&project.settings.project, location.file()) {
        (Some(name), _) => name.clone(),
        (None, Some(_)) => ONLY_PROJECT.to_owned(),
        (None, None) => {
            let real = std::fs::canonicalize(project.root());
            let root = real.unwrap_or_else(|_| project.root().to_owned());
            root.display().to_string()
        }
    }
}

/// Opens a store for reading; there is none where no program has made one yet.
fn open_to_read(location: &Location) -> Result<Option<Store>, Failure> {
    open_existing(location, Access::Read, Options::default())
}

/// Opens a store, if there is one.
fn open_existing(
    location: &Location,
    access: Access,
    options: Options,
) -> Result<Option<Store>, Failure> {
    let opening = || Store::open_with(location, access, options);
    match progress::during("opening the store", opening) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Unknown { what: "store", .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What to do first where nothing is sealed.
const SEAL_FIRST: &str = "`callsheet compose RECIPE --seal` seals a prompt";

/// Makes the failure of a command that looks for sealed prompts where there are none.
fn nothing_sealed(location: &Location) -> Failure {
    let message = format!("nothing is sealed in this project yet (store `{location}`)");
    Failure::missing(message).hint(SEAL_FIRST)
}

/// Makes the failure of a name that would have to be an id, where nothing is sealed.
pub(crate) fn neither_file_nor_sealed(name: &str) -> Failure {
    let message = format!("`{name}` is not a file, and nothing is sealed in this project yet");
    Failure::missing(message).hint(SEAL_FIRST)
}

/// Opens the store of a project for reading, whatever is in it.
pub(crate) fn open_whole(project: &Project) -> Result<Store, Failure> {
    let location = location(project)?;
    open_to_read(&location)?.ok_or_else(|| nothing_sealed(&location))
}

/// Opens the store of a project for reading; there has to be something sealed.
pub(crate) fn open(project: &Project) -> Result<Opened, Failure> {
    let store = open_whole(project)?;
    let name = name(project, store.location());
    let found = store.find_project(&name).wait()?;
    let project = found.ok_or_else(|| nothing_sealed(store.location()))?;
    Ok(Opened { store, project })
}

/// Returns the head of the history of a project, if the store has that project.
pub(crate) fn head(project: &Project, store: &Store) -> Result<Option<Head>, StoreError> {
    let found = store
        .find_project(&name(project, store.location()))
        .wait()?;
    found.map(|project| store.head(&project).wait()).transpose()
}

/// Opens the store of a project for reading, if anything was ever sealed there.
pub(crate) fn open_if_there(project: &Project) -> Result<Option<Opened>, Failure> {
    let location = location(project)?;
    let Some(store) = open_to_read(&location)? else {
        return Ok(None);
    };
    let found = store.find_project(&name(project, &location)).wait()?;
    Ok(found.map(|project| Opened { store, project }))
}

/// Opens the store of a project for writing, and makes it where there is none.
pub(crate) fn open_to_write(project: &Project) -> Result<Opened, Failure> {
    let location = location(project)?;
    if location.file().is_some() {
        make_folder(project)?;
    }
    let store = progress::during("opening the store", || {
        Store::open(&location, Access::Write)
    })?;
    let project = store.project(&name(project, &location)).wait()?;
    Ok(Opened { store, project })
}

/// Opens the store of a project for writing, if there is one.
pub(crate) fn open_to_write_if_there(project: &Project) -> Result<Option<Opened>, Failure> {
    let location = location(project)?;
    let Some(store) = open_existing(&location, Access::Existing, Options::default())? else {
        return Ok(None);
    };
    let project = store.project(&name(project, &location)).wait()?;
    Ok(Some(Opened { store, project }))
}

/// Opens the store of a project for collecting, which works on a full disk; there has to be something sealed.
pub(crate) fn open_to_collect(project: &Project) -> Result<Opened, Failure> {
    let location = location(project)?;
    let options = Options::default().collecting();
    let store = open_existing(&location, Access::Existing, options)?;
    let store = store.ok_or_else(|| nothing_sealed(&location))?;
    let found = store.find_project(&name(project, &location)).wait()?;
    let project = found.ok_or_else(|| nothing_sealed(&location))?;
    Ok(Opened { store, project })
}

/// Returns the folder of what the program keeps for a project.
pub(crate) fn folder(project: &Project) -> PathBuf {
    let root = std::fs::canonicalize(project.root());
    root.unwrap_or_else(|_| project.root().to_owned())
        .join(FOLDER)
}

/// Makes the folder: for its owner alone, and nothing for a repository.
pub(crate) fn make_folder(project: &Project) -> Result<(), Failure> {
    let folder = project.root().join(FOLDER);
    callsheet_store::make_folder(&folder)
        .map_err(|cause| Failure::refused(&format!("cannot make `{}`", folder.display()), &cause))
}

/// A prompt that is sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    pub(crate) id: Id,
    new: bool,
}

impl Sealed {
    /// Says the id.
    pub(crate) fn print(self, out: Output) {
        let before = if self.new { "" } else { "already " };
        out.say(&format!("{before}sealed {}", self.id));
    }
}

/// Seals a prompt.
pub(crate) fn seal(project: &Project, seal: (Seal, Parsed)) -> Result<Sealed, Failure> {
    open_to_write(project)?.seal(seal)
}

impl Opened {
    /// Seals a prompt.
    pub(crate) fn seal(&self, (seal, parsed): (Seal, Parsed)) -> Result<Sealed, Failure> {
        let sealing = || {
            let sealing = self.store.seal_parsed(&self.project, seal, parsed);
            sealing.wait()
        };
        let (prompt, new) = progress::during("sealing", sealing)?;
        Ok(Sealed { id: prompt.id, new })
    }

    /// Returns where the runs are kept; `home` is the directory of what the program keeps for the project.
    pub(crate) fn runs<'a>(&'a self, home: &'a Path) -> drive::RunStore<'a> {
        drive::RunStore {
            store: &self.store,
            project: &self.project,
            home,
        }
    }

    /// Finds a prompt by its id or a unique prefix, or by that of a run that was given it, and reads what was sealed.
    pub(crate) fn sealed(&self, id: &str) -> Result<(SealedPrompt, Seal), StoreError> {
        let (prompt, _) = self.find(id)?;
        let seal = self.store.sealed(&prompt).wait()?;
        Ok((prompt, seal))
    }

    /// Finds a prompt, or a run and the prompt that it was given; an id that a prompt has means the prompt.
    pub(crate) fn find(&self, id: &str) -> Result<(SealedPrompt, Option<Run>), StoreError> {
        let prompt = match self.store.prompt(&self.project, id).wait() {
            Ok(prompt) if prompt.id.as_str().eq_ignore_ascii_case(id) => return Ok((prompt, None)),
            found => found,
        };
        let run = self.store.run(&self.project, id).wait();
        let mut candidates = named(prompt.as_ref().map(|prompt| prompt.id))?;
        let prompts = candidates.len();
        candidates.extend(named(run.as_ref().map(|run| run.id))?);
        match (prompt, run) {
            (Ok(prompt), Err(_)) if candidates.len() == 1 => Ok((prompt, None)),
            (Err(_), Ok(run)) if candidates.len() == 1 => {
                let prompt = self
                    .store
                    .prompt(&self.project, run.prompt.as_str())
                    .wait()?;
                Ok((prompt, Some(run)))
            }
            _ => Err(StoreError::Unknown {
                what: match (prompts, candidates.len()) {
                    (some, all) if some == all && all > 0 => "prompt",
                    (0, 1..) => "run",
                    _ => "prompt or run",
                },
                name: id.to_owned(),
                candidates,
            }),
        }
    }
}

/// Returns the ids that a name could mean; other errors stay what they are.
fn named(found: Result<Id, &StoreError>) -> Result<Vec<String>, StoreError> {
    match found {
        Ok(id) => Ok(vec![id.to_string()]),
        Err(StoreError::Unknown { candidates, .. }) => Ok(candidates.clone()),
        Err(other) => Err(other.clone()),
    }
}
