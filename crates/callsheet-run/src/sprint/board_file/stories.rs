//! The files of stories: those that a list of stories takes the status from, and those that are compared with a board.

use std::collections::BTreeMap;

use callsheet::Reason;
use callsheet::sprint::check::Seen;
use callsheet::sprint::story_file::{self, StoryFiles};
use callsheet::sprint::{Board, Entry, Epics, Status, Word, board};

use super::{BoardFile, below, board_error, refused};
use crate::RunError;

impl BoardFile {
    /// Returns the files of each story, and the status that they say they have.
    pub fn story_files(&self, board: &Board) -> Result<BTreeMap<String, Vec<Seen>>, RunError> {
        if self.is_list() {
            let names = self.story_names()?;
            let seen = board.stories().map(|story| {
                let found = self.story_path(&names, &story.key)?;
                let seen = found.map(|path| Seen { path, noted: None });
                Ok((story.key.clone(), seen.into_iter().collect()))
            });
            return seen.collect();
        }
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

    /// Makes the board of a list of stories, with the words of their files.
    pub(super) fn list(&self, text: String) -> Result<Board, RunError> {
        let listed = board::list(&text, &self.path).map_err(|error| board_error(&error))?;
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

    /// Returns the file of a story of a list; it has to be there.
    pub(super) fn story_of(&self, entry: &Entry) -> Result<String, RunError> {
        let found = self.story_path(&self.story_names()?, &entry.key)?;
        found
            .filter(|path| sentinel(path).is_none())
            .ok_or_else(|| {
                let (path, line, key) = (&self.path, entry.line, &entry.key);
                RunError::Input(format!(
                    "{path}:{line}: the story `{key}` has no file in `{}` that could have a status",
                    self.stories()
                ))
            })
    }
}

/// Returns the word of a file that says that a story could not be made.
fn sentinel(path: &str) -> Option<&'static str> {
    ["unresolved", "ambiguous"]
        .into_iter()
        .find(|word| path.ends_with(&format!("-{word}.md")))
}
