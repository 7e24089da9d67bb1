//! The board on the disk: found, read through the root, and changed under a lock.
//!
//! A change reads the file again, replaces one value and renames a new file into place, in the directory of the real file:
//! a link stays a link. Nothing outside the root is read or written.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet::omission::Refusal;
use callsheet::sprint::board::{self, SetError};
use callsheet::sprint::check::Seen;
use callsheet::sprint::story_file::{self, StoryFiles};
use callsheet::sprint::{Board, Epics, Status, Word};
use callsheet::{Reason, Root};

use super::{Layout, SprintSettings};
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

/// How long somebody else may hold the board.
const PATIENCE: Duration = Duration::from_mins(1);

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
    Refused(SetError),
}

impl BoardFile {
    /// Finds the board of a project: the one that is set, else the first that is where boards usually are.
    pub fn find(root: &Path, settings: &SprintSettings, layout: &Layout) -> Result<Self, RunError> {
        let opened = Root::open(root).map_err(told)?.with_max_file_bytes(LIMIT);
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

    /// Reads the board as it is now.
    pub fn read(&self) -> Result<Board, RunError> {
        let text = self.text(&self.path)?;
        match self.is_list() {
            true => self.list(text),
            false => Board::parse(text, &self.path).map_err(told),
        }
    }

    /// Writes a status; `home` is the `.callsheet` of the project, which has to be there.
    ///
    /// Where the word is not the `expected` one any more, a person has changed it, and theirs stays.
    pub fn set(
        &self,
        home: &Path,
        key: &str,
        expected: Option<&str>,
        (to, force): (Status, bool),
    ) -> Result<Written, RunError> {
        let _lock = lock::wait(&home.join("board.lock"), PATIENCE)?;
        for _ in 0..TRIES {
            let board = self.read()?;
            let Some(entry) = board.get(key) else {
                return Ok(match expected {
                    Some(_) => Written::Differs { found: None },
                    None => Written::Refused(SetError::NoEntry {
                        key: key.to_owned(),
                    }),
                });
            };
            if expected.is_some_and(|expected| !is_same(expected, &entry.word)) {
                let found = Some(entry.word.text.clone());
                return Ok(Written::Differs { found });
            }
            let change = match self.is_list() {
                true => self.change_story(&board, key, (to, force))?,
                false => board.set(key, to, force).map(|new| Change {
                    path: self.path.clone(),
                    old: board.text().to_owned(),
                    new,
                }),
            };
            let change = match change {
                Err(refused) => return Ok(Written::Refused(refused)),
                Ok(change) if change.old == change.new => return Ok(Written::Same),
                Ok(change) => change,
            };
            if self.write(&change)? {
                return Ok(Written::Set {
                    from: entry.word.text.clone(),
                    path: change.path,
                });
            }
        }
        Err(RunError::NotNow(format!(
            "`{}` changes all the time; try again when nobody writes it",
            self.path
        )))
    }

    /// Returns the files of each story, and the status that they say they have.
    pub fn story_files(&self, board: &Board) -> Result<BTreeMap<String, Vec<Seen>>, RunError> {
        let directory = self.path.rsplit_once('/').map_or("", |(above, _)| above);
        let mut directories = vec![self.artifacts.clone(), directory.to_owned()];
        directories.extend([&self.artifacts, directory].map(|above| below(above, "stories")));
        directories.sort();
        directories.dedup();
        let mut paths = Vec::new();
        for directory in directories {
            match self
                .root
                .list_where(&directory, |name| name.ends_with(".md"))
            {
                Ok(listing) => {
                    let names = listing.names.iter();
                    paths.extend(names.map(|name| below(&directory, name)));
                }
                Err(refusal) if refusal.reason == Reason::Missing => {}
                Err(refusal) => return Err(refused(&directory, &refusal)),
            }
        }
        paths.sort();
        let (files, epics) = (StoryFiles::new(paths), Epics::of(board));
        let seen = board.stories().map(|story| {
            let paths = files.of(&story.key, &epics.place(&story.key)).iter();
            let seen = paths.map(|path| Seen {
                // A file that cannot be read says nothing of itself.
                noted: self
                    .text(path)
                    .ok()
                    .and_then(|text| story_file::noted(&text)),
                path: path.clone(),
            });
            (story.key.clone(), seen.collect())
        });
        Ok(seen.collect())
    }

    fn is_list(&self) -> bool {
        self.path.rsplit('/').next() == Some(LIST)
    }

    /// Makes the board of a list of stories, with the words of their files.
    fn list(&self, text: String) -> Result<Board, RunError> {
        let listed = board::list(&text, &self.path).map_err(told)?;
        let names = self.story_names()?;
        let stories = listed.into_iter().map(|story| {
            let word = match self.story_path(&names, &story.id)? {
                None => Word::parse(Status::Backlog.as_str()),
                Some(path) => match sentinel(&path) {
                    Some(word) => Word::parse(word),
                    None => {
                        let noted = story_file::noted(&self.text(&path)?);
                        noted.map_or_else(|| Word::parse(""), |noted| noted.word)
                    }
                },
            };
            Ok((story, word))
        });
        let stories: Result<Vec<_>, RunError> = stories.collect();
        Ok(Board::of_list(text, stories?))
    }

    /// Returns the files of the stories of a list, which are in a directory beside it.
    fn story_names(&self) -> Result<Vec<String>, RunError> {
        let directory = self.stories();
        match self
            .root
            .list_where(&directory, |name| name.ends_with(".md"))
        {
            Ok(listing) => Ok(listing.names),
            Err(refusal) if refusal.reason == Reason::Missing => Ok(Vec::new()),
            Err(refusal) => Err(refused(&directory, &refusal)),
        }
    }

    fn stories(&self) -> String {
        let directory = self.path.rsplit_once('/').map_or("", |(above, _)| above);
        below(directory, "stories")
    }

    /// Returns the file of a story of a list.
    fn story_path(&self, names: &[String], id: &str) -> Result<Option<String>, RunError> {
        let is_its = |name: &&String| {
            let rest = name.strip_prefix(id);
            rest.is_some_and(|rest| rest == ".md" || rest.starts_with('-'))
        };
        let found: Vec<String> = names
            .iter()
            .filter(is_its)
            .map(|name| below(&self.stories(), name))
            .collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => Err(RunError::Input(format!(
                "{}: the story `{id}` has several files: `{}`",
                self.path,
                several.join("`, `")
            ))),
        }
    }

