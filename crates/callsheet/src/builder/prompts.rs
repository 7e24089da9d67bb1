//! The templates of a builder: a snapshot of one folder, read at the first access.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::inputs::{Disk, read_templates, read_templates_below};
use crate::template::TemplateSet;

/// The folder of a project's own templates.
pub const TEMPLATES: &str = "callsheet/templates";

/// Where templates come from, and what was there when they were first asked for.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    disk: Disk,
    place: Place,
    snapshot: OnceLock<TemplateSet>,
}

/// Where templates come from.
#[derive(Debug, Default)]
enum Place {
    /// The ones that come with the library.
    #[default]
    Packaged,
    /// A folder and nothing else.
    Only(Folder),
    /// A folder whose templates win over the packaged ones of the same name.
    OverPackaged(Folder),
}

/// A folder of templates.
#[derive(Debug)]
pub(super) enum Folder {
    /// Somebody who calls named it.
    Named(PathBuf),
    /// It has to be below a root, which no link leads out of.
    Below(PathBuf, String),
}

impl Folder {
    fn read(&self, disk: &Disk) -> TemplateSet {
        match self {
            Self::Named(folder) => read_templates(disk, folder),
            Self::Below(root, relative) => read_templates_below(disk, root, relative),
        }
    }
}

impl Prompts {
    /// Reads folders of another disk than the real one.
    pub(super) fn on(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// Takes templates from a folder only.
    pub(super) fn only(self, folder: Folder) -> Self {
        self.at(Place::Only(folder))
    }

    /// Takes templates from a folder first, then the packaged ones.
    pub(super) fn over_packaged(self, folder: Folder) -> Self {
        self.at(Place::OverPackaged(folder))
    }

    fn at(self, place: Place) -> Self {
        Self {
            place,
            snapshot: OnceLock::new(),
            ..self
        }
    }

    /// Returns the templates, read at the first call.
    pub(super) fn snapshot(&self) -> &TemplateSet {
        let disk = &self.disk;
        self.snapshot.get_or_init(|| match &self.place {
            Place::Packaged => disk.packaged(packaged_files),
            Place::Only(folder) => folder.read(disk),
            Place::OverPackaged(folder) => {
                let packaged = disk.packaged(packaged_files);
                folder.read(disk).layered_over(packaged)
            }
        })
    }

    /// Returns the templates if anybody has asked for them.
    pub(super) fn read(&self) -> Option<&TemplateSet> {
        self.snapshot.get()
    }

    /// Takes the place of what was read; nothing means that it is read at the next call.
    pub(super) fn set(&mut self, templates: Option<TemplateSet>) {
        self.snapshot = templates.map_or_else(OnceLock::new, OnceLock::from);
    }
}

/// Returns the templates that come with the library.
pub fn packaged() -> TemplateSet {
    TemplateSet::parse(packaged_files())
}

fn packaged_files() -> Vec<(String, Vec<u8>)> {
    let files = PACKAGED.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

macro_rules! packaged_templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../templates/", $name)))),*]
    };
}

const PACKAGED: [(&str, &str); 6] = packaged_templates![
    "controlled-splitting.md",
    "execution-focus.md",
    "hook-executor.md",
    "plan-structure-guide.md",
    "supervisor.md",
    "task-agent.md",
];
