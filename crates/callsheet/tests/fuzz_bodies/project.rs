//! A project made of arbitrary bytes: its files, links and oddities on disk, and what each should come to.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use callsheet::Reason;

use super::draw::Draw;

pub(crate) const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";
pub(crate) const CONTEXT: &str = "_bmad-output/planning-artifacts/sprint-project-context.md";
pub(crate) const SHARED: &str = "shared.txt";
const SHARED_TEXT: &[u8] = b"shared\r\ntext";

const NAMES: &[&str] = &[
    "2a-1",
    "sprint-",
    ".md",
    "2A-10",
    "12a-1",
    "discovery",
    "Tech-Spec",
    "-",
    "_",
    "é",
    "A-1",
    " ",
    "\"",
    "\n",
    "<&>",
    "0",
];

const CONTENTS: &[&str] = &[
    "line\n",
    "\n",
    "\r\n",
    "\r",
    "</file>",
    "  </file>\n",
    "</file_injections>",
    "<file-0",
    "{{story_key}}",
    "é",
    "\u{feff}",
    "`",
    " ",
    "\0",
];

/// What stands in a folder under a name.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    File(Vec<u8>),
    Folder,
    /// A link to a file elsewhere in the project.
    LinkInside,
    /// A link to a file outside of the project.
    LinkOutside,
    LinkToNothing,
    LinkToItself,
    Socket,
}

/// What a path should come to.
pub(crate) enum Fate {
    /// Its text, as it is on disk.
    Taken(String),
    Refused(Reason),
}

impl Entry {
    fn draw(draw: &mut Draw<'_>) -> Self {
        match draw.byte() % 16 {
            0 => Self::Folder,
            1 => Self::LinkInside,
            2 => Self::LinkOutside,
            3 => Self::LinkToNothing,
            4 => Self::LinkToItself,
            5 => Self::Socket,
            6..8 => {
                let len = usize::from(draw.byte());
                Self::File(draw.take(len).to_vec())
            }
            _ => {
                let words = usize::from(draw.byte() % 8);
                let content: String = (0..words).map(|_| draw.pick(CONTENTS)).collect();
                Self::File(content.into_bytes())
            }
        }
    }

    pub(crate) fn fate(&self) -> Fate {
        match self {
            Self::File(bytes) => match String::from_utf8(bytes.clone()) {
                Ok(text) => Fate::Taken(text),
                Err(_) => Fate::Refused(Reason::NotUtf8),
            },
            Self::Folder => Fate::Refused(Reason::Folder),
            Self::LinkInside => Fate::Taken(String::from_utf8_lossy(SHARED_TEXT).into_owned()),
            Self::LinkOutside => Fate::Refused(Reason::OutsideRoot),
            Self::LinkToNothing => Fate::Refused(Reason::Missing),
            Self::LinkToItself => Fate::Refused(Reason::Unreadable),
            Self::Socket => Fate::Refused(Reason::NotAFile),
        }
    }

    fn make(&self, path: &Path, root: &Path) {
        match self {
            Self::File(bytes) => std::fs::write(path, bytes).unwrap(),
            Self::Folder => std::fs::create_dir(path).unwrap(),
            Self::LinkInside => symlink("../../shared.txt", path).unwrap(),
            Self::LinkOutside => symlink("../../../outside.txt", path).unwrap(),
            Self::LinkToNothing => symlink("nothing", path).unwrap(),
            Self::LinkToItself => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::Socket => {
                // The address of a socket is short, so it is made elsewhere and then put in place.
                let short = root.join("s");
                drop(std::os::unix::net::UnixListener::bind(&short).unwrap());
                std::fs::rename(short, path).unwrap();
            }
        }
    }
}

/// The artifacts of a project by name, and its frozen context.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) artifacts: BTreeMap<OsString, Entry>,
    pub(crate) context: Option<Entry>,
}

impl Project {
    pub(crate) fn draw(draw: &mut Draw<'_>) -> Self {
        let context = draw.flag().then(|| Entry::draw(draw));
        let mut artifacts = BTreeMap::new();
        for _ in 0..draw.byte() % 12 {
            let mut name = Vec::new();
            for _ in 0..=draw.byte() % 4 {
                name.extend(draw.pick(NAMES).as_bytes());
            }
            if draw.byte() % 8 == 1 {
                name.push(0xff);
            }
            artifacts.insert(OsStr::from_bytes(&name).to_owned(), Entry::draw(draw));
        }
        Self { artifacts, context }
    }

    /// Makes the project in `folder`, which is its root and has a file beside it.
    pub(crate) fn make<'a>(&'a self, root: &Path, names: impl Iterator<Item = &'a OsString>) {
        let artifacts = root.join(ARTIFACTS);
        std::fs::create_dir_all(&artifacts).unwrap();
        std::fs::create_dir_all(root.join(CONTEXT).parent().unwrap()).unwrap();
        std::fs::write(root.join("../outside.txt"), "outside").unwrap();
        std::fs::write(root.join(SHARED), SHARED_TEXT).unwrap();
        for name in names {
            self.artifacts[name].make(&artifacts.join(name), root);
        }
        if let Some(context) = &self.context {
            context.make(&root.join(CONTEXT), root);
        }
    }

    /// Returns what a path that is relative to the root and in its shortest form should come to.
    pub(crate) fn fate(&self, path: &str) -> Fate {
        let artifact = path
            .strip_prefix(ARTIFACTS)
            .and_then(|name| name.strip_prefix('/'));
        let entry = match (artifact, path) {
            (Some(name), _) => self.artifacts.get(OsStr::new(name)),
            (None, CONTEXT) => self.context.as_ref(),
            (None, SHARED) => Some(&Entry::LinkInside),
            _ => None,
        };
        entry.map_or(Fate::Refused(Reason::Missing), Entry::fate)
    }
}
