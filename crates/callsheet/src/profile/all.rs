//! The agent profiles of a project: in `callsheet.toml`, and in files of their own.

use std::collections::BTreeMap;

use super::Profile;
use crate::inputs::Root;
use crate::omission::Reason;
use crate::settings::{FILE, PromptSettings};
use crate::{Error, ErrorKind};

/// The directory of a project's own profiles.
pub const PROFILES: &str = "callsheet/profiles";

/// What ends the name of a profile's file.
const ENDING: &str = ".toml";

/// A profile, or why it is none, and the file it stands in.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The file.
    pub home: String,
    /// The profile.
    pub read: Result<Profile, Error>,
}

/// The profiles of a project.
#[derive(Debug)]
pub struct Profiles {
    by_name: BTreeMap<String, Vec<Found>>,
    /// Why the profiles of the settings file cannot be read.
    pub settings: Option<Error>,
}

impl Profiles {
    /// Reads all profiles of a project; those that cannot be read are there too.
    pub fn read(root: &Root, settings: &PromptSettings) -> Result<Self, Error> {
        let mut profiles = Self {
            by_name: BTreeMap::new(),
            settings: None,
        };
        match Profile::parse_settings(FILE, settings.text()) {
            Ok(found) => {
                for profile in found {
                    profiles.add(profile.name.clone(), FILE.to_owned(), Ok(profile));
                }
            }
            Err(error) => profiles.settings = Some(error),
        }
        let names = match root.list(PROFILES) {
            Ok(listing) => listing.names,
            Err(refusal) if refusal.reason == Reason::Missing => Vec::new(),
            Err(refusal) => {
                let why = refusal.reason.sentence();
                return Err(Error::new(ErrorKind::BadInput, why).at(PROFILES, None));
            }
        };
        for file in names.into_iter().filter(|name| name.ends_with(ENDING)) {
            let name = file.trim_end_matches(ENDING).to_owned();
            let home = format!("{PROFILES}/{file}");
            let read = read_file(root, &name, &home);
            profiles.add(name, home, read);
        }
        Ok(profiles)
    }

    fn add(&mut self, name: String, home: String, read: Result<Profile, Error>) {
        let same = self.by_name.entry(name).or_default();
        same.push(Found { home, read });
    }

    /// Returns the profiles by name; one that stands in two places is there twice.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Found)> {
        let named = self.by_name.iter();
        named.flat_map(|(name, found)| found.iter().map(move |one| (name.as_str(), one)))
    }

    /// Returns what is wrong with a profile: it cannot be read, or says what nobody understands.
    pub fn problems(&self, name: &str) -> Vec<Error> {
        let found = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let mut problems = Vec::new();
        if let [first, second, ..] = found {
            let detail = format!("the profile `{name}` stands in `{}` too", first.home);
            problems.push(Error::new(ErrorKind::BadInput, detail).at(&second.home, None));
        }
        for one in found {
            match &one.read {
                Ok(profile) => problems.extend(profile.problems()),
                Err(error) => problems.push(error.clone()),
            }
        }
        problems
    }

    /// Finds a profile in which nothing is wrong.
    pub fn find(&self, name: &str) -> Result<(&str, &Profile), Error> {
        let Some(found) = self.by_name.get(name) else {
            let unknown = || Error::unknown("profile", name, self.by_name.keys());
            return Err(self.settings.clone().unwrap_or_else(unknown));
        };
        if let Some(problem) = self.problems(name).into_iter().next() {
            return Err(problem);
        }
        match found.as_slice() {
            [
                Found {
                    home,
                    read: Ok(profile),
                },
                ..,
            ] => Ok((home, profile)),
            _ => Err(Error::unknown("profile", name, self.by_name.keys())),
        }
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

fn read_file(root: &Root, name: &str, home: &str) -> Result<Profile, Error> {
    let bad = |why: &str| Error::new(ErrorKind::BadInput, why).at(home, None);
    let bytes = root
        .read(home)
        .map_err(|refusal| bad(refusal.reason.sentence()))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("not UTF-8 text"))?;
    Profile::parse(name, home, &text)
}
