//! The templates of a builder: a snapshot of one folder, read at the first access.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::inputs::read_templates;
use crate::template::TemplateSet;

/// Where templates come from, and what was there when they were first asked for.
#[derive(Debug, Default)]
pub(super) struct Prompts {
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
    Folder(PathBuf),
    /// A folder whose templates win over the packaged ones of the same name.
    OverPackaged(PathBuf),
}

impl Prompts {
    /// Takes templates from a folder only.
    pub(super) fn folder(folder: PathBuf) -> Self {
        Self {
            place: Place::Folder(folder),
            snapshot: OnceLock::new(),
        }
    }

    /// Takes templates from a folder first, then the packaged ones.
    pub(super) fn over_packaged(folder: PathBuf) -> Self {
        Self {
            place: Place::OverPackaged(folder),
            snapshot: OnceLock::new(),
        }
    }

    /// Returns the templates, read at the first call.
    pub(super) fn snapshot(&self) -> &TemplateSet {
        self.snapshot.get_or_init(|| match &self.place {
            Place::Packaged => packaged(),
            Place::Folder(folder) => read_templates(folder),
            Place::OverPackaged(folder) => read_templates(folder).layered_over(packaged()),
        })
    }

    /// Returns the templates if anybody has asked for them.
    pub(super) fn read(&self) -> Option<&TemplateSet> {
        self.snapshot.get()
    }

    /// Forgets what was read.
    pub(super) fn forget(&mut self) {
        self.snapshot = OnceLock::new();
    }
}

/// Returns the templates that come with the library.
pub fn packaged() -> TemplateSet {
    let files = PACKAGED
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    TemplateSet::parse(files)
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
