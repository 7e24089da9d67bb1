//! Random projects on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

/// The folder in which the recipe `injection` looks for stories.
pub(crate) const STORIES: &str = "_bmad-output/implementation-artifacts";

/// A project folder that goes away with its value.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// Makes a folder with these files, written in this order.
    pub(crate) fn new(files: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { folder }
    }

    /// Returns the folder.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the bytes of a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.root().join(name)).unwrap()
    }

    /// Gives every file another age.
    pub(crate) fn age(&self) {
        for (years, path) in walk(self.root()).into_iter().enumerate() {
            let age = Duration::from_secs(31_536_000 * (years as u64 + 1));
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + age).unwrap();
        }
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Texts with all kinds of newlines, tags, fences, quotes and characters of several bytes.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z <>&\"`{}é\u{feff}]{0,6}",
        1 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("</file>".to_owned()),
        1 => Just("```".to_owned()),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Files of a project: stories of all groups, the frozen context, and others.
pub(crate) fn any_project() -> impl Strategy<Value = Vec<(String, String)>> {
    let story = "(sprint-)?[abAB]-[12]{1,2}(-discovery|-tech-spec|_x)?(\\.md|\\.txt)?";
    let name = prop_oneof![
        4 => story.prop_map(|name| format!("{STORIES}/{name}")),
        1 => Just("_bmad-output/planning-artifacts/sprint-project-context.md".to_owned()),
        1 => Just("notes.md".to_owned()),
        1 => Just(".hidden".to_owned()),
        2 => "[ab]{1,2}/[ab]{1,2}\\.(md|rs)".prop_map(|name| format!("src/{name}")),
    ];
    prop::collection::btree_map(name, any_text(), 0..8)
        .prop_map(|files| files.into_iter().collect())
}
