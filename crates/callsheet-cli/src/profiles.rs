//! The agent profiles of a project: in `callsheet.toml`, and in files of their own.
//!
//! What a profile means is decided in the library; here they are found and read, and put under an input.

use std::collections::BTreeMap;

use callsheet::omission::Reason;
use callsheet::profile::Profile;
use callsheet::scope::ScopeGlobs;
use callsheet::{Error, ErrorKind, Root};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::project::{PROFILES, Project};
use crate::settings::FILE;

/// What ends the name of a profile's file.
const ENDING: &str = ".toml";

/// A profile, or why it is none, and the file it stands in.
pub(crate) struct Found {
    pub(crate) home: String,
    pub(crate) read: Result<Profile, Error>,
}

/// The profiles of a project.
pub(crate) struct Profiles {
    by_name: BTreeMap<String, Vec<Found>>,
    /// Why the profiles of the settings file cannot be read.
    pub(crate) settings: Option<Error>,
}

impl Profiles {
    /// Reads all profiles of a project; those that cannot be read are there too.
    pub(crate) fn read(project: &Project) -> Result<Self, Failure> {
        let mut profiles = Self {
            by_name: BTreeMap::new(),
            settings: None,
        };
        match Profile::parse_settings(FILE, &project.settings_text) {
            Ok(found) => {
                for profile in found {
                    profiles.add(profile.name.clone(), FILE.to_owned(), Ok(profile));
                }
            }
            Err(error) => profiles.settings = Some(error),
        }
        let root = project.open()?;
        let names = match root.list(PROFILES) {
            Ok(listing) => listing.names,
            Err(refusal) if refusal.reason == Reason::Missing => Vec::new(),
            Err(refusal) => {
                let why = refusal.reason.sentence();
                return Err(Failure::input(format!("{PROFILES}: {why}")));
            }
        };
        for file in names.into_iter().filter(|name| name.ends_with(ENDING)) {
            let name = file.trim_end_matches(ENDING).to_owned();
            let home = format!("{PROFILES}/{file}");
            let read = read_file(&root, &name, &home);
            profiles.add(name, home, read);
        }
        Ok(profiles)
    }

    fn add(&mut self, name: String, home: String, read: Result<Profile, Error>) {
        let same = self.by_name.entry(name).or_default();
        same.push(Found { home, read });
    }

    /// Returns the profiles by name; one that stands in two places is there twice.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Found)> {
        let named = self.by_name.iter();
        named.flat_map(|(name, found)| found.iter().map(move |one| (name.as_str(), one)))
    }

    /// Returns what is wrong with a profile: it cannot be read, or says what nobody understands.
    pub(crate) fn problems(&self, name: &str) -> Vec<Error> {
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
    pub(crate) fn find(&self, name: &str) -> Result<(&str, &Profile), Failure> {
        let Some(found) = self.by_name.get(name) else {
            let unknown = || Error::unknown("profile", name, self.by_name.keys());
            return Err(self.settings.clone().unwrap_or_else(unknown).into());
        };
        if let Some(problem) = self.problems(name).into_iter().next() {
            return Err(problem.into());
        }
        match found.as_slice() {
            [
                Found {
                    home,
                    read: Ok(profile),
                },
                ..,
            ] => Ok((home, profile)),
            _ => Err(Error::unknown("profile", name, self.by_name.keys()).into()),
        }
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

fn read_file(root: &Root, name: &str, home: &str) -> Result<Profile, Error> {
    let bad = |why: &str| Error::new(ErrorKind::BadInput, why).at(home, None);
    let bytes = root
        .read(home)
        .map_err(|refusal| bad(refusal.reason.sentence()))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("no UTF-8 text"))?;
    Profile::parse(name, home, &text)
}

/// Puts the profile that an input names into it, and what the project excludes before what the input excludes.
pub(crate) fn fill(project: &Project, fields: &mut Map<String, Value>) -> Result<(), Failure> {
    if let Some(Value::String(name)) = fields.get("profile") {
        let profiles = Profiles::read(project)?;
        let (_, profile) = profiles.find(name)?;
        let document = Value::Object(profile.document());
        fields.insert("profile".to_owned(), document);
    }
    let excluded = &project.settings.prompt.scope.default_exclude;
    ScopeGlobs::new("scope.default_exclude", excluded).map_err(|error| error.at(FILE, None))?;
    if excluded.is_empty() {
        return Ok(());
    }
    let scope = fields.entry("scope").or_insert_with(|| json!({}));
    let Some(scope) = scope.as_object_mut() else {
        return Ok(());
    };
    // What is not a list is left for the schema to complain about.
    if let Value::Array(own) = scope.entry("exclude").or_insert_with(|| json!([])) {
        let mut all: Vec<Value> = excluded.iter().map(|glob| json!(glob)).collect();
        all.append(own);
        for glob in all {
            if !own.contains(&glob) {
                own.push(glob);
            }
        }
    }
    Ok(())
}
