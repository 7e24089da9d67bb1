//! The board on the disk: found, read through the root, and changed under a lock.
//!
//! A change reads the file again, replaces one value and renames a new file into place, in the directory of the real file:
//! a link stays a link. Nothing outside the root is read or written.

mod stories;

use std::path::Path;
use std::time::Duration;

use callsheet::Root;
use callsheet::omission::Refusal;
use callsheet::sprint::board::SetError;
use callsheet::sprint::{Board, Entry, Status, Word, story_file};

use super::{Layout, SprintPaths, SprintSettings};
use crate::below::{self, Below};
use crate::{RunError, lock};

/// Where boards are looked for, the most usual place first.
pub const PLACES: [&str; 11] = [
    "_bmad-output/implementation-artifacts",
    "docs/sprint-artifacts",
    "docs",
    "docs/implementation-artifacts",
    "_bmad-output",
    "",
    "docs/stories",
    ".bmad-ephemeral",
    "_bmad-output/sprint-artifacts",
    "bmad-output/implementation-artifacts",
    "docs/bmad",
];

/// What a board is called, and a list of stories.
const NAMES: [&str; 2] = ["sprint-status.yaml", LIST];
const LIST: &str = "stories.yaml";

/// The most bytes of a board, and of a story file.
const LIMIT: u64 = 4 << 20;

/// The file that whoever writes the board has locked, in the directory of what the program keeps for the project.
pub(super) const BOARD_LOCK: &str = "board.lock";

/// How long somebody else may hold the board.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// How often a change is tried on a file that changes meanwhile.
const TRIES: usize = 10;

/// The board of a project.
#[derive(Debug)]
pub struct BoardFile {
    root: Root,
    path: String,
    others: Vec<String>,
    artifacts: String,
}

/// What is written for an entry.
#[derive(Clone, Copy, Debug)]
pub enum Put<'a> {
    /// A status, by its standard word.
    Status {
        /// The status.
        to: Status,
        /// Whether it may go back, or stand in the place of a word that nobody knows.
        force: bool,
    },
    /// A word as somebody has given it, whatever stands there.
    Word(&'a str),
}

impl From<(Status, bool)> for Put<'_> {
    fn from((to, force): (Status, bool)) -> Self {
        Self::Status { to, force }
    }
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The status is written.
    Set {
        /// The word that stood there.
        from: String,
        /// The file that was changed, relative to the root.
        path: String,
    },
    /// The word stood there already, and nothing was written.
    Same,
    /// Somebody has changed the entry meanwhile; nothing was written.
    Differs {
        /// The word that stands there; nothing if the entry is gone.
        found: Option<String>,
    },
    /// The rules of the board do not allow it; nothing was written.
    Refused {
        /// The file that has the status, relative to the root.
        path: String,
        /// Which rule.
        why: SetError,
    },
}

impl BoardFile {
    /// Finds the board of a project: the one that is set, else the first that is where boards usually are.
    pub fn find(root: &Path, settings: &SprintSettings, layout: &Layout) -> Result<Self, RunError> {
        let opened = Root::open(root)
            .map_err(|error| board_error(&error))?
            .with_max_file_bytes(LIMIT);
        let artifacts = layout.implementation_artifacts.clone();
        let mut found = match &settings.board {
            Some(path) if !opened.has(path) => {
                return Err(RunError::Input(format!(
                    "the board `{path}` does not exist"
                )));
            }
            Some(path) => vec![path.clone()],
            None => candidates(&artifacts)
                .into_iter()
                .filter(|path| opened.has(path))
                .collect(),
        };
        if found.is_empty() {
            return Err(RunError::Unknown {
                what: "board",
                name: NAMES[0].to_owned(),
                known: Vec::new(),
            });
        }
        let path = found.remove(0);
        Ok(Self {
            root: opened,
            path,
            others: found,
            artifacts,
        })
    }

    /// Returns its path relative to the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the other boards that were found, and are not used.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// Returns where the files of the sprint are: story files are beside the board, unless somebody says where they are or
    /// the usual directory is there.
    pub fn layout(&self, paths: &SprintPaths) -> Layout {
        let usual = paths.layout();
        let above = self.path.rsplit_once('/').map(|(above, _)| above);
        let is_said = paths.implementation_artifacts.is_some();
        let is_there = is_said || self.root.has_folder(&usual.implementation_artifacts);
        match above.filter(|_| !is_there) {
            Some(above) => Layout {
                implementation_artifacts: above.to_owned(),
                ..usual
            },
            None => usual,
        }
    }

    /// Reads the board as it is now.
    pub fn read(&self) -> Result<Board, RunError> {
        let text = self.text(&self.path)?;
        if self.is_list() {
            return self.list(text);
        }
        Board::parse(text, &self.path).map_err(|error| board_error(&error))
    }

