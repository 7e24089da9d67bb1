//! Readings: what the disk answered during a composition, kept so that it can be asked again without the disk.
//!
//! Plain values with one JSON form. The contents of files stand beside it, by fingerprint, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::resolve::{Found, Listing};
use crate::Fingerprint;
use crate::observe::Question;
use crate::omission::{Reason, Refusal};
use crate::seal::RootPaths;

/// Contents by their fingerprints.
pub type Bodies = BTreeMap<Fingerprint, Arc<[u8]>>;

/// What the disk answered, by the folders that were asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// The folders, by the absolute path that they were opened with.
    folders: BTreeMap<String, FolderReadings>,
    /// The templates that came with the library, by file name, where they were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    packaged: BTreeMap<String, Fingerprint>,
    /// What was asked about the repository and about programs, with what was answered, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    observed: Vec<Observation>,
    /// The contents of the files.
    #[serde(skip)]
    bodies: Bodies,
}

/// A question that was asked once, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Observation {
    #[serde(deserialize_with = "crate::document::tagged")]
    question: Question,
    answer: Answer<Fingerprint>,
}

/// What one folder answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FolderReadings {
    /// Where it really was; nothing if it could not be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    real: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<String, Answer<Fingerprint>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) lists: BTreeMap<String, Answer<Listing>>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) there: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) folders: BTreeSet<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    walks: Vec<Walk>,
}

/// What the disk said to one question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer<T> {
    Found(T),
    Refused(Refusal),
}

impl<T: Clone> Answer<T> {
    fn of(answer: Result<T, &Refusal>) -> Self {
        match answer {
            Ok(found) => Self::Found(found),
            Err(refusal) => Self::Refused(refusal.clone()),
        }
    }

    /// Returns the answer to a question that was, or was not, asked before.
    pub(super) fn given(answer: Option<&Self>) -> Result<T, Refusal> {
        match answer {
            Some(Self::Found(found)) => Ok(found.clone()),
            Some(Self::Refused(refusal)) => Err(refusal.clone()),
            None => Err(Readings::unknown()),
        }
    }
}

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Walk {
    globs: Vec<String>,
    hidden: bool,
    found: Found,
}

impl Walk {
    pub(super) fn new(globs: &[String], hidden: bool, found: &Found) -> Self {
        Self {
            globs: globs.to_vec(),
            hidden,
            found: found.clone(),
        }
    }
}

impl FolderReadings {
    /// Adds what the same folder answered when it was opened by another path.
    fn join(&mut self, other: Self) {
        self.real = other.real.or(self.real.take());
        self.files.extend(other.files);
        self.lists.extend(other.lists);
        self.there.extend(other.there);
        self.folders.extend(other.folders);
        self.walks.extend(other.walks);
    }

    pub(super) fn walked(&self, globs: &[String], hidden: bool) -> Found {
        let same = |walk: &&Walk| walk.globs == globs && walk.hidden == hidden;
        self.walks.iter().find(same).map_or_else(
            || Found {
                refused: vec![(".".to_owned(), Readings::unknown())],
                ..Found::default()
            },
            |walk| walk.found.clone(),
        )
    }
}

impl Readings {
    /// Returns the refusal of what nobody asked for when the prompt was sealed.
    pub(super) fn unknown() -> Refusal {
        Refusal::new(Reason::Unreadable).because("not among the sealed inputs")
    }

    fn at(&mut self, root: &Path) -> &mut FolderReadings {
        let path = root.to_string_lossy().into_owned();
        self.folders.entry(path).or_default()
    }

    fn add(&mut self, bytes: &[u8]) -> Fingerprint {
        let fingerprint = Fingerprint::of(bytes);
        self.bodies
            .entry(fingerprint)
            .or_insert_with(|| bytes.into());
        fingerprint
    }

    pub(super) fn opened(&mut self, root: &Path, real: Option<&Path>) {
        let real = real.map(|real| real.to_string_lossy().into_owned());
        self.at(root).real = real;
    }

    pub(super) fn file(&mut self, root: &Path, path: &str, answer: Result<&[u8], &Refusal>) {
        // What is no text after all need not be kept.
        if let (Err(_), Some(Answer::Found(before))) = (answer, self.at(root).files.remove(path)) {
            self.forget(before);
        }
        let answer = answer.map(|bytes| self.add(bytes));
        let files = &mut self.at(root).files;
        files.insert(path.to_owned(), Answer::of(answer));
    }

    fn forget(&mut self, body: Fingerprint) {
        let observed = self.observed().any(|(_, other)| other == body);
        if !observed && !self.files().any(|(_, _, other)| other == body) {
            self.bodies.remove(&body);
        }
    }

    pub(super) fn list(&mut self, root: &Path, path: &str, answer: Result<&Listing, &Refusal>) {
        let lists = &mut self.at(root).lists;
        match (lists.get_mut(path), answer) {
            // The same folder may be asked for other names.
            (Some(Answer::Found(known)), Ok(more)) => known.join(more),
            (_, answer) => {
                lists.insert(path.to_owned(), Answer::of(answer.cloned()));
            }
        }
    }

