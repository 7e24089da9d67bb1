//! Templates that are asked for by name: a snapshot of one folder, read at the first access.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::Event;
use crate::inputs::{Disk, Located, Root, read_templates, read_templates_below};
use crate::template::{Diagnostic, TemplateSet};

/// The folder of a project's own templates.
pub const TEMPLATES: &str = "callsheet/templates";

/// Where templates come from, and what was there when they were first asked for: the packaged ones, if nothing is said.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    disk: Disk,
    folder: Option<Folder>,
    /// Whether the packaged ones are not looked at.
    alone: bool,
    snapshot: OnceLock<TemplateSet>,
}

/// A folder of templates.
#[derive(Debug)]
enum Folder {
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
    /// Makes the templates of a project: those of the folder that is named, or else its own ones over the packaged ones.
    pub(crate) fn of(root: &Root, named: Option<&str>) -> Self {
        let below = |relative: String| Folder::Below(root.path().to_owned(), relative);
        let folder = match named.map(|named| root.locate(named)) {
            None => below(TEMPLATES.to_owned()),
            Some(Located::Inside(relative)) => below(relative),
            Some(Located::Outside(folder)) => Folder::Named(folder),
        };
        Self {
            disk: root.disk().clone(),
            folder: Some(folder),
            alone: named.is_some(),
            ..Self::default()
        }
    }

    /// Takes templates from a folder, and from nowhere else.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder: Some(Folder::Named(folder)),
            alone: true,
            ..Self::default()
        }
    }

    /// Returns the templates, read at the first call.
    pub(crate) fn snapshot(&self) -> &TemplateSet {
        let disk = &self.disk;
        self.snapshot.get_or_init(|| match &self.folder {
            None => disk.packaged(packaged_files),
            Some(folder) if self.alone => folder.read(disk),
            Some(folder) => {
                let packaged = disk.packaged(packaged_files);
                folder.read(disk).layered_over(packaged)
            }
        })
    }

    /// Returns the templates if anybody has asked for them.
    pub(crate) fn read(&self) -> Option<&TemplateSet> {
        self.snapshot.get()
    }

    /// Returns what was wrong with the templates that were read.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> {
        let read = self.read().map(TemplateSet::diagnostics);
        read.unwrap_or_default().iter().map(Diagnostic::event)
    }

    /// Takes the place of what was read; nothing means that it is read at the next call.
    pub(crate) fn set(&mut self, templates: Option<TemplateSet>) {
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