    /// Writes a status; `home` is the `.callsheet` of the project, which has to be there.
    ///
    /// Where the word is not the `expected` one any more, a person has changed it, and theirs stays.
    pub fn set<'a>(
        &self,
        home: &Path,
        key: &str,
        expected: Option<&str>,
        put: impl Into<Put<'a>>,
    ) -> Result<Written, RunError> {
        let put = put.into();
        let _lock = lock::wait(&home.join(BOARD_LOCK), PATIENCE)?;
        for _ in 0..TRIES {
            let board = self.read()?;
            let Some(entry) = board.get(key) else {
                return Ok(match expected {
                    Some(_) => Written::Differs { found: None },
                    None => Written::Refused {
                        path: self.path.clone(),
                        why: SetError::NoEntry {
                            key: key.to_owned(),
                        },
                    },
                });
            };
            if expected.is_some_and(|expected| !is_same(expected, &entry.word)) {
                let found = Some(entry.word.text.clone());
                return Ok(Written::Differs { found });
            }
            let change = self.change(&board, entry, put)?;
            let (path, old, new) = match change {
                Change {
                    path,
                    new: Err(why),
                    ..
                } => return Ok(Written::Refused { path, why }),
                Change {
                    old, new: Ok(new), ..
                } if old == new => return Ok(Written::Same),
                Change {
                    path,
                    old,
                    new: Ok(new),
                } => (path, old, new),
            };
            if self.write(&path, &old, &new)? {
                let from = entry.word.text.clone();
                return Ok(Written::Set { from, path });
            }
        }
        Err(RunError::NotNow(format!(
            "`{}` changes all the time; try again when nobody writes it",
            self.path
        )))
    }

    fn is_list(&self) -> bool {
        self.path.rsplit('/').next() == Some(LIST)
    }

    /// Returns what a file would become: the board, or the story's own file.
    fn change(&self, board: &Board, entry: &Entry, put: Put<'_>) -> Result<Change, RunError> {
        if !self.is_list() {
            return Ok(Change {
                path: self.path.clone(),
                old: board.text().to_owned(),
                new: match put {
                    Put::Status { to, force } => board.set(&entry.key, to, force),
                    Put::Word(word) => board.put(&entry.key, word),
                },
            });
        }
        let path = self.story_of(entry)?;
        let old = self.text(&path)?;
        let line = story_file::noted(&old).map_or(1, |noted| noted.line);
        let (to, force) = match put {
            Put::Status { to, force } => (to, force),
            Put::Word(word) => {
                let word = word.to_owned();
                let new = Err(SetError::BadWord { word, line });
                return Ok(Change { path, old, new });
            }
        };
        let new = entry.may_become(to, force, line).and_then(|()| {
            let key = entry.key.clone();
            story_file::with_status(&old, to).ok_or(SetError::NoStatus { key, line })
        });
        Ok(Change { path, old, new })
    }

    fn text(&self, path: &str) -> Result<String, RunError> {
        let bytes = self.root.read(path);
        let bytes = bytes.map_err(|refusal| refused(path, &refusal))?;
        String::from_utf8(bytes).map_err(|_| RunError::Input(format!("{path}: not valid UTF-8")))
    }

    /// Writes a file whole or not at all; tells whether it was still the old one.
    fn write(&self, path: &str, old: &str, new: &str) -> Result<bool, RunError> {
        let failed = |cause| RunError::refused(format!("cannot write `{path}`"), cause);
        let not_below = |refusal: Refusal| refused(path, &refusal);
        let place = below::followed(&self.root, path).map_err(not_below)?;
        let (above, name) = below::split(&place);
        let directory = Below::open(&self.root, above).map_err(not_below)?;
        let draft = directory.draft(new.as_bytes()).map_err(failed)?;
        draft.allow_as(name).map_err(failed)?;
        // An editor knows nothing of our lock.
        if self.text(path)? != old {
            return Ok(false);
        }
        draft.put(name).map_err(failed)?;
        Ok(true)
    }
}

/// A file before and after a change, or why it does not change.
struct Change {
    path: String,
    old: String,
    new: Result<String, SetError>,
}

/// Returns where a board may be, those of a board before those of a list.
fn candidates(artifacts: &str) -> Vec<String> {
    let usual = PLACES.into_iter().filter(|place| *place != artifacts);
    let places: Vec<&str> = std::iter::once(artifacts).chain(usual).collect();
    let paths = NAMES
        .iter()
        .flat_map(|name| places.iter().map(move |place| below(place, name)));
    paths.collect()
}

fn below(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

/// Tells whether a word means what is expected.
fn is_same(expected: &str, found: &Word) -> bool {
    let expected = Word::parse(expected);
    expected.text == found.text || expected.status.is_some() && expected.status == found.status
}

fn board_error(error: &callsheet::Error) -> RunError {
    RunError::Input(error.to_string())
}

fn refused(path: &str, refusal: &Refusal) -> RunError {
    let detail = match refusal.detail.as_str() {
        "" => String::new(),
        detail => format!(": {detail}"),
    };
    RunError::Input(format!("`{path}` {}{detail}", refusal.reason.sentence()))
}

#[cfg(test)]
mod tests;