    pub(super) fn there(&mut self, root: &Path, path: &str) {
        self.at(root).there.insert(path.to_owned());
    }

    pub(super) fn has_folder(&mut self, root: &Path, path: &str) {
        self.at(root).folders.insert(path.to_owned());
    }

    pub(super) fn walk(&mut self, root: &Path, walk: Walk) {
        let walks = &mut self.at(root).walks;
        if !walks.contains(&walk) {
            walks.push(walk);
        }
    }

    pub(super) fn packaged(&mut self, files: &[(String, Vec<u8>)]) {
        for (name, bytes) in files {
            let fingerprint = self.add(bytes);
            self.packaged.insert(name.clone(), fingerprint);
        }
    }

    pub(super) fn packaged_files(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.packaged.iter();
        files
            .filter_map(|(name, body)| Some((name.clone(), self.body(*body)?)))
            .collect()
    }

    pub(super) fn folder(&self, given: &Path) -> Option<(PathBuf, FolderReadings)> {
        let folder = self.folders.get(&*given.to_string_lossy())?;
        Some((PathBuf::from(folder.real.as_ref()?), folder.clone()))
    }

    pub(super) fn body(&self, fingerprint: Fingerprint) -> Option<Vec<u8>> {
        self.bodies.get(&fingerprint).map(|bytes| bytes.to_vec())
    }

    /// Keeps the answer to a question.
    pub(super) fn observe(&mut self, question: &Question, answer: Result<&[u8], &Refusal>) {
        let answer = answer.map(|bytes| self.add(bytes));
        self.observed.push(Observation {
            question: question.clone(),
            answer: Answer::of(answer),
        });
    }

    /// Returns the answer to a question that was asked before.
    pub(super) fn answered(&self, question: &Question) -> Option<Result<Vec<u8>, Refusal>> {
        let mut observed = self.observed.iter();
        let asked = observed.find(|observation| observation.question == *question)?;
        let answer = Answer::given(Some(&asked.answer));
        Some(answer.and_then(|body| self.body(body).ok_or_else(Self::unknown)))
    }

    /// Returns every question that was answered, with the fingerprint of the answer.
    pub fn observed(&self) -> impl Iterator<Item = (&Question, Fingerprint)> {
        let observed = self.observed.iter();
        observed.filter_map(|observation| match observation.answer {
            Answer::Found(body) => Some((&observation.question, body)),
            Answer::Refused(_) => None,
        })
    }

    /// Returns the contents of all files.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Puts the contents beside the readings that name them.
    #[must_use]
    pub(crate) fn with_bodies(mut self, bodies: Bodies) -> Self {
        self.bodies = bodies;
        self
    }

    /// Returns every file that was read, as folder, path and fingerprint; packaged templates have no folder.
    pub fn files(&self) -> impl Iterator<Item = (Option<&str>, &str, Fingerprint)> {
        let read = self.folders.iter().flat_map(|(folder, readings)| {
            readings
                .files
                .iter()
                .filter_map(move |(path, answer)| match answer {
                    Answer::Found(body) => Some((Some(folder.as_str()), path.as_str(), *body)),
                    Answer::Refused(_) => None,
                })
        });
        let packaged = self.packaged.iter();
        read.chain(packaged.map(|(name, body)| (None, name.as_str(), *body)))
    }

    /// Puts another name in the place of the root of the project, as far as folders are named.
    pub(crate) fn hide(&mut self, paths: &RootPaths) {
        for (path, mut folder) in std::mem::take(&mut self.folders) {
            let real = folder.real.as_deref();
            folder.real = real.map(|real| paths.hide(real).into_owned());
            let known = self.folders.entry(paths.hide(&path).into_owned());
            known.or_default().join(folder);
        }
    }

    /// Puts other contents in the place of those that `change` changes.
    pub(crate) fn change(&mut self, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> bool {
        let mut moved = BTreeMap::new();
        for (old, bytes) in std::mem::take(&mut self.bodies) {
            let changed = change(&bytes);
            let bytes = changed.map_or(bytes, Arc::from);
            let new = Fingerprint::of(&bytes);
            self.bodies.insert(new, bytes);
            if new != old {
                moved.insert(old, new);
            }
        }
        let folders = self.folders.values_mut();
        let observed = self.observed.iter_mut().map(|asked| &mut asked.answer);
        let answers = folders
            .flat_map(|folder| folder.files.values_mut())
            .chain(observed);
        let found = answers.filter_map(|answer| match answer {
            Answer::Found(body) => Some(body),
            Answer::Refused(_) => None,
        });
        for body in found.chain(self.packaged.values_mut()) {
            *body = *moved.get(body).unwrap_or(body);
        }
        !moved.is_empty()
    }
}
