//! The settings file of a project, read like everything else that a project holds, and only from those who are trusted.
//!
//! Settings name a store to connect to and commands to run. Those that another user put in a directory above would be
//! obeyed by everybody who works below it; so they are refused, as git refuses a repository of somebody else.

use std::path::Path;

use super::FILE;
use crate::inputs::{Root, user};
use crate::omission::Reason;
use crate::{Error, ErrorKind};

/// The variable that lists directories whose settings are taken whoever owns them, with `:` between them; `*` is all.
pub const SAFE_DIRECTORY: &str = "CALLSHEET_SAFE_DIRECTORY";

/// The largest settings file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whose settings are taken.
#[derive(Clone, Debug)]
pub struct Trust {
    users: Vec<u32>,
    directories: String,
}

impl Trust {
    /// Trusts the user that this process runs as, the superuser, whoever became it by `sudo`, and the directories
    /// that the environment names.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let me = user();
        let before = variable("SUDO_UID").filter(|_| me == 0);
        let before = before.and_then(|id| id.parse().ok());
        Self {
            users: [me, 0].into_iter().chain(before).collect(),
            directories: variable(SAFE_DIRECTORY).unwrap_or_default(),
        }
    }

    fn has(&self, owner: u32, root: &Root) -> bool {
        let mut named = self.directories.split(':');
        let is_named =
            |named: &str| named == "*" || [root.path(), root.real()].contains(&Path::new(named));
        self.users.contains(&owner) || named.any(is_named)
    }
}

/// Reads the settings file of a project, where there is one.
pub fn read(root: &Root, trust: &Trust) -> Result<Option<String>, Error> {
    let bad = |detail: String| Error::new(ErrorKind::BadInput, detail).at(FILE, None);
    let (bytes, owner) = match root.read_owned(FILE, MAX_BYTES) {
        Ok(found) => found,
        Err(refusal) => match refusal.reason {
            Reason::Missing => return Ok(None),
            Reason::Unreadable => {
                let detail = format!("cannot read `{FILE}`: {}", refusal.detail);
                return Err(Error::new(ErrorKind::Unreadable, detail));
            }
            reason => return Err(bad(reason.sentence().to_owned())),
        },
    };
    if !trust.has(owner, root) {
        let detail = format!(
            "`{FILE}` in `{}` belongs to another user",
            root.real().display()
        );
        return Err(Error::new(ErrorKind::Untrusted, detail));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| bad("not UTF-8 text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(users: &[u32], directories: &str) -> Trust {
        Trust {
            users: users.to_vec(),
            directories: directories.to_owned(),
        }
    }

    #[test]
    fn settings_of_somebody_else_are_taken_only_where_somebody_says_so() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::open(place.path()).unwrap();
        assert_eq!(read(&root, &trust(&[], "")).unwrap(), None);
        std::fs::write(place.path().join(FILE), "project = \"a\"\n").unwrap();
        let path = root.real().display().to_string();
        let me = user();
        let elsewhere = format!("/nowhere:{path}x");
        for refused in [trust(&[], ""), trust(&[me + 1], &elsewhere)] {
            let error = read(&root, &refused).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Untrusted);
            assert_eq!(
                error.to_string(),
                format!("`callsheet.toml` in `{path}` belongs to another user")
            );
        }
        let named = format!("/nowhere:{path}/");
        for taken in [trust(&[me], ""), trust(&[], &named), trust(&[], "*")] {
            let text = read(&root, &taken).unwrap();
            assert_eq!(text.as_deref(), Some("project = \"a\"\n"));
        }
    }

    #[test]
    fn only_the_superuser_trusts_whoever_it_was_before() {
        let asked = |name: &str| (name == "SUDO_UID").then(|| "77".to_owned());
        let me = user();
        assert_eq!(Trust::new(asked).users.contains(&77), me == 0);
        assert!(Trust::new(|_| None).users.contains(&me));
    }
}