    /// Returns the change of a story's own file.
    fn change_story(
        &self,
        board: &Board,
        key: &str,
        (to, force): (Status, bool),
    ) -> Result<Result<Change, SetError>, RunError> {
        let no_status = |line| SetError::NoStatus {
            key: key.to_owned(),
            line,
        };
        let Some(entry) = board.get(key) else {
            let key = key.to_owned();
            return Ok(Err(SetError::NoEntry { key }));
        };
        let path = self.story_path(&self.story_names()?, key)?;
        let Some(path) = path.filter(|path| sentinel(path).is_none()) else {
            return Ok(Err(no_status(entry.line)));
        };
        let old = self.text(&path)?;
        let line = story_file::noted(&old).map_or(1, |noted| noted.line);
        if let Err(refused) = entry.may_become(to, force, line) {
            return Ok(Err(refused));
        }
        let new = story_file::with_status(&old, to);
        let change = new.map(|new| Change { path, old, new });
        Ok(change.ok_or_else(|| no_status(line)))
    }

    fn text(&self, path: &str) -> Result<String, RunError> {
        let bytes = self.root.read(path);
        let bytes = bytes.map_err(|refusal| refused(path, &refusal))?;
        String::from_utf8(bytes).map_err(|_| RunError::Input(format!("{path}: not valid UTF-8")))
    }

    /// Writes a file whole or not at all; tells whether it was still the old one.
    fn write(&self, change: &Change) -> Result<bool, RunError> {
        let path = &change.path;
        let failed = |cause| RunError::refused(format!("cannot write `{path}`"), cause);
        let real = self.root.confine(path);
        let real = real.map_err(|refusal| refused(path, &refusal))?;
        let permissions = std::fs::metadata(&real).map_err(failed)?.permissions();
        if permissions.readonly() {
            return Err(RunError::Input(format!("{path}: the file is read-only")));
        }
        let above = real.parent().map_or_else(PathBuf::new, Path::to_owned);
        let mut file = tempfile::Builder::new()
            .prefix(".callsheet-")
            .tempfile_in(above)
            .map_err(failed)?;
        file.write_all(change.new.as_bytes()).map_err(failed)?;
        file.as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        // An editor knows nothing of our lock.
        if self.text(path)? != change.old {
            return Ok(false);
        }
        file.persist(&real).map_err(|error| failed(error.error))?;
        Ok(true)
    }
}

/// A file before and after a change.
struct Change {
    path: String,
    old: String,
    new: String,
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

/// Returns the word of a file that says that a story could not be made.
fn sentinel(path: &str) -> Option<&'static str> {
    ["unresolved", "ambiguous"]
        .into_iter()
        .find(|word| path.ends_with(&format!("-{word}.md")))
}

/// Tells whether a word means what is expected.
fn is_same(expected: &str, found: &Word) -> bool {
    let expected = Word::parse(expected);
    expected.text == found.text || expected.status.is_some() && expected.status == found.status
}

fn told(error: callsheet::Error) -> RunError {
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
