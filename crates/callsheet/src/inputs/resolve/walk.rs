//! Walking a tree: every folder is opened below the root, and ignore files are read like any other file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};

use super::{Folder, Found, refusal};
use crate::inputs::{Globs, map_parallel};
use crate::omission::{Reason, Refusal};

/// The ignore file of git.
const GITIGNORE: &str = ".gitignore";

/// The ignore file that counts for prompts alone, and more than git's.
const PROMPTIGNORE: &str = ".promptignore";

/// The largest ignore file that is read.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) globs: &'a Globs,
    pub(super) hidden: bool,
}

/// The ignore files of a folder and of those above it.
#[derive(Default)]
struct Rules {
    above: Option<Arc<Self>>,
    /// So many bytes of a path lead to the folder.
    within: usize,
    git: Option<Gitignore>,
    prompt: Option<Gitignore>,
}

/// A folder that is still to be read.
struct Ahead {
    path: PathBuf,
    rules: Arc<Rules>,
}

/// What a folder holds.
#[derive(Default)]
struct Read {
    found: Found,
    folders: Vec<Ahead>,
}

/// Finds the files that are asked for, sorted by the bytes of the path.
pub(super) fn walk(folder: &Folder, asked: Asked<'_>) -> Found {
    let mut found = Found::default();
    let mut level = vec![Ahead {
        path: PathBuf::new(),
        rules: Arc::default(),
    }];
    while !level.is_empty() {
        let read = map_parallel(&level, |ahead| read(folder, ahead, asked));
        level.clear();
        for mut one in read {
            found.files.append(&mut one.found.files);
            found.refused.append(&mut one.found.refused);
            level.append(&mut one.folders);
        }
    }
    found.files.sort_unstable();
    found
        .refused
        .sort_unstable_by(|one, other| one.0.cmp(&other.0));
    // An ignore file that cannot be read may be asked for as well.
    found.refused.dedup_by(|one, other| one.0 == other.0);
    found
}

fn read(folder: &Folder, ahead: &Ahead, asked: Asked<'_>) -> Read {
    let mut read = Read::default();
    let entries = match entries(folder, &ahead.path) {
        Ok(entries) => entries,
        Err(refusal) => {
            read.found.refused.push((shown(&ahead.path), refusal));
            return read;
        }
    };
    let rules = Rules::of(folder, ahead, &entries, &mut read.found);
    for (name, kind) in entries {
        let path = ahead.path.join(&name);
        let is_folder = kind == FileType::Directory;
        if name.as_os_str() == ".git" || rules.leave_out(&path, is_folder, asked.hidden) {
            continue;
        }
        if is_folder {
            // A folder that nobody asked for is not opened: that it cannot be read is no loss.
            let reached = path.to_str().is_none_or(|path| asked.globs.reaches(path));
            if reached {
                let rules = Arc::clone(&rules);
                read.folders.push(Ahead { path, rules });
            }
            continue;
        }
        let name = shown(&path);
        if !asked.globs.matches(&name) {
            continue;
        }
        match refused(folder, &path, kind) {
            None => read.found.files.push(name),
            Some(refusal) => read.found.refused.push((name, refusal)),
        }
    }
    read
}

/// Returns the names and kinds of what a folder holds.
fn entries(folder: &Folder, path: &Path) -> Result<Vec<(PathBuf, FileType)>, Refusal> {
    let opened = folder.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&opened).map_err(refusal)? {
        let entry = entry.map_err(refusal)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems tell only when they are asked.
            FileType::Unknown => match statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        let name = OsStr::from_bytes(name.to_bytes());
        entries.push((PathBuf::from(name), kind));
    }
    Ok(entries)
}

/// Returns why what stands at a path is not taken.
fn refused(folder: &Folder, path: &Path, kind: FileType) -> Option<Refusal> {
    if path.to_str().is_none() {
        return Some(Refusal::new(Reason::NameNotUtf8));
    }
    match kind {
        FileType::RegularFile => None,
        FileType::Symlink => Some(match folder.open_beneath(path, OFlags::PATH) {
            Ok(_) => Refusal::new(Reason::Link),
            Err(refusal) => refusal,
        }),
        _ => Some(Refusal::new(Reason::NotAFile)),
    }
}

/// Returns a path for people, with `.` for the root.
fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        ".".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    }
}

impl Rules {
    fn of(
        folder: &Folder,
        ahead: &Ahead,
        entries: &[(PathBuf, FileType)],
        found: &mut Found,
    ) -> Arc<Self> {
        let has = |name: &str| entries.iter().any(|(found, _)| found == Path::new(name));
        let mut rules = |name: &str| {
            let path = ahead.path.join(name);
            match has(name).then(|| folder.read(&path, MAX_IGNORE_BYTES))? {
                Ok(bytes) => parsed(&bytes),
                Err(refusal) if refusal.reason == Reason::Folder => None,
                // Rules that cannot be read are told of, and not taken for none.
                Err(refusal) => {
                    found.refused.push((shown(&path), refusal));
                    None
                }
            }
        };
        let (git, prompt) = (rules(GITIGNORE), rules(PROMPTIGNORE));
        // A deep tree without rules has no long chain of them.
        if git.is_none() && prompt.is_none() {
            return Arc::clone(&ahead.rules);
        }
        let length = ahead.path.as_os_str().len();
        Arc::new(Self {
            above: Some(Arc::clone(&ahead.rules)),
            within: length + usize::from(length > 0),
            git,
            prompt,
        })
    }

    /// Tells whether a path is not to be taken: by a rule, or because it is hidden and no rule asks for it.
    fn leave_out(&self, path: &Path, is_folder: bool, hidden: bool) -> bool {
        let mut above = Some(self);
        let (mut by_git, mut by_prompt) = (None, None);
        let bytes = path.as_os_str().as_bytes();
        while let Some(rules) = above {
            let inner = bytes.get(rules.within..).unwrap_or(bytes);
            let inner = Path::new(OsStr::from_bytes(inner));
            by_prompt = by_prompt.or_else(|| verdict(rules.prompt.as_ref(), inner, is_folder));
            by_git = by_git.or_else(|| verdict(rules.git.as_ref(), inner, is_folder));
            above = rules.above.as_deref();
        }
        let is_hidden = || {
            let name = path.file_name().map(OsStr::as_bytes);
            !hidden && name.is_some_and(|name| name.starts_with(b"."))
        };
        by_prompt.or(by_git).unwrap_or_else(is_hidden)
    }
}

/// Returns whether a rule leaves a path out or takes it back in.
fn verdict(rules: Option<&Gitignore>, path: &Path, is_folder: bool) -> Option<bool> {
    match rules?.matched(path, is_folder) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Returns the rules of an ignore file; a line that is no pattern is passed over, as git does.
fn parsed(bytes: &[u8]) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(bytes);
    let mut rules = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = rules.add_line(None, line);
    }
    rules.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
mod tests;
